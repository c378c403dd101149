package scenario

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sessionObject, functionsObject = "../../examples/session/session.bpf.o", "../../examples/functions/functions.bpf.o"

// TestFunctions: one run is of several functions, each with its own arguments, cookie and session,
// on the same variables.
func TestFunctions(t *testing.T) {
	for _, c := range []struct{ name, run, want string }{
		{"a list has no cookies", "{prog: on_each, functions: [vfs_read, vfs_readv], expect: {globals: {calls: [2, 0, 0, 0]}, helpers: {bpf_get_func_ip: 2}}}", ""},
		{"the run's cookie is the default", "{prog: on_each, cookie: 2, functions: {vfs_read: 0, vfs_readv: 3}, expect: {globals: {calls: [0, 0, 1, 1]}}}", ""},
		{"sessions are apart", "{prog: on_read, args: {ret: 4}, functions: {vfs_read: {args: {count: 8}}, vfs_readlink: {args: {buflen: 16}}}, " +
			"expect: {globals: {entries: 2, returns: 2, asked: 24, got: 8}, functions: {vfs_read: {calls: 2, helpers: {bpf_session_cookie: 2}}}}}", ""},
		{"repeated", "{prog: on_each, repeat: 2, functions: {vfs_read: 1, vfs_readv: 1}, expect: {globals: {calls: [0, 4, 0, 0]}}}", ""},
		{"a wrong result", "{prog: on_read, functions: {vfs_read: {args: {count: 0}}}, expect: {functions: {vfs_read: {ret: 0, calls: 2, helpers: {bpf_session_cookie: 2}}}}}",
			"functions.vfs_read.ret: want 0, got 1\nfunctions.vfs_read.calls: want 2, got 1\nfunctions.vfs_read.helpers.bpf_session_cookie: want 2, got 1"},
		{"a return probe", "{prog: on_any_return, functions: {vfs_read: {args: {ret: 7}}}, expect: {globals: {got: 7}}}", ""},
	} {
		object := sessionObject
		if strings.Contains(c.run, "on_each") {
			object = functionsObject
		}
		r, err := openScenario(t, object, "runs: ["+c.run+"]")
		require.NoError(t, err, c.name)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, failures(results[0]), c.name)
	}
}

// TestAllFunctions: all means every function that the pattern matches, each with its own address.
func TestAllFunctions(t *testing.T) {
	r, err := openScenario(t, functionsObject, "runs: [{prog: on_each, functions: all}]")
	require.NoError(t, err)
	want, err := r.m.FunctionsOf("on_each")
	require.NoError(t, err)
	assert.Subset(t, want, []string{"vfs_read", "vfs_readlink", "vfs_readv"})
	results, err := r.All(t.Context(), nil)
	require.NoError(t, err)
	var got []string
	for _, f := range results[0].Functions {
		got = append(got, f.Function)
	}
	assert.Equal(t, want, got)
	assert.Equal(t, len(want), results[0].Helpers["bpf_get_func_ip"])
	r, err = openScenario(t, "../../testdata/objects/clang-14/sections.o", "runs: [{prog: uprobe_multi, functions: all, expect: {functions: {main: {ret: 0}}}}]")
	require.NoError(t, err)
	results, err = r.All(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, "", failures(results[0]))
}

func TestFunctionsMistakes(t *testing.T) {
	for _, c := range []struct{ run, want string }{
		{"{prog: on_each, functions: some}", `functions: want all, a list of functions, or {FUNCTION: COOKIE}`},
		{"{prog: on_each, functions: []}", "functions: want all"},
		{"{prog: on_each, functions: [vfs_read, vfs_read]}", `functions: "vfs_read" is named twice`},
		{"{prog: on_each, functions: [vfs_write]}", "traces vfs_rea*, which does not match vfs_write"},
		{"{prog: on_each, functions: {vfs_read: text}}", "cookie of vfs_read"},
		{"{prog: on_each, functions: {vfs_read: {cooky: 1}}}", `unknown key of traced function "cooky"`},
		{"{prog: on_each, functions: {vfs_read: {args: {cuont: 1}}}}", `unknown argument of kprobe.multi/vfs_rea* "cuont"`},
		{"{prog: on_each, functions: all, function: vfs_read}", "functions cannot be combined with function"},
		{"{prog: on_each, functions: [vfs_read], expect: {functions: {vfs_readv: {ret: 0}}}}", `unknown function of the run "vfs_readv"`},
		{"{prog: on_each, expect: {functions: {vfs_read: {ret: 0}}}}", "functions: the run is of one function"},
		{"{prog: on_each, functions: [vfs_read], expect: {functions: {vfs_read: {calls: 3}}}}", "calls: 3 is outside"},
	} {
		_, err := openScenario(t, functionsObject, "runs: ["+c.run+"]")
		assert.ErrorContains(t, err, c.want, c.run)
	}
	_, err := openScenario(t, "../../testdata/objects/clang-14/sections.o", "runs: [{prog: kprobe_fn, functions: all}]")
	assert.ErrorContains(t, err, "does not trace several functions")
	r, err := openScenario(t, functionsObject, "runs: [{prog: on_each, functions: [vfs_read]}]")
	require.NoError(t, err)
	_, err = r.Stage(t.Context(), r.File().Runs[0])
	assert.ErrorContains(t, err, "cannot be stepped through")
}
