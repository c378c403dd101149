// Package btfcases compares package btf/check with verdicts of BPF_BTF_LOAD.
//
// A recording is a file of [Line] values, one JSON object per line: a source, which is BTF built by
// [Seeds] or read from a file, and one letter for the verdict on each of its mutants, which
// [Mutant] recreates from a number. Package conformance/record asks the kernel; [Compare] checks
// the same bytes and reports the differences.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package btfcases
