// Package border generates well-formed programs at the border of what kernels' verifiers accept:
// bounds checks that are correct or off by one, variable offsets, spills, helper calls with sizes,
// null checks, references, loops, subprograms.
//
// A seed and a number determine a program. The generator roughly tracks the contents of registers,
// so that the verifier should accept most statements and refuse a few; it does not know the
// verdict. Start from [Program].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package border
