// Package core tests CO-RE relocations: it compares this engine's result for every relocation
// record of an object with recorded expectations, and records such expectations, from this engine
// or from an installed libbpf.
//
// It knows the expectation format (JSON lines, see [Line]), objects and targets. It does not
// execute programs or parse command lines.
//
// Start from [Check] and [Record].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package core
