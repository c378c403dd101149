// Package kernel is the simulated kernel a program meets: objects of kernel types, the current task, contexts of
// program types, packets, clock, CPUs, random numbers, symbols, per-CPU variables and user memory.
//
// It knows kernel types only through the target's BTF: every offset, size and bitfield of an object comes from
// there. What it knows by itself are facts BTF does not hold: which register carries which argument, the
// numbers and arguments of system calls, which class a trace event belongs to, the user space ABI of xdp_md and
// __sk_buff, and what a sensible value of a well-known field looks like. It does not know instructions, maps or
// helpers, and never runs anything.
//
// Start from [New], [Kernel.NewObject] and [Kernel.NewContext]. An [Object] is a [mem.View]: guest accesses to
// it resolve to a type and a field path, are logged, and a field nobody has set gets its value by the rules
// of the [Mode]. A [Context] is what r1 points to.
//
// Every value comes from the seed, the role of the object ("current.real_parent") and the field path, never from
// an address or from the order of reads; a second Kernel with the same configuration shows the same values.
//
// A Kernel belongs to one machine and is not safe for concurrent use. [Types] may be shared.
package kernel
