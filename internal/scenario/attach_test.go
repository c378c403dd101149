package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAttach: programs attached to functions of the run's program run with it.
func TestAttach(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "runs: [{prog: target, expect: {ret: 64164, ringbuf: {calls: 0}}}]", ""},
		{"an extension without a context", "attach: {new_add: target}\nruns: [{prog: target, expect: {ret: 63964}}]", ""},
		{"an extension of the program", "attach: {new_target: 'target:target'}\nruns: [{prog: target, expect: {ret: 42}}]", ""},
		{"arguments and results", "attach: {after_add: target, on_add: 'target:add'}\nruns: [{prog: target, expect: {ret: 64164, ringbuf: {calls: [" +
			"{as: call, who: 3, a: 64, b: 100}, {as: call, who: 4, a: 64, b: 100, ret: 164}]}}}]", ""},
		{"before and after the program", "attach: {on_target: target, after_target: target}\nruns: [{prog: target, expect: {ringbuf: {calls: [{as: call, who: 1}, {as: call, who: 2, ret: 64164}]}}}]", ""},
		{"a static function", "attach: {after_hidden: target}\nruns: [{prog: target, expect: {ringbuf: {calls: [{as: call, who: 5, a: 64, ret: 64000}]}}}]", ""},
		{"a trace of an extension", "attach: {new_add: target, after_new_add: new_add}\nruns: [{prog: target, expect: {ringbuf: {calls: [{as: call, who: 6, a: 64, b: 100, ret: 0xffffffffffffffdc}]}}}]", ""},
	} {
		r, err := openScenario(t, "../../testdata/objects/clang-14/extends.o", c.text)
		require.NoError(t, err, c.name)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, failures(results[0]), c.name)
	}
}

// TestHooks: a program runs at the hook that the file names.
func TestHooks(t *testing.T) {
	object := "../../examples/fentry/fentry.bpf.o"
	r, err := openScenario(t, object, "hooks: {vfs_read_enter: vfs_write}\nruns: [{prog: vfs_read_enter, expect: {ret: 0}}]")
	require.NoError(t, err)
	lp, ok := r.Machine().Linked().Program("vfs_read_enter")
	require.True(t, ok)
	assert.Equal(t, "vfs_write", lp.AttachTo)
	for _, c := range []struct{ object, text, want string }{
		{object, "hooks: {nonesuch: vfs_read}", `unknown program "nonesuch"`},
		{object, "hooks: {vfs_read_enter: [vfs_read]}", "hooks: want a string"},
		{"../../testdata/objects/clang-14/extends.o", "hooks: {target: vfs_read}", "has no named attach target"},
	} {
		_, err := openScenario(t, c.object, c.text+"\nruns: []")
		assert.ErrorContains(t, err, c.want, c.text)
	}
}

func TestAttachMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"attach: {nonesuch: target}", `unknown program "nonesuch"`},
		{"attach: {new_add: nonesuch}", `unknown program "nonesuch"`},
		{"attach: {new_add: 'target:nonesuch'}", `program target has no function "nonesuch"`},
		{"attach: {target: new_add}", "does not attach to functions of programs"},
		{"attach: {new_add: [target]}", "attach: want a string"},
		{"attach: {new_add: new_add}", "cannot attach to itself"},
	} {
		_, err := openScenario(t, "../../testdata/objects/clang-14/extends.o", c.text+"\nruns: [{prog: target}]")
		assert.ErrorContains(t, err, c.want, c.text)
	}
}
