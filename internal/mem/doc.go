// Package mem implements the simulated memory of one machine.
//
// It knows addresses, bytes and their validity: one reserved arena in which a guest address is base
// plus offset, one shadow byte for every eight bytes of it, the regions allocated there, and
// further address windows (user memory, kernel text, BPF arenas) outside it. It does not know
// instructions, maps, BTF or kernel objects: a package that gives meaning to an address range
// allocates a [Region] and, where plain bytes are not enough, attaches a [View].
//
// Start from [New], [Memory.Alloc] and [Memory.Load]. A guest access that is not allowed returns a
// typed [*Fault]. It never panics and never touches host memory outside the arena.
//
// A Memory belongs to one machine and is not safe for concurrent use. Different
// Memories are independent of each other.
package mem
