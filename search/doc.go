// Package search finds inputs with which a program gets further. It traces a run, follows the operands of its comparisons back to what
// the program read (bytes of memory that it did not write, map lookups, results of helpers), solves comparisons whose other side no
// run has taken, and runs the program again with the inputs changed.
//
// It knows machines and instructions. It does not know command lines or how inputs are shown. Start at [Furthest].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package search
