// Package core proves CO-RE relocations: it compares what this engine does with every relocation record of an object
// with recorded expectations, and records such expectations, from this engine or from an installed libbpf.
//
// It knows the file format of both (JSON lines, see [Line]), objects and targets. It does not execute programs and
// knows no command line.
//
// Start at [Check] and [Record].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package core
