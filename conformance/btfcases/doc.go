// Package btfcases compares package btf/check with verdicts of BPF_BTF_LOAD.
//
// A recording is a file of [Line] values, one JSON object a line: a source, which is BTF that [Seeds] builds or that a file has, and
// a letter for each of its mutants, which [Mutant] makes again from a number. Package conformance/record asks the kernel; [Compare]
// judges the same bytes here and says where the answers differ.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package btfcases
