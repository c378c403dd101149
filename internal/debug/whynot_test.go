package debug

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhyNot: the branch after which no way leads to an effect, through calls and callbacks, and
// what it compared. The session stands where it stood.
func TestWhyNot(t *testing.T) {
	for _, tt := range []struct {
		prog        string
		line        uint32
		left, right uint64
		flags       []string
		because     uint32
	}{
		{prog: "enter_openat", line: 40, left: 1, right: 0, flags: []string{"--global target_uid=5190"}, because: 22},
		{prog: "exit_openat", line: 58, left: 0, right: 0},
		{prog: "small_reads", line: 74, left: 0x32a, right: 4},
		{prog: "in_callback", line: 82, left: 0x9562ee70, right: 7},
	} {
		t.Run(tt.prog, func(t *testing.T) {
			s := started(t, "testdata/objects/clang-14/filtered.o", tt.prog)
			_, err := s.StepInsn(bg, 2)
			require.NoError(t, err)
			regs := *s.Machine().Thread().Regs()
			d, err := s.WhyNot(bg, HasEffect)
			require.NoError(t, err)
			l, _ := d.Place.Line()
			assert.Equal(t, tt.line, l.Line)
			assert.Equal(t, tt.left, d.Sides[0].Value)
			assert.Equal(t, tt.right, d.Sides[1].Value)
			assert.Equal(t, tt.flags, d.Flags())
			if tt.because != 0 {
				require.NotNil(t, d.Because)
				l, _ := d.Because.Place.Line()
				assert.Equal(t, tt.because, l.Line)
			} else {
				assert.Nil(t, d.Because)
			}
			assert.EqualValues(t, 2, s.Pos())
			assert.Equal(t, regs, *s.Machine().Thread().Regs())
		})
	}
	s := started(t, "testdata/objects/clang-14/filtered.o", "has_effect")
	_, err := s.WhyNot(bg, HasEffect)
	assert.ErrorIs(t, err, ErrReached)
}
