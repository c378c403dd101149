// Package csource generates C sources of random BPF programs, which a compiler makes into objects:
// loops of all kinds, packets, maps, callbacks, iterators, dynptrs, kernel pointers, owned objects,
// arenas, exceptions, subprograms with tagged arguments.
//
// A seed and a number determine a source. Programs are correct but for mistakes that are made on
// purpose, with a probability of each program's own: a missing check, a size that is one too large,
// a reference that is not released. The generator does not know what a compiler makes of them, nor
// what a kernel says. Start from [Source].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package csource
