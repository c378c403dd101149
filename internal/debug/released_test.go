package debug

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
)

// TestMemoryAfterAFault: after a use after free the released record shows its last contents and
// that it was freed; it cannot be changed, and while the program runs it cannot be read.
func TestMemoryAfterAFault(t *testing.T) {
	const note = " <last contents: ring buffer record events was freed>"
	s := started(t, "internal/debug/testdata/released.o", "released")
	st, err := s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, Faulted, st.Reason)
	for text, want := range map[string]string{
		"*e":         `{pid = 42, uid = 0, comm = "x", list = [0, 5, 0, 0]}` + note,
		"e->pid":     "42" + note,
		"e->list":    "[0, 5, 0, 0]" + note,
		"e->pid + 1": "43",
	} {
		assert.Equal(t, want, print(t, s, text), text)
	}
	v, err := s.Eval("*e")
	require.NoError(t, err)
	assert.Contains(t, s.WhatIs(v.Addr), "ring buffer record events was freed")
	_, err = s.Eval("*(e + 1)")
	var denied *expr.MemoryError
	require.ErrorAs(t, err, &denied, "what follows the record is not shown")
	_, err = s.Assign("e->pid = 1")
	require.ErrorAs(t, err, &denied)
	s.Reverse = true
	_, err = s.StepInsn(bg, 1)
	require.NoError(t, err)
	require.Equal(t, Running, s.State())
	_, err = s.Eval("*e")
	require.ErrorAs(t, err, &denied, "the program runs: reading it is the error that it makes")
	_, err = s.Eval("e->list[1]")
	require.ErrorAs(t, err, &denied)
	assert.Equal(t, 16, denied.Fault.Size, "of the member, not of the whole record")
	for _, text := range []string{"e->nothing", "(*e).nothing", "((struct event *)0)->nothing", "((struct event *)8)->nothing"} {
		_, err = s.Eval(text)
		var unknown *expr.UnknownError
		require.ErrorAs(t, err, &unknown, text)
		_, err = s.Why(bg, text)
		require.ErrorAs(t, err, &unknown, text)
		assert.Equal(t, "nothing", unknown.Name)
	}
	_, err = s.Eval("((struct event *)0)->list")
	assert.ErrorContains(t, err, "cannot access 0x0: null pointer")
}
