// Package verdicts compares package verifier with verdicts that real kernels gave.
//
// A recording is a file of [Line] values, one JSON object a line: a program of an object file, or the instructions of a generated
// one, and what BPF_PROG_LOAD said of it on one release. Package conformance/record writes such files; [Replay] verifies the same
// programs here and says where the answers differ.
//
// It knows what kernels' messages are about ([ClassOf]), nothing of bpf(2).
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package verdicts
