package jit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// startProgs are programs by name, which may tail call each other (helper 12, index in r3), throw
// (1), have a callback called (2) and leave a fault in one (3).
type startProgs map[string]*vm.Image

func newStartProgs(t *testing.T) startProgs {
	t.Helper()
	progs := startProgs{}
	order := []string{"writer", "nothing", "fault", "nested"}
	funcs := map[int32]*vm.Func{
		12: {Name: "tail_call", Fn: func(th *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
			return 0, th.TailCall(progs[order[args[2]]])
		}},
		1: {Name: "throw", Fn: func(*vm.Thread, *[5]uint64) (uint64, *vm.Action) { return 0, vm.Throw(0) }},
		2: {Name: "invoke", Fn: func(_ *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
			return 0, &vm.Action{Kind: vm.ActInvoke, Entry: args[0], Then: returns{}}
		}},
	}
	const reads = `
		r0 = 0
		r2 = r10
		r2 += -512
	l%[1]d:	r3 = *(u64 *)(r2 + 0)
		r0 |= r3
		r2 += 8
		if r2 != r10 goto l%[1]d
		`
	for name, text := range map[string]string{
		"nothing":          "r0 = 0; exit",
		"writer":           "r1 = 1; *(u64 *)(r10 - 8) = r1; *(u64 *)(r10 - 512) = r1; r0 = 0; exit",
		"calls":            "call f; exit\nf: r1 = 1; *(u64 *)(r10 - 8) = r1; *(u64 *)(r10 - 512) = r1; r0 = 0; exit",
		"tail":             "r3 = 0; call 12; exit",
		"callback":         "r1 = func(f); call 2; r0 = 0; exit\nf: r1 = 1; *(u64 *)(r10 - 256) = r1; r0 = 0; exit",
		"tail in function": "r6 = 3; call f; r0 += r6; exit\nf: r1 = 1; *(u64 *)(r10 - 8) = r1; r6 = 5; r3 = 0; call 12; exit",
		"nested":           "r6 = 7; call f; r0 += r6; exit\nf: r6 = 5; r3 = 3; call 12; r0 = 0; exit",
		"fault in tail":    "call f; exit\nf: r3 = 2; call 12; exit",
		"throw":            "call f; exit\nf: r1 = 1; *(u64 *)(r10 - 256) = r1; call 1; exit",
		"fault":            "call f; exit\nf: r1 = 1; *(u64 *)(r10 - 256) = r1; r0 = *(u64 *)(r0 + 0); exit",
		"in callback":      "r1 = func(f); call 2; exit\nf: r1 = 1; *(u64 *)(r10 - 256) = r1; r0 = *(u64 *)(r0 + 0); exit",
		"reads":            fmt.Sprintf(reads, 0) + "r6 = r0; call f; r0 |= r6; exit\nf: " + fmt.Sprintf(reads, 1) + "exit",
	} {
		insns, err := decode.Assemble(text)
		require.NoError(t, err, name)
		img, err := vm.Lower(vm.LowerConfig{Name: name, Insns: insns, Fuse: true, Call: func(_ int, in decode.Insn) (*vm.Func, error) { return funcs[in.Imm], nil }})
		require.NoError(t, err, name)
		progs[name] = img
	}
	return progs
}

type returns struct{}

func (returns) Resume(*vm.Thread, uint64) (uint64, *vm.Action) { return 0, nil }

// TestStartIsFresh holds that a run finds nothing of those before it: all stack is zero, whatever
// wrote to it.
func TestStartIsFresh(t *testing.T) { eachTier(t, testStartIsFresh) }

