package debug

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRegistersOnly: only what follows from registers alone is skipped while they stay the same.
func TestRegistersOnly(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []int
	}{
		{"$r10", []int{10}}, {"$r1 + 4", []int{1}}, {"($r1 & 0xff) == $r2", []int{1, 2}}, {"-$r0", []int{0}},
		{"*$r1", nil}, {"$r1->x", nil}, {"$r1[0]", nil}, {"$pc", nil}, {"$r1 + sum", nil}, {"sum", nil}, {"$r11", nil}, {"1 + 2", nil},
		{"(int)$r1", nil}, {"$r1x", nil}, {"$r1 * 2", nil},
	} {
		assert.Equal(t, tt.want, registersOnly(tt.text), tt.text)
	}
}

// TestWatchOfARegisterSeesEveryChange compares with a watchpoint on an equal expression that is evaluated after every instruction.
func TestWatchOfARegisterSeesEveryChange(t *testing.T) {
	at := func(text string) (out []string) {
		s := started(t, "examples/xdp/xdp.bpf.o", "filter")
		w, err := s.AddWatch(text, false, true)
		require.NoError(t, err)
		assert.Equal(t, registersOnly(text) != nil, w.onRegs != nil)
		for range 200 {
			st, err := s.Continue(bg)
			require.NoError(t, err)
			for _, h := range st.Watches {
				out = append(out, fmt.Sprint(h.Write, h.Place.PC))
			}
			out = append(out, fmt.Sprint(st.Pos))
			if st.Reason != AtWatchpoint {
				break
			}
		}
		return out
	}
	for _, r := range []string{"$r0", "$r1", "$r6", "$r10"} {
		assert.Equal(t, at(r+" * 1"), at(r), r)
	}
}
