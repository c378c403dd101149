// Package machine composes a linked object with simulated memory, a simulated
// kernel, maps, helpers and the processor, and runs its programs.
//
// It is the only composer: it binds the loader's symbolic references to
// addresses, gives every program its context, carries out the policies that
// depend on the program type, and collects what a run did. It knows no command
// line and renders nothing.
//
// Start from [New] and [Machine.Run]. A Machine is single-threaded; many machines
// run in parallel, and share nothing but immutable BTF.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package machine
