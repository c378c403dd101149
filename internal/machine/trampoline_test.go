package machine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// extends composes a machine with testdata's extends.o and programs attached to functions of
// others.
func extends(t *testing.T, cfg machine.Config, attach map[string]string) *machine.Machine {
	t.Helper()
	obj, err := loader.Open("../../testdata/objects/clang-14/extends.o")
	require.NoError(t, err)
	linked, err := obj.Load(target(t, embedded.Name), loader.LoadOptions{AttachProgs: attach})
	require.NoError(t, err)
	return compose(t, linked, cfg)
}

// names lists the programs that ran within a run, with what they returned.
func names(res *machine.Result) (out []string) {
	for _, r := range res.Traced {
		out = append(out, fmt.Sprintf("%s %d", r.Program, int32(r.Ret)))
	}
	return out
}

// TestAttached: extensions run in place of functions, tracing programs at their entry and return,
// alike on every engine.
func TestAttached(t *testing.T) {
	for _, c := range []struct {
		name   string
		attach map[string]string
		ret    int32
		within []string
	}{
		{"nothing", nil, 64164, nil},
		{"an extension without a context", map[string]string{"new_add": "target"}, 63964, []string{"new_add -36"}},
		{"two extensions", map[string]string{"new_add": "target", "new_length": "target"}, 6907, []string{"new_length 7", "new_add -93"}},
		{"an extension of the program, which calls a function of its own", map[string]string{"new_target": "target"}, 42, []string{"new_target 42"}},
		{"a trace", map[string]string{"on_target": "target", "after_target": "target", "after_add": "target", "on_add": "target", "after_hidden": "target"}, 64164,
			[]string{"on_target 0", "on_add 0", "after_add 0", "after_hidden 0", "after_target 0"}},
		{"a trace of an extension", map[string]string{"new_add": "target", "after_new_add": "new_add"}, 63964, []string{"new_add -36", "after_new_add 0"}},
		{"a trace of an extension of a program", map[string]string{"new_target": "target", "after_target": "new_target"}, 42, []string{"new_target 42", "after_target 0"}},
	} {
		var first *machine.Result
		for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT, machine.EngineBoth} {
			m := extends(t, machine.Config{Seed: 1, Engine: engine, OnDifference: func(text string) { t.Error(text) }}, c.attach)
			for range 2 {
				res := run(t, m, "target")
				require.Nil(t, res.Fault, "%s: %v", c.name, res.Fault)
				assert.Equal(t, c.ret, int32(res.Ret), c.name)
				assert.Equal(t, c.within, names(res), c.name)
				if first == nil {
					first = res
				}
				assert.Equal(t, first.Insns, res.Insns, c.name)
				assert.Equal(t, first.Events, res.Events, c.name)
			}
		}
	}
}

// TestAttachmentsAreChecked: what a trampoline cannot have (bpf_trampoline_link_prog).
func TestAttachmentsAreChecked(t *testing.T) {
	m := extends(t, machine.Config{}, map[string]string{"new_add": "target"})
	lp, _ := m.Linked().Program("new_add")
	add := lp.AttachStart
	for _, c := range []struct {
		a    machine.Attachment
		want error
	}{
		{machine.Attachment{Program: "err_arguments", Target: "target", Start: add}, machine.ErrTrampoline},
		{machine.Attachment{Program: "on_add", Target: "target", Start: add}, machine.ErrTrampoline},
		{machine.Attachment{Program: "on_add", Target: "nonesuch"}, machine.ErrNoProgram},
		{machine.Attachment{Program: "nonesuch", Target: "target"}, machine.ErrNoProgram},
		{machine.Attachment{Program: "on_add", Target: "target", Start: add + 1}, machine.ErrNoFunction},
		{machine.Attachment{Program: "target", Target: "new_add"}, machine.ErrNotAttachable},
	} {
		assert.ErrorIs(t, m.Attach(c.a), c.want, "%+v", c.a)
	}
	require.NoError(t, m.Detach(machine.Attachment{Program: "new_add", Target: "target", Start: add}))
	assert.Equal(t, int32(64164), int32(run(t, m, "target").Ret))
	trace := machine.Attachment{Program: "on_target", Target: "target"}
	for range machine.MaxTracers(since.Version{Release: uapi.R(6, 12)}.Rules()) {
		require.NoError(t, m.Attach(trace))
	}
	assert.ErrorIs(t, m.Attach(trace), machine.ErrTracers)
	assert.Len(t, run(t, m, "target").Traced, 38)
	_, _, err := m.Replay("target", machine.Input{})
	assert.ErrorIs(t, err, machine.ErrReplayTraced)
}

// TestMaxTracers: 40 programs until Linux 5.11, 38 since.
func TestMaxTracers(t *testing.T) {
	most := func(r uapi.Release) int { return machine.MaxTracers(since.Version{Release: r}.Rules()) }
	assert.Equal(t, []int{40, 38, 38}, []int{most(uapi.R(5, 11)), most(uapi.R(5, 12)), most(0)})
}

// TestTracersShareTheLimit: programs that trace calls count toward the limit of instructions of the
// run, so that they cannot multiply it.
func TestTracersShareTheLimit(t *testing.T) {
	attach := map[string]string{"on_target": "target", "on_add": "target", "after_add": "target"}
	alone := run(t, extends(t, machine.Config{}, nil), "target").Insns
	for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
		res := run(t, extends(t, machine.Config{Engine: engine}, attach), "target")
		all := alone
		for _, r := range res.Traced {
			all += r.Insns
		}
		require.Greater(t, all, alone)
		assert.Nil(t, run(t, extends(t, machine.Config{Engine: engine, MaxInsns: 2 * all}, attach), "target").Fault)
		short := run(t, extends(t, machine.Config{Engine: engine, MaxInsns: alone + 1}, attach), "target")
		require.NotNil(t, short.Fault)
		assert.Equal(t, vm.BudgetExceeded, short.Fault.Kind)
	}
}
