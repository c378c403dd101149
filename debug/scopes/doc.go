// Package scopes reads what an object's DWARF says about its functions: nested scopes, local variables and where they are, inlined calls, lines.
//
// It knows ELF and DWARF, and evaluates locations ([Locate]) against registers and memory given as functions ([State]). It knows nothing of
// programs that run; the types of variables are those that btf/debuginfo makes.
//
// Start from [Read].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package scopes
