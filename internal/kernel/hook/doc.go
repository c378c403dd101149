// Package hook creates the contexts of programs: the object that r1 points to, for each program
// type, and the event it is about.
//
// [Hooks.NewContext] finds the function for a program type in one table. Arguments come from the
// prototypes in the target's BTF (args.go), tracing contexts from those (tracing.go, probe.go,
// tracepoint.go, iter.go), networking contexts from the user ABI (netctx.go, sockops.go,
// sklookup.go, sockaddr.go, cgroupctx.go). What BTF does not contain is here: which register holds
// which argument (ptregs.go), the numbers and arguments of system calls, and the class of a trace
// event. Repeated events form sequences (events.go): a task that was switched in is switched out.
//
// The package does not know instructions, maps or helpers, and runs nothing.
package hook
