package isa

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/conformance/isa/generate"
)

// TestDifferential compares interpreter and reference on generated programs.
func TestDifferential(t *testing.T) {
	count := uint64(20_000)
	if testing.Short() {
		count = 2_000
	}
	for _, tt := range []struct {
		name string
		cfg  generate.Config
	}{
		{"all", generate.Config{}},
		{"kernel", generate.Config{Kernel: true, Version: RecordedKernel}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Differential(context.Background(), DifferentialConfig{Seed: 1, Count: count, Generate: tt.cfg})
			require.NoError(t, err)
			for _, d := range r.Disagreements {
				t.Error(d.Text)
			}
			assert.Zero(t, r.Disagreeing)
			assert.Equal(t, count, r.Programs)
			assert.Equal(t, 4*count, r.Runs)
			t.Log(r.Summary())
		})
	}
}
