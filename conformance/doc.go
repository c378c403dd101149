// Package conformance compares whole runs of objects with what kernels did: cases recorded with BPF_PROG_TEST_RUN ([Cases]).
//
// The instruction set has a proof of its own in package conformance/isa.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package conformance

import "github.com/bpfrun/bpfrun/conformance/isa"

// What reports of all suites have in common.
type (
	// Result counts what passed and failed.
	Result = isa.Result
	// Failure is what did not pass.
	Failure = isa.Failure
	// InputError identifies which line of an input is not what it should be.
	InputError = isa.InputError
)
