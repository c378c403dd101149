package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOtherMapsAndGlobalsAreUnchanged(t *testing.T) {
	for _, c := range []struct{ example, expect, want string }{
		{"exec", "{others: unchanged, maps: {execs_by_uid: {}}, ringbuf: {events: 1}}", ""},
		{"exec", "{others: unchanged, maps: {execs_by_uid: {}}}", "events: want unchanged, got records: 1"},
		{"exec", "{others: unchanged, ringbuf: {events: 1}}", "execs_by_uid[7700]: want unchanged, got 1"},
		{"globals", "{others: unchanged, globals: {total: 1, last.tgid: !any x, last_comm: !any x, by_number: !any x}}", ""},
		{"globals", "{others: unchanged, globals: {last: !any x, last_comm: !any x, by_number: !any x}}", "global total: want unchanged, got 1"},
	} {
		prog := map[string]string{"exec": "on_exec", "globals": "on_sys_enter"}[c.example]
		r, err := openText(t, c.example, "runs: [{prog: "+prog+", expect: "+c.expect+"}]")
		require.NoError(t, err, c.expect)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err)
		assert.Equal(t, c.want, failures(results[0]), "%s %s", c.example, c.expect)
	}
	_, err := openText(t, "exec", "runs: [{prog: on_exec, expect: {others: none}}]")
	assert.ErrorContains(t, err, `others: want unchanged, got "none"`)
}
