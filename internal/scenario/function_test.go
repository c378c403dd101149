package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFunction: a program that traces many functions runs for each of them with its arguments,
// address and cookie.
func TestFunction(t *testing.T) {
	ips := map[uint64]string{}
	for _, fn := range []string{"vfs_read", "vfs_readv", "vfs_readlink"} {
		r, err := openScenario(t, "../../examples/session/session.bpf.o", "runs: [{prog: on_read, function: "+fn+", args: {ret: 5}, expect: {globals: {entries: 1}}}]")
		require.NoError(t, err, fn)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err, fn)
		assert.Equal(t, "", failures(results[0]), fn)
		c, err := r.m.Inspect("on_read", r.input[r.file.Runs[0]].in)
		require.NoError(t, err)
		assert.Equal(t, fn, c.Func)
		assert.Empty(t, ips[c.FuncAddr], "%s has the address of another function", fn)
		ips[c.FuncAddr] = fn
		c.Leave()
	}
	// the arguments are those of the function
	_, err := openScenario(t, "../../examples/session/session.bpf.o", "runs: [{prog: on_read, function: vfs_readlink, args: {count: 1}}]")
	assert.ErrorContains(t, err, `"count"`)
	r, err := openScenario(t, "../../testdata/objects/clang-14/sections.o", "runs: [{prog: kprobe_multi, function: vfs_write}, {name: b, prog: uprobe_multi, function: main}]")
	require.NoError(t, err)
	_, err = r.All(t.Context(), nil)
	require.NoError(t, err)
}

func TestFunctionMistakes(t *testing.T) {
	for _, c := range []struct{ object, run, want string }{
		{"../../examples/session/session.bpf.o", "{prog: on_read, function: vfs_write}", "traces vfs_rea*, which does not match vfs_write; it matches "},
		{"../../examples/session/session.bpf.o", "{prog: on_read, function: vfs_readnothing}", "whose types list no vfs_readnothing"},
		{"../../testdata/objects/clang-14/sections.o", "{prog: kprobe_fn, function: vfs_read}", "does not trace several functions"},
		{"../../testdata/objects/clang-14/sections.o", "{prog: uprobe_multi, function: other}", "traces main, which does not match other"},
		{"../../examples/session/session.bpf.o", "{prog: on_read, function: [vfs_read]}", "function: want a string"},
	} {
		_, err := openScenario(t, c.object, "runs: ["+c.run+"]")
		assert.ErrorContains(t, err, c.want, c.run)
	}
}
