// Package progtype describes program types: one [Row] for each, and an [Attach] for each attach
// type that differs from it.
//
// A row contains libbpf's section names for the type, its attach targets, the inputs of a run, its
// context and the accesses to it that the kernel allows, the permitted return values and their
// names, whether programs may sleep, whether their functions have private stacks, and the kfunc
// hook. Where releases differ, it records the first release with each rule. The loader, the
// machine, the kernel, scenarios and reports all use this table instead of their own lists of
// program types.
//
// The package knows nothing of helpers and kfuncs (their table refers to program types), BTF, or
// execution.
//
// To add a program type, add a row to one of the table files; the tests report what is missing.
// Start from [Of] and [Row].
package progtype
