package machine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// memoryFault requires that a run ended with a refused access.
func memoryFault(t *testing.T, res *machine.Result) *mem.Fault {
	t.Helper()
	require.Equal(t, machine.StatusFault, res.Status)
	require.NotNil(t, res.Fault)
	require.Equal(t, vm.Memory, res.Fault.Kind)
	require.NotNil(t, res.Fault.Mem)
	return res.Fault.Mem
}

func TestDirectLoadsOfKernelMemory(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/loads.o", target(t, embedded.Name)), machine.Config{Seed: 1})
	tests := []struct {
		prog  string
		fault mem.FaultKind // 0 = runs to its end
		seen  int64         // value of the global after a run; -1 = the task's tgid
	}{
		{"err_kprobe", mem.NotPermitted, 0},
		{"err_tracepoint", mem.NotPermitted, 0},
		{"err_raw_tp", mem.NotPermitted, 0},
		{"err_perf_event", mem.NotPermitted, 0},
		{"err_kprobe_null", mem.NullPointer, 0},
		{"ok_kprobe", 0, -1},
		{"ok_kprobe_copies", 0, -1},
		{"ok_tp_btf", 0, -1},
		{"ok_tp_btf_null", 0, 7},
		{"ok_lsm_freed", 0, 9},
		{"err_lsm_store", mem.NotPermitted, 0},
		{"err_tp_btf_stack", mem.OutOfBounds, 0},
	}
	assert.Len(t, tests, len(m.Names()))
	_, tgid := m.Kernel().PidTgid()
	for _, tt := range tests {
		t.Run(tt.prog, func(t *testing.T) {
			res := run(t, m, tt.prog)
			if tt.fault != 0 {
				f := memoryFault(t, res)
				assert.Equal(t, tt.fault, f.Kind)
				assert.NotEmpty(t, res.Fault.Hint)
				assert.Contains(t, res.Fault.Source, "loads.bpf.c")
				return
			}
			require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
			want := tt.seen
			if want < 0 {
				want = int64(tgid)
			}
			assert.Equal(t, want, global(t, m, "seen"))
			recorded := false
			for _, w := range res.Warnings {
				recorded = recorded || strings.HasPrefix(w, "exception-table")
			}
			assert.Equal(t, tt.seen > 0, recorded, "%v", res.Warnings)
		})
	}
}

// global is the value of a 64-bit variable.
func global(t *testing.T, m *machine.Machine, name string) int64 {
	t.Helper()
	b, err := m.ReadVariable(name)
	require.NoError(t, err)
	return int64(m.Memory().ByteOrder().Uint64(b))
}

func TestLeakedRecordIsAFault(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/faults.o", target(t, embedded.Name)), machine.Config{})
	res := run(t, m, "err_leaked_record")
	require.Equal(t, machine.StatusFault, res.Status)
	assert.Equal(t, vm.LeakedReference, res.Fault.Kind)
	assert.Contains(t, res.Fault.Text, "exit")
	assert.Regexp(t, `holding .* which it took at insn \d+ \(faults.bpf.c:\d+: .*bpf_ringbuf_reserve`, res.Fault.Error())
	assert.Empty(t, res.Events)
}

// A use of freed memory names the call that freed it, and shows what the memory contained.
func TestReleasedRecordIsShownAsItWas(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/faults.o", target(t, embedded.Name)), machine.Config{})
	res := run(t, m, "err_submitted_record")
	require.Equal(t, machine.StatusFault, res.Status)
	assert.Regexp(t, `^insn \d+ \(faults.bpf.c:202: bpf_ringbuf_submit\(r, 0\);\)$`, res.Fault.Released)
	require.Len(t, res.Events, 1)
	assert.Len(t, res.Fault.Last, 64)
	assert.Equal(t, res.Events[0].Data, res.Fault.Last)
	res = run(t, m, "err_map_value_end")
	assert.Empty(t, res.Fault.Released)
	assert.Nil(t, res.Fault.Last)
}

// TestAStoppedProgramHoldsNothing: what a program held when it was stopped is free for those after
// it.
func TestAStoppedProgramHoldsNothing(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/abandoned.o", target(t, embedded.Name)), machine.Config{})
	for _, tt := range []struct{ err, ok string }{
		{"err_keeps_lock", "ok_takes_lock"},
		{"err_keeps_record", "ok_sends_record"},
	} {
		t.Run(tt.err, func(t *testing.T) {
			for range 3 {
				res := run(t, m, tt.err)
				require.Equal(t, machine.StatusFault, res.Status)
				assert.Equal(t, vm.LeakedReference, res.Fault.Kind)
				res = run(t, m, tt.ok)
				require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
				assert.Equal(t, uint64(0), res.Ret)
				assert.Equal(t, tt.ok == "ok_sends_record", len(res.Events) == 1)
			}
		})
	}
}

// TestEverySinIsStopped: each program of the fixture named err_ breaks one rule; those named ok_
// and warn_ run.
func TestEverySinIsStopped(t *testing.T) {
	for _, object := range []string{"faults.o", "silent.o"} {
		m := compose(t, load(t, "../../testdata/objects/clang-14/"+object, target(t, embedded.Name)), machine.Config{MaxInsns: 1 << 20})
		for _, name := range m.Names() {
			t.Run(name, func(t *testing.T) {
				res := run(t, m, name)
				switch {
				case strings.HasPrefix(name, "err_"):
					assert.Contains(t, []machine.Status{machine.StatusFault, machine.StatusRefused, machine.StatusNotSimulated}, res.Status)
					assert.True(t, res.Fault != nil || m.ProgramError(name) != nil)
				case strings.HasPrefix(name, "ok_"):
					assert.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
					assert.Empty(t, res.StackReads)
				}
			})
		}
	}
}

// TestGuardedRunsEverywhere: relocations that fail behind a question are dead code, and their
// poison is never reached.
func TestGuardedRunsEverywhere(t *testing.T) {
	onKernels(t, func(t *testing.T, tgt *loader.Target) {
		if tgt.Arch == "s390" {
			t.Skip("another byte order")
		}
		linked := load(t, "../../examples/guarded/guarded.bpf.o", tgt)
		m := compose(t, linked, machine.Config{Seed: 4})
		res := run(t, m, "on_exit")
		require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
		require.Len(t, res.Changes, 1)
		poisoned := 0
		for _, v := range linked.Programs[0].PoisonVerdicts() {
			poisoned++
			assert.Equal(t, loader.Dead, v.Verdict, "insn %d", v.Insn)
		}
		assert.NotZero(t, poisoned, "no kernel has everything the example asks for")
	})
}

// TestMissingFieldRefuses: a program that reaches a field its kernel lacks is refused by name, with
// what exists instead.
func TestMissingFieldRefuses(t *testing.T) {
	linked := load(t, "../../testdata/objects/clang-14/missing.o", target(t, embedded.Name))
	m := compose(t, linked, machine.Config{})
	res := run(t, m, "on_exit_old")
	assert.Equal(t, machine.StatusRefused, res.Status)
	reason := ""
	if err := m.ProgramError("on_exit_old"); err != nil {
		reason = err.Error()
	}
	if res.Fault != nil {
		reason += res.Fault.Source + res.Fault.Hint
	}
	assert.Contains(t, reason, "missing.bpf.c")
	assert.Contains(t, reason, "has no member state")
	assert.Contains(t, reason, "__state")
	for _, name := range []string{"on_exit_new", "on_exit_maybe", "on_exit_dead", "on_exit_rodata"} {
		assert.Equal(t, machine.StatusOK, run(t, m, name).Status, name)
	}
}
