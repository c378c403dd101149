// Package progtype knows what a program type is: one [Row] for each, and an [Attach] for each attach type of it that differs.
//
// A row tells how libbpf names the type in section names, what it attaches to, what a run of it takes, what its context is and
// which accesses to it the kernel permits, which values it may return and what they are called, whether it may sleep, whether
// its functions have stacks of their own, and which kfunc hook it belongs to; where releases differ, since which one.
// The loader, the machine, the kernel, scenarios and reports ask it; none of them has a list of program types of its own.
//
// It does not know helpers and kfuncs (their table refers to program types), BTF, or how anything is executed.
//
// To add a program type write a row in one of the table files; the tests name what is missing. Start at [Of] and [Row].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package progtype
