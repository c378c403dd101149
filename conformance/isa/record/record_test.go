package record

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/conformance/isa"
	"github.com/bpfrun/bpfrun/conformance/isa/generate"
	"github.com/bpfrun/bpfrun/internal/testing/bpfprobe"
)

// openKernel skips the test where programs cannot be loaded, and where nobody asked for it: loading
// programs is not for every test run.
func openKernel(t *testing.T) *Kernel {
	t.Helper()
	if os.Getenv("BPFRUN_KERNEL") == "" {
		t.Skip("loads programs into the running kernel: set BPFRUN_KERNEL=1")
	}
	bpfprobe.Require(t)
	k, err := Open()
	if err != nil {
		t.Skip("no bpf(2): ", err)
	}
	return k
}

// TestDifferentialKernel compares interpreter, reference and the running kernel.
func TestDifferentialKernel(t *testing.T) {
	openKernel(t).Close()
	count := uint64(300)
	r, err := isa.Differential(context.Background(), isa.DifferentialConfig{
		Seed: 3, Count: count, Generate: generate.Config{Kernel: true, Version: Version()},
		Other: func() (isa.OtherRunner, error) { return Open() },
	})
	require.NoError(t, err)
	for _, d := range r.Disagreements {
		t.Error(d.Text)
	}
	assert.Zero(t, r.Disagreeing)
	assert.Less(t, r.Rejected*20, count, "%v", r.Reasons)
	t.Log(Release(), r.Summary(), r.Reasons)
}
