package debug

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
)

// everyTime makes an expression of the same value that no trace covers, so that it is evaluated
// after every instruction.
func everyTime(text string) string { return "(long long)($insns * 0) + (" + text + ")" }

// hitsOf returns what a watchpoint reports on a run forwards and back, from the n-th line on; open
// reports how often it cannot be followed.
func hitsOf(t *testing.T, path, prog, text string, lines int, dwarf bool) (out []string, open bool, err error) {
	t.Helper()
	start := started
	if !dwarf {
		start = startedWithoutDWARF
	}
	s := start(t, path, prog)
	for range lines {
		_, err := s.Next(bg)
		require.NoError(t, err)
	}
	w, err := s.AddWatch(text, false, true)
	if err != nil {
		return nil, false, err
	}
	require.True(t, w.Soft(), text)
	for _, s.Reverse = range []bool{false, true} {
		for range 300 {
			st, err := s.Continue(bg)
			require.NoError(t, err)
			for _, h := range st.Watches {
				out = append(out, fmt.Sprint(h.Place.PC, " ", h.Old, " -> ", h.New))
			}
			out = append(out, fmt.Sprint(st.Reason, st.Pos))
			if w.outcomes.latest != nil {
				open = open || w.outcomes.latest.from.Open
			}
			if st.Reason != AtWatchpoint {
				break
			}
		}
	}
	return out, open, nil
}

// TestWatchSeesEveryChange compares with a watchpoint on an equal expression that is evaluated
// after every instruction.
func TestWatchSeesEveryChange(t *testing.T) {
	const xdp = "examples/xdp/xdp.bpf.o"
	locals := []string{
		"$r0 + 0", "$r1 * 2", "$r10 - 1", "$r1 > 4", "*(unsigned long long *)($r10 - 8) + 0",
		"seen.sum + seen.product", "seen.delta + 0", "seen.kind == 5", "seen.sum ? seen.delta : seen.area + 1", "input * 2",
	}
	for _, tt := range []struct {
		path, prog string
		lines      int
		texts      []string
	}{
		{xdp, "filter", 0, []string{"$r0 + 0", "$r1 + 0", "$r6 + 0", "($r6 & 0xff) == $r2"}},
		{"internal/debug/testdata/locals-O1-dwarf5.o", "locals", 0, locals},
		{"internal/debug/testdata/locals-O2-dwarf4.o", "locals", 0, locals},
		{"internal/debug/testdata/locals-clang22-O2-dwarf5.o", "locals", 0, locals},
		{"internal/debug/testdata/locals-O1-dwarf5.o", "locals", 3, []string{"n + 0", "sum + 0", "sum * 2 > 50", "shape.dx + 0", "last[0] + 0", "list[1] + 0", "list[n & 3] + 0", "$r6 + sum"}},
		{"internal/debug/testdata/locals-O2-dwarf5.o", "locals", 6, []string{"n + 0", "sum + 0", "shape.dx + 0", "list[1] + list[2]"}},
	} {
		for _, text := range tt.texts {
			t.Run(tt.path+" "+text, func(t *testing.T) {
				want, open, err := hitsOf(t, tt.path, tt.prog, everyTime(text), tt.lines, true)
				if err != nil {
					_, _, also := hitsOf(t, tt.path, tt.prog, text, tt.lines, true)
					require.Error(t, also)
					t.Skip(err)
				}
				require.True(t, open)
				got, open, err := hitsOf(t, tt.path, tt.prog, text, tt.lines, true)
				require.NoError(t, err)
				assert.False(t, open)
				assert.Equal(t, len(want), len(got))
				assert.Equal(t, want, got)
			})
		}
	}
}

// TestWatchIsNotEvaluatedAgain: an expression of registers and plain memory is evaluated once, and
// again only when one of them changes.
func TestWatchIsNotEvaluatedAgain(t *testing.T) {
	s := started(t, "internal/debug/testdata/locals-O1-dwarf5.o", "locals")
	for _, tt := range []struct {
		text string
		open bool
	}{
		{"$r10 + 1", false}, {"seen.sum + 1", false}, {"*(char *)0 + 1", false}, {"$r6 * 2", false}, {"1 + 2", false},
		{"$pc + 1", true}, {"$insns", true}, {"current->pid + 1", true}, {"current", true},
	} {
		n, err := s.Parse(tt.text)
		require.NoError(t, err)
		var tr expr.Trace
		s.Follow(&tr, func() { _, _ = s.EvalNode(n) })
		assert.Equal(t, tt.open, tr.Open, tt.text)
		assert.Equal(t, !tt.open, s.Same(&tr), tt.text)
		s.Unlook()
	}
	n, err := s.Parse("seen.sum + $r9")
	require.NoError(t, err)
	for _, change := range []string{"seen.sum = 77", "$r9 = 5"} {
		var tr expr.Trace
		s.Follow(&tr, func() { _, err = s.EvalNode(n) })
		require.NoError(t, err)
		require.True(t, s.Same(&tr))
		_, err = s.Assign(change)
		require.NoError(t, err)
		assert.False(t, s.Same(&tr), change)
	}
}
