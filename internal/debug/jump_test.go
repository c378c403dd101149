package debug

import (
	"testing"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLastKnown: a variable that is optimized out has the value it had where debug information knew
// it last; the session stays where it is.
func TestLastKnown(t *testing.T) {
	s := started(t, "internal/debug/testdata/locals-O1-dwarf5.o", "locals")
	_, err := s.Break("45", false)
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	_, err = s.Eval("list")
	var gone *expr.UnavailableError
	require.ErrorAs(t, err, &gone)
	before := s.Pos()
	l, err := s.LastKnown(bg, "list")
	require.NoError(t, err)
	assert.NotZero(t, l.Ago)
	assert.Equal(t, before, s.Pos())
	_, err = s.GoTo(bg, l.Pos)
	require.NoError(t, err)
	assert.Equal(t, l.Text, print(t, s, "list"))
	_, err = s.LastKnown(bg, "nothing")
	var unknown *expr.UnknownError
	assert.ErrorAs(t, err, &unknown)
}

// TestJump: a jump leaves out what lies between, belongs to the run, and stays inside the function.
func TestJump(t *testing.T) {
	s := started(t, "internal/debug/testdata/locals-O1-dwarf5.o", "locals")
	_, err := s.Step(bg)
	require.NoError(t, err)
	pos := s.Pos()
	_, err = s.Jump("60")
	require.NoError(t, err)
	to := s.Here()
	assert.Equal(t, pos, s.Pos())
	_, err = s.StepInsn(bg, 1)
	require.NoError(t, err)
	after := s.Here()
	s.Reverse = true
	_, err = s.StepInsn(bg, 1)
	require.NoError(t, err)
	s.Reverse = false
	assert.Equal(t, to, s.Here(), "back before the jumped-to instruction the jump is made again")
	_, err = s.StepInsn(bg, 1)
	require.NoError(t, err)
	assert.Equal(t, after, s.Here())
	_, err = s.Jump("45")
	assert.ErrorContains(t, err, "not in the current function")
	for _, bad := range []string{"$pc = 9999", "$pc = -1", "$pc += 1"} {
		_, err = s.Assign(bad)
		assert.Error(t, err, bad)
	}
}

// TestFunctionsOfExpressions: conversions of byte order are their own inverses, and narrow to their
// width.
func TestFunctionsOfExpressions(t *testing.T) {
	s := started(t, "internal/debug/testdata/locals-O1-dwarf5.o", "locals")
	for text, want := range map[string]string{
		"ntohs(htons(0x1234)) == 0x1234": "1", "bpf_ntohs(0x10050)": "20480", "bpf_ntohl(1)": "16777216", "__bpf_ntohl(1)": "16777216", "htonll(1) == 1ull << 56": "1",
		"sizeof(bpf_htons(1))": "2", "bpf_cpu_to_be32(0x11223344) == 0x44332211": "1", "offsetof(struct seen, delta)": "16",
	} {
		assert.Equal(t, want, print(t, s, text), text)
	}
	for _, bad := range []string{"ntohs()", "ntohs(1, 2)", "ntohs(", "offsetof(struct seen)", "offsetof(int, x)", "system(1)", "ntoh(1)"} {
		_, err := s.Eval(bad)
		assert.Error(t, err, bad)
	}
}
