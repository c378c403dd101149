package debug

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// long opens the object whose program runs a million instructions, with a run that has ended.
func long(b *testing.B) *Session {
	s := started(b, "debug/testdata/long.o", "loop")
	st, err := s.Continue(bg)
	require.NoError(b, err)
	require.Equal(b, Exited, st.Reason)
	b.ReportMetric(float64(st.Pos), "insns")
	return s
}

// BenchmarkPlainRun is the measure: the program without a debugger.
func BenchmarkPlainRun(b *testing.B) {
	s := long(b)
	s.Reset()
	for b.Loop() {
		_, err := s.Machine().Run(context.Background(), "loop", s.Input())
		require.NoError(b, err)
	}
}

// BenchmarkContinue is a run in the debugger without breakpoints: at most four times the plain one.
func BenchmarkContinue(b *testing.B) {
	s := long(b)
	for b.Loop() {
		_, err := s.Restart()
		require.NoError(b, err)
		_, err = s.Continue(bg)
		require.NoError(b, err)
	}
}

// BenchmarkReverseStep goes one line back from the end of the run: at most three times the plain run.
func BenchmarkReverseStep(b *testing.B) {
	s := long(b)
	end := s.Pos()
	for b.Loop() {
		s.Reverse = true
		_, err := s.Step(bg)
		require.NoError(b, err)
		s.Reverse = false
		require.Less(b, s.Pos(), end)
		_, err = s.Continue(bg)
		require.NoError(b, err)
	}
}
