// Package amd64 generates x86-64 code for package jit. The doc comment of package jit describes the
// contract.
//
// It knows encodings, registers and the properties of the processor. Package plan decides which
// operations to generate. Start from [Compile]; rules.go is the table of how every op is generated.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package amd64
