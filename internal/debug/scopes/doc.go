// Package scopes reads functions from an object's DWARF: nested scopes, local variables and their
// locations, inlined calls, lines.
//
// It depends on ELF and DWARF, and evaluates locations ([Locate]) against registers and memory
// provided as functions ([State]). It has no knowledge of running programs; package btf/debuginfo
// builds the types of variables.
//
// Start from [Read].
package scopes
