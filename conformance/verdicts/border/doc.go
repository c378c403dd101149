// Package border generates well-formed programs near the border of what kernels' verifiers accept: bounds checks that are right or
// off by one, variable offsets, spills, helper calls with sizes, null checks, references, loops, subprograms.
//
// A program is determined by its seed and number. The generator follows what registers hold roughly, so that most statements
// are meant to be accepted and a few are not; it does not know what the verifier says. Start at [Program].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package border
