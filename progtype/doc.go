// Package progtype describes program types: one [Row] for each, and an [Attach] for each attach type that differs from
// it.
//
// A row contains libbpf's section names of the type, its attach targets, the inputs of a run, its context and the
// accesses that the kernel allows, the values that it may return and their names, whether it may sleep, whether its
// functions have their own stacks, and its kfunc hook; where releases differ, since which one. The loader, the machine,
// the kernel, scenarios and reports all use this table; none has a list of program types of its own.
//
// It does not know helpers and kfuncs (their table refers to program types), BTF, or how anything is executed.
//
// To add a program type, add a row to one of the table files; the tests report what is missing. Start from [Of] and
// [Row].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package progtype
