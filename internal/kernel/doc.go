// Package kernel is the simulated kernel around a program. It is composed of parts:
//
//   - object: kernel objects according to the target's BTF, with fields, default values and accesses
//   - window: user memory, kernel text and symbols, per-CPU variables
//   - model: tasks, credentials, address spaces, files, cgroups, the disk
//   - net: packets, sockets, interfaces and routes
//   - hook: the contexts of programs, by program type
//   - clock: simulated time
//
// A [Kernel] has the methods of all parts; its own are the clock, random numbers, call stacks and
// snapshots. It knows kernel types only from the target's BTF, which provides every offset, size
// and bitfield. It does not know instructions, maps or helpers, and never runs anything.
//
// Every value depends only on the seed, the role of the object ("current.real_parent") and the
// field path, never on an address or on the order of reads: a second Kernel with the same
// configuration has the same values.
//
// A Kernel belongs to one machine and is not safe for concurrent use. [Types] may be shared.
package kernel
