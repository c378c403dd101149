// Package vm implements the processor of the simulated machine.
//
// It knows instructions (package decode), registers, frames, counting and memory accesses (package
// mem), and how programs call each other: bpf-to-bpf calls, callbacks, tail calls, exceptions. It
// does not know helpers, maps, kernel objects or program types: a helper is a [Func] bound at
// lowering, which requests anything beyond a return value with an [Action].
//
// Start from [Lower], which turns instructions into an [Image], and [Thread], which runs
// it: [NewThread], [Thread.Start], [Thread.Run].
//
// Semantics follow RFC 9669, and the Linux verifier's rewrites where the RFC leaves a case open
// (division by zero, shift counts). Every reason to stop is a typed value, and a guest program can
// neither cause a panic nor access host memory.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package vm
