// Package arm64 generates AArch64 code for package jit, by the contract in its doc comment.
//
// It knows encodings, the registers and the machine's habits. What code has to do is decided in package plan.
// [Compile] is the way in; rules.go is the table of how every op is generated.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package arm64
