// Package helpers implements the helper functions and kfuncs that programs call, with the kernel's
// results, error codes and side effects.
//
// It knows each function's number, prototype and meaning, and accesses simulated memory, maps and
// the simulated kernel through [Env]. It does not know how programs are loaded or executed: a
// helper never calls guest code, but returns an action (invoke this callback, tail call, fault) for
// the engine.
//
// Start from [Table], which lists every simulated helper, and from [Lookup] and [LookupKfunc]. A
// function that is not in the tables is not simulated; callers refuse it by name.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package helpers
