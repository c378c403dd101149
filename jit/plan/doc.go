// Package plan is the processor-independent part of the JIT compiler: the program that a backend
// generates code for, and the memory that generated code shares with Go. The doc comment of package
// jit describes the contract between the two.
//
// It knows lowered programs (package vm) and the arena with its shadow (package mem). It does not
// know instruction encodings, pages or calls from Go. Start from [New], which makes a [Program]
// from a vm.Image, and [State].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package plan
