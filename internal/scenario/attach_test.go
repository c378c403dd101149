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
