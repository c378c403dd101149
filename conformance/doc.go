// Package conformance compares runs of objects with those of kernels: cases recorded with BPF_PROG_TEST_RUN ([Cases]).
//
// Package conformance/isa tests the instruction set.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package conformance

import "github.com/bpfrun/bpfrun/conformance/isa"

// Types shared by the reports of all suites.
type (
	// Result counts what passed and failed.
	Result = isa.Result
	// Failure is what did not pass.
	Failure = isa.Failure
	// InputError locates an invalid line in an input.
	InputError = isa.InputError
)
