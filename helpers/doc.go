// Package helpers holds the helper functions and kfuncs that programs call, with
// the kernel's results, error codes and side effects.
//
// It knows each function's number, prototype and meaning, and reaches simulated
// memory, maps and the simulated kernel through [Env]. It does not know how
// programs are loaded or executed: a helper never calls guest code, it returns an
// action (invoke this callback, tail call, fault) that the engine carries out.
//
// Start from [Table], which lists every function that is simulated, and from
// [Lookup] and [LookupKfunc]. A function that is not in the tables is not
// simulated; callers refuse it by name.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package helpers
