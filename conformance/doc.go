// Package conformance runs objects and compares the results with those of real kernels, recorded
// with BPF_PROG_TEST_RUN ([Cases]).
//
// Package conformance/isa tests the instruction set.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package conformance

import "github.com/bpfrun/bpfrun/conformance/isa"

// Types shared by the reports of all suites.
type (
	// Result counts passed and failed tests.
	Result = isa.Result
	// Failure describes a failed test.
	Failure = isa.Failure
	// InputError locates an invalid line in an input.
	InputError = isa.InputError
)
