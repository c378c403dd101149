// Package plan is the part of the JIT compiler that no processor has a say in: what a backend has to generate, and the memory that
// generated code shares with Go. The contract between the two is in the doc comment of package jit.
//
// It knows lowered programs (package vm) and the arena with its shadow (package mem). It does not know instruction encodings, pages
// or calls from Go. Start from [New], which makes a [Program] of a vm.Image, and [State].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package plan
