package debug

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// long opens the object whose program runs a million instructions, with a run that has ended.
func long(b *testing.B) *Session {
	s := started(b, "internal/debug/testdata/long.o", "loop")
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

// BenchmarkReverseStep goes one line back from the end of the run: at most three times the plain
// run.
func BenchmarkReverseStep(b *testing.B) {
	s := long(b)
	end := s.Pos()
	for b.Loop() {
		s.dropWays(1) // as after the run forwards
		s.Reverse = true
		_, err := s.Step(bg)
		require.NoError(b, err)
		s.Reverse = false
		require.Less(b, s.Pos(), end)
		_, err = s.Continue(bg)
		require.NoError(b, err)
	}
}

// BenchmarkReverseStepAgain goes back line by line: what was kept on the way makes each step cheap.
func BenchmarkReverseStepAgain(b *testing.B) {
	s := long(b)
	s.Reverse = true
	_, err := s.Step(bg)
	require.NoError(b, err)
	for b.Loop() {
		st, err := s.Step(bg)
		require.NoError(b, err)
		require.Equal(b, Stepped, st.Reason)
	}
}

// BenchmarkReverseContinue goes back over the whole run without meeting anything.
func BenchmarkReverseContinue(b *testing.B) {
	s := long(b)
	end := s.Pos()
	for b.Loop() {
		s.dropWays(1)
		s.Reverse = true
		st, err := s.Continue(bg)
		require.NoError(b, err)
		require.Equal(b, AtStart, st.Reason)
		s.Reverse = false
		_, err = s.GoTo(bg, end)
		require.NoError(b, err)
	}
}

// BenchmarkUntil leaves the loop that makes up the run: the debugger looks at lines on the way.
func BenchmarkUntil(b *testing.B) {
	s := long(b)
	for b.Loop() {
		_, err := s.Restart()
		require.NoError(b, err)
		for s.State() == Running {
			_, err = s.Until(bg)
			require.NoError(b, err)
		}
	}
}

// BenchmarkWatchMemory runs with a watchpoint on memory that is left alone.
func BenchmarkWatchMemory(b *testing.B) {
	s := started(b, "internal/debug/testdata/long.o", "loop")
	_, err := s.AddWatch("*(u64 *)($r10 - 512)", false, true)
	require.NoError(b, err)
	for b.Loop() {
		_, err := s.Restart()
		require.NoError(b, err)
		_, err = s.Continue(bg)
		require.NoError(b, err)
	}
}

// BenchmarkWatchRegister runs with a watchpoint that is compared after every instruction.
func BenchmarkWatchRegister(b *testing.B) { watchSoft(b, "$r10") }

// BenchmarkWatchExpression runs with a watchpoint on an expression that reads memory, which every
// twelfth instruction writes.
func BenchmarkWatchExpression(b *testing.B) { watchSoft(b, "total > 1 << 40") }

func watchSoft(b *testing.B, text string) {
	s := started(b, "internal/debug/testdata/long.o", "loop")
	_, err := s.AddWatch(text, false, true)
	require.NoError(b, err)
	for b.Loop() {
		_, err := s.Restart()
		require.NoError(b, err)
		_, err = s.Continue(bg)
		require.NoError(b, err)
	}
}
