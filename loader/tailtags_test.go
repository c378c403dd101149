package loader

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

func TestTagsFillProgramArrays(t *testing.T) {
	o := object(t, "clang-14/intest_tc.o")
	calls, ok := o.Map("calls")
	require.True(t, ok)
	assert.Equal(t, []MapInit{{Index: 3, Prog: "nat"}}, calls.Values)
	p, ok := o.Program("nat")
	require.True(t, ok, "a static function with a slot is a program")
	assert.False(t, p.Function.Global)
	entries, _ := o.Map("entries")
	assert.Equal(t, []MapInit{{Index: 0, Prog: "entry"}}, entries.Values)
}

func TestTagsThatCannotBeMeant(t *testing.T) {
	o := &Object{Maps: []*Map{
		{Name: "calls", Type: uapi.MapTypeProgArray, MaxEntries: 4, Values: []MapInit{{Index: 1, Prog: "a"}}},
		{Name: "later", Type: uapi.MapTypeProgArray},
		{Name: "hash", Type: uapi.MapTypeHash, MaxEntries: 4},
	}}
	for _, c := range []struct{ tag, want string }{
		{"calls/2", ""},
		{"calls/0x3", ""},
		{"later/100", ""}, // user space sets the size
		{"elsewhere/1", ""},
		{"calls/4", "has 4 slots"},
		{"calls/1", "slot 1 of map calls is set to a and, by a tag, to b"},
		{"calls", "want tail:MAP/SLOT"},
		{"calls/", "want tail:MAP/SLOT"},
		{"calls/x", "want tail:MAP/SLOT"},
		{"calls/-1", "want tail:MAP/SLOT"},
		{"later/4294967296", "want tail:MAP/SLOT"},
		{"hash/1", "is not a prog_array"},
	} {
		err := o.tailTag(&Program{Name: "b", Section: "tc/tail"}, c.tag)
		if c.want == "" {
			assert.NoError(t, err, c.tag)
			continue
		}
		assert.ErrorIs(t, err, ErrMapDef, c.tag)
		assert.ErrorContains(t, err, c.want, c.tag)
	}
	assert.NoError(t, o.tailTag(&Program{Name: "a"}, "calls/1"), "values and tag say the same")
	assert.Len(t, o.Maps[0].Values, 3)
	assert.Equal(t, []MapInit{{Index: 100, Prog: "b"}}, o.Maps[1].Values)
}
