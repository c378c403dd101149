package debug

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
)

// TestFinishShowsTheValueReturned: finish ends with the value in the function's own type; for
// functions without a result, and static ones whose result the caller does not use, it says so
// instead of showing what r0 was left with.
func TestFinishShowsTheValueReturned(t *testing.T) {
	const tailcall, locals, loop = "examples/tailcall/tailcall.bpf.o", "internal/debug/testdata/locals-O2-dwarf5.o", "examples/loop/loop.bpf.o"
	for _, tc := range []struct {
		object, prog, function string
		want                   string // type and value
		note                   string
	}{
		{tailcall, "tcp", "well_known", "int 1", ""},
		{tailcall, "udp", "note", "", "note returns void."},
		{locals, "locals", "fill", "", "The caller does not use what fill returns; the compiler may have dropped it (r0 is "},
		{loop, "on_exit", "climb_one", "", "climb_one was called by bpf_loop, which has made all its calls and returned 0x3."},
	} {
		t.Run(tc.function, func(t *testing.T) {
			s := started(t, tc.object, tc.prog)
			_, err := s.Break(tc.function, true)
			require.NoError(t, err)
			st, err := s.Continue(bg)
			require.NoError(t, err)
			require.Equal(t, AtBreakpoint, st.Reason)
			before := s.Pos()
			st, err = s.Finish(bg)
			require.NoError(t, err)
			require.Equal(t, Returned, st.Reason)
			if tc.note != "" {
				assert.Nil(t, st.Value)
				require.Len(t, st.Notes, 1)
				assert.Contains(t, st.Notes[0], tc.note)
			} else {
				require.NotNil(t, st.Value)
				assert.Equal(t, tc.want, fmt.Sprintf("%v %s", st.Value.Type, s.Format(st.Value, expr.FormatOptions{})))
				assert.Empty(t, st.Notes)
				s.Remember(st.Value)
				assert.Equal(t, s.Format(st.Value, expr.FormatOptions{}), print(t, s, "$"), "it can be used on")
			}
			s.Reverse = true
			st, err = s.Finish(bg)
			require.NoError(t, err)
			assert.Nil(t, st.Value, "backwards nothing is returned")
			assert.Less(t, st.Pos, before+1, "it goes to the call")
		})
	}
}
