package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// TestUnknownArgumentsAreRefusedOnEveryHook: a name that has no effect is a mistake, at the events
// of system calls too, whose arguments depend on the call.
func TestUnknownArgumentsAreRefusedOnEveryHook(t *testing.T) {
	obj, err := loader.Open("../../testdata/objects/clang-14/sections.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	target := loader.NewTarget(embedded.Name, spec)
	const none = ""
	for _, tt := range []struct{ prog, hook, args, want string }{
		{"raw_tp_short", "sys_enter", "filname: x", `unknown argument of raw_tp/sys_enter "filname" (nearest: filename)`},
		{"raw_tp_short", "sys_enter", "filename: x, id: 3", none},
		{"raw_tp_short", "sys_enter", "call: connect, fd: 3", none},
		{"raw_tp_short", "sys_enter", "call: connect, filename: x", `unknown argument of raw_tp/sys_enter "filename"`},
		{"raw_tp_short", "sys_enter", "call: conect", "argument call: call (system call) cannot be \"conect\": no such system call (nearest: connect"},
		{"raw_tp_short", "sys_exit", "ret: -2, flags: 1", none},
		{"raw_tp_short", "sys_exit", "rett: -2", `unknown argument of raw_tp/sys_exit "rett" (nearest: ret`},
		{"tp_btf_fn", "sys_enter", "idd: 1", `unknown argument of tp_btf/sys_enter "idd" (nearest: id`},
		{"tp_btf_fn", "sys_exit", "banana: 1", `unknown argument of tp_btf/sys_exit "banana"`},
		{"tracepoint_long", "syscalls/sys_enter_openat", "filname: x", `unknown argument of tracepoint/syscalls/sys_enter_openat "filname" (nearest: filename)`},
		{"tracepoint_long", "syscalls/sys_enter_openat", "filename: x, dfd: -100", none},
		{"tracepoint_long", "syscalls/sys_enter_openat", "call: close", `unknown argument of tracepoint/syscalls/sys_enter_openat "call"`},
		{"tracepoint_long", "syscalls/sys_exit_openat", "ret: 3", none},
		{"tracepoint_long", "syscalls/sys_exit_openat", "rte: 3", `unknown argument of tracepoint/syscalls/sys_exit_openat "rte" (nearest: ret`},
		{"tracepoint_long", "raw_syscalls/sys_enter", "call: openat, filename: x", none},
		{"tracepoint_long", "raw_syscalls/sys_exit", "filname: x", `unknown argument of tracepoint/raw_syscalls/sys_exit "filname"`},
		{"kprobe_fn", "__x64_sys_openat", "filname: x", `unknown argument of kprobe/__x64_sys_openat "filname" (nearest: filename)`},
		{"ksyscall_fn", "openat", "filname: x", `unknown argument of ksyscall/openat "filname" (nearest: filename)`},
		{"fentry_fn", "__x64_sys_openat", "filename: x", none},
		{"fentry_fn", "__x64_sys_openat", "filname: x", `unknown argument of fentry/__x64_sys_openat "filname" (nearest: filename)`},
		{"fentry_fn", "vfs_read", "fil: null", `unknown argument of fentry/vfs_read "fil" (nearest: file)`},
		{"lsm_fn", "file_open", "fil: null", `unknown argument of lsm/file_open "fil" (nearest: file)`},
	} {
		f, err := Parse("s.yaml", []byte("runs: [{prog: "+tt.prog+", args: {"+tt.args+"}}]\n"))
		require.NoError(t, err, tt.args)
		r, err := Open(f, obj, target, Options{Config: machine.Config{Seed: 1}, Load: loader.LoadOptions{Attach: map[string]string{tt.prog: tt.hook}}})
		if err == nil {
			r.Close()
		}
		if tt.want == none {
			assert.NoError(t, err, "%s: %s", tt.hook, tt.args)
			continue
		}
		assert.ErrorContains(t, err, tt.want, "%s: %s", tt.hook, tt.args)
	}
}

// TestArgumentsOfSystemCallEventsHaveAnEffect: what is accepted is what the program reads.
func TestArgumentsOfSystemCallEventsHaveAnEffect(t *testing.T) {
	r, err := openText(t, "perfbuf", "runs: [{prog: on_enter, args: {filename: /tmp/x, flags: 0x241, ent.pid: 77}}]\n")
	require.NoError(t, err)
	c, err := r.m.Inspect("on_enter", r.input[r.file.Runs[0]].in)
	require.NoError(t, err)
	defer c.Leave()
	flags, err := c.Record.GetBytes("args[2]")
	require.NoError(t, err)
	assert.Equal(t, []byte{0x41, 2, 0, 0, 0, 0, 0, 0}, flags)
	pid, err := c.Record.GetBytes("ent.pid")
	require.NoError(t, err)
	assert.Equal(t, []byte{77, 0, 0, 0}, pid)
}

func TestUnknownKindsOfFaultsAndEffectsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"fault: banana":          `s.yaml:1:40: unknown kind of fault "banana"`,
		"fault: null-ponter":     `(nearest: null-pointer`,
		"fault: null-pointer":    "",
		"fault: leaked-refrence": `(nearest: leaked-reference)`,
		"fault: true":            "",
		"fault: false":           "",
		"effects: [signl 9]":     `unknown kind of effect "signl" (nearest: signal)`,
		"effects: [banana]":      `s.yaml:1:43: unknown kind of effect "banana"`,
		"effects: [signal nine]": "want the number of signal after its kind",
		"effects: [signal 0x9]":  "",
		"effects: [{a: b}]":      "want a kind, or a kind and its number",
		"effects: [rc-keydown]":  "",
	} {
		_, err := openText(t, "exec", "runs: [{prog: on_exec, expect: {"+text+"}}]\n")
		if want == "" {
			assert.NoError(t, err, text)
		} else {
			assert.ErrorContains(t, err, want, text)
		}
	}
}
