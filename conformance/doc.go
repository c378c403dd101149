// Package conformance runs objects and compares the results with those of real kernels, recorded
// with BPF_PROG_TEST_RUN ([Cases]).
//
// Package conformance/isa tests the instruction set.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package conformance