func testStartIsFresh(t *testing.T) {
	poke := func(t *testing.T, w *rig, depth int) {
		frames := w.thread.Frames()
		require.Greater(t, len(frames), depth)
		b := w.mem.Bytes(frames[len(frames)-1-depth].Stack)
		b[0], b[511] = 1, 1
	}
	progs := newStartProgs(t)
	run := func(t *testing.T, w *rig, name string) vm.Stop {
		t.Helper()
		w.thread.Start(progs[name], 1, 2, 3, 4, 5)
		return w.thread.Run(1 << 20)
	}
	tests := map[string]func(*testing.T, *rig){
		"nothing ran": func(*testing.T, *rig) {},
		"host between instructions": func(t *testing.T, w *rig) {
			w.thread.Start(progs["nothing"])
			w.thread.Run(1)
			poke(t, w, 0)
			w.thread.Run(9)
		},
		"host in a function called": func(t *testing.T, w *rig) {
			w.thread.Start(progs["calls"])
			w.thread.Run(1)
			poke(t, w, 1)
			w.thread.Run(9)
		},
		"host after the end":         func(t *testing.T, w *rig) { run(t, w, "nothing"); poke(t, w, 0) },
		"abandoned in a function":    func(t *testing.T, w *rig) { w.thread.Start(progs["calls"]); w.thread.Run(4) },
		"one without stack between":  func(t *testing.T, w *rig) { run(t, w, "calls"); run(t, w, "nothing") },
		"start outside of a program": func(t *testing.T, w *rig) { run(t, w, "calls"); w.thread.StartAt(progs["reads"], 1000) },
		"thread restored": func(t *testing.T, w *rig) {
			run(t, w, "writer")
			s := w.thread.Snapshot()
			run(t, w, "nothing")
			poke(t, w, 0)
			w.thread.Restore(s)
		},
		"frames freed by restored memory": func(t *testing.T, w *rig) {
			run(t, w, "nothing")
			s := w.mem.Snapshot()
			run(t, w, "calls")
			w.mem.Restore(s)
		},
		"frames written by restored memory": func(t *testing.T, w *rig) {
			run(t, w, "calls")
			s := w.mem.Snapshot()
			run(t, w, "reads")
			run(t, w, "nothing")
			w.mem.Restore(s)
		},
		"first frame freed": func(t *testing.T, w *rig) {
			s := w.mem.Snapshot()
			run(t, w, "calls")
			w.mem.Restore(s)
		},
	}
	for _, name := range []string{"nothing", "writer", "calls", "tail", "tail in function", "nested", "fault in tail", "callback", "throw", "fault", "in callback"} {
		tests[name] = func(t *testing.T, w *rig) { run(t, w, name) }
	}
	for name, before := range tests {
		for _, native := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, native %v", name, native), func(t *testing.T) {
				w := newRig(t)
				if !native {
					w.thread.SetEngine(nil)
				}
				before(t, w)
				for range 3 {
					require.Equal(t, vm.Done, run(t, w, "reads"), "%v", w.thread.Fault())
					assert.Zero(t, w.thread.Ret())
					assert.EqualValues(t, 2*(3+64*4)+5, w.thread.Insns())
					before(t, w)
				}
				w.thread.Start(progs["nothing"], 1, 2, 3, 4, 5, 6)
				for r, want := range []uint64{0, 1, 2, 3, 4, 5, 0, 0, 0, 0} {
					assert.Equal(t, want, w.thread.Reg(r), "r%d", r)
				}
				assert.Zero(t, w.thread.Depth()+w.thread.TailCalls()+int(w.thread.Insns()))
				assert.Nil(t, w.thread.Fault())
				assert.Empty(t, w.thread.StopReason())
			})
		}
	}
}

// TestStartWithoutMemory holds that a closed memory is a fault and no crash, on a thread that has
// run.
func TestStartWithoutMemory(t *testing.T) {
	m, err := mem.New(mem.Config{Size: 16 << 20})
	require.NoError(t, err)
	progs := newStartProgs(t)
	th := vm.NewThread(m, vm.ThreadConfig{})
	th.Start(progs["nothing"])
	require.Equal(t, vm.Done, th.Run(10))
	m.Close()
	for range 2 {
		for _, name := range []string{"nothing", "writer"} {
			th.Start(progs[name])
			require.Equal(t, vm.Faulted, th.Run(10))
			assert.Equal(t, vm.StackOverflow, th.Fault().Kind)
		}
	}
}
