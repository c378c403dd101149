// Package verdicts compares package verifier with verdicts of real kernels.
//
// A recording is a file of [Line] values, one JSON object per line: a program of an object file, or
// the instructions of a generated one, and the verdict of BPF_PROG_LOAD on one release. Package
// conformance/record writes such files; [Replay] verifies the same programs and reports the
// differences.
//
// It knows the meaning of the kernels' messages ([ClassOf]), but does not call bpf(2).
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package verdicts
