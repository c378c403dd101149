package verdicts

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/verifier"
)

func TestSpeedIsTheGeometricMean(t *testing.T) {
	r := NewReport()
	for _, times := range [][2]int{{100, 50}, {100, 200}, {0, 70}, {100, 0}} { // the kernel's and ours; 0 is not measured
		usec := times[0]
		l := &Line{Kernel: "6.18.1", Verdict: Accepted, Stats: Stats{Usec: &usec}}
		r.Add(&Comparison{Line: l, Kind: Agree, Ours: &verifier.Verdict{}, CPU: time.Duration(times[1]) * time.Microsecond})
	}
	s := r.Agreements()[0].Speed
	assert.Equal(t, 2, s.Programs)
	assert.InDelta(t, 1, s.Mean(), 1e-9)
	assert.Zero(t, (&Speed{}).Mean())
	var out bytes.Buffer
	r.WriteSpeed(&out)
	assert.Contains(t, out.String(), "| 6.18.1 | 2 |")
}
