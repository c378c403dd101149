// Package hook makes the contexts of programs: what r1 points to, for each program type, and the event it is about.
//
// [Hooks.NewContext] finds the maker for a program type in one table. Arguments come from the prototypes in the target's BTF
// (args.go), tracing contexts from those (tracing.go, probe.go, tracepoint.go, iter.go), networking contexts from the user ABI (netctx.go,
// sockops.go, sklookup.go, sockaddr.go, cgroupctx.go). What BTF does not hold is kept here: which register carries
// which argument (ptregs.go), the numbers and arguments of system calls, which class a trace event belongs to. Events that repeat
// follow each other (events.go): a task that was switched in is switched out.
//
// Instructions, maps and helpers are not known here, and nothing is run.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package hook
