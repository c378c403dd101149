// Package object is simulated kernel memory with types: objects laid out by the target's BTF.
//
// An [Object] is a [mem.View]: guest accesses to it resolve to a type and a field path, are logged, and a field nobody
// has set gets its value by the rules of the [Mode]. A [Space] holds the objects of one kernel, makes new ones, finds them by address
// and by role, and restores them from snapshots. [Types] caches what is asked of a target's BTF and may be shared by many spaces. A
// [Builder] puts values into fields for code that knows a type.
//
// Default values come from the seed, the role of the object ("current.real_parent") and the field path, never from an address or from the
// order of reads. What the types mean is not known here: the content of well-known types, user memory, functions and per-CPU
// variables are reached through [Surroundings].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package object
