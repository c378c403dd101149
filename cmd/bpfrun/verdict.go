package main

import (
	"context"

	"github.com/bpfrun/bpfrun/internal/app/testrun"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// verifies returns the function that makes the caches of verdicts, one for each kernel; nil with
// --no-verify.
func (m *machineFlags) verifies(ctx context.Context) func() testrun.Verify {
	if m.noVerify {
		return nil
	}
	return func() testrun.Verify { return verifier.NewCache().Each(ctx) }
}

// verifiesEach returns the function that verifies the programs of linked objects; nil with
// --no-verify.
func (m *machineFlags) verifiesEach(ctx context.Context) testrun.Verify {
	if each := m.verifies(ctx); each != nil {
		return each()
	}
	return nil
}
