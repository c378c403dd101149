// Package object implements typed memory of the simulated kernel: objects laid out according to the
// target's BTF.
//
// An [Object] is a [mem.View]: guest accesses to it resolve to a type and a field path and are
// logged, and a field that was not set gets its value according to the [Mode]. A [Space] holds the
// objects of one kernel, creates new ones, finds them by address and by role, and restores them
// from snapshots. [Types] caches lookups in a target's BTF and may be shared by many spaces. A
// [Builder] sets fields for code that knows a type.
//
// Default values depend on the seed, the role of the object ("current.real_parent") and the field
// path, never on an address or the order of reads. The package does not know the meaning of types:
// it reaches the content of well-known types, user memory, functions and per-CPU variables through
// [Surroundings].
package object
