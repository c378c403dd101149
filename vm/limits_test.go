package vm

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// TestWhereIndirectJumpsLead: to instructions of the running function.
func TestWhereIndirectJumpsLead(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, cat([]decode.Insn{
		callLocal(1), exitInsn,
		movImm(0, 7), ins(0x0d, 1, 0, 0, 0), exitInsn, // 2: jumps to r1
	}, lddw(0, 0, 8), []decode.Insn{exitInsn, // 5 to 7
		callLocal(0), movImm(0, 9), exitInsn})...) // 8: main's end, 9: another function
	other := e.lower(t, exitInsn)
	for to, want := range map[int]uint64{4: 7, 5: 8, 7: 7} {
		th := e.bothWays(t, img, img.FuncAddr(to))
		require.Equal(t, Done, th.Status(), "slot %d: %v", to, th.Fault())
		assert.EqualValues(t, want, th.Ret(), "slot %d", to)
	}
	for name, addr := range map[string]uint64{
		"the caller": img.FuncAddr(1), "the slot before": img.FuncAddr(2) - slotSize, "another function": img.FuncAddr(9), "its second instruction": img.FuncAddr(10),
		"a second slot": img.FuncAddr(6), "between slots": img.FuncAddr(4) + 1, "behind the program": img.FuncAddr(11), "another program": other.FuncAddr(0), "nowhere": 0,
	} {
		th := e.bothWays(t, img, addr)
		require.Equal(t, Faulted, th.Status(), name)
		assert.Equal(t, BadTarget, th.Fault().Kind, name)
	}
	// A loop to the function's first instruction ends with its budget.
	th := NewThread(e.m, ThreadConfig{})
	th.Start(img, img.FuncAddr(2))
	assert.Equal(t, Budget, th.Run(1000), "%v", th.Fault())
}

// TestEndsOfPoison: libbpf marks what it could not resolve with numbers of two ranges.
func TestEndsOfPoison(t *testing.T) {
	e := newEnv(t)
	for id, want := range map[int32]FaultKind{
		poisonCall - 1: NotSimulated, poisonCall: Poison, poisonCall + 1: NotSimulated,
		2001000000 - 1: NotSimulated, 2001000000: Poison, 2001999999: Poison,
		2002000000: Poison, 2002999999: Poison, 2003000000: NotSimulated,
	} {
		th := e.bothWays(t, e.lower(t, callHelper(id), exitInsn))
		require.Equal(t, Faulted, th.Status())
		assert.Equal(t, want, th.Fault().Kind, "%d", id)
	}
	for id, want := range map[int32]string{2001999999: "map 999999", 2002000000: "extern 0"} {
		assert.Contains(t, e.bothWays(t, e.lower(t, callHelper(id), exitInsn)).Fault().Text, want)
	}
	// Those are numbers of helpers: kfuncs have any.
	kfunc := ins(0x85, 0, 2, 0, 2001000000)
	assert.Equal(t, NotSimulated, e.bothWays(t, e.lower(t, kfunc, exitInsn)).Fault().Kind)
	e.funcs[2001000000] = &Func{Name: "kfunc", Fn: func(*Thread, *[5]uint64) (uint64, *Action) { return 5, nil }}
	assert.EqualValues(t, 5, e.bothWays(t, e.lower(t, kfunc, exitInsn)).Ret())
}

// TestAddressesOfFunctions: an address of a function has to be one of the program's slots; it is
// only wrong when the program gets there.
func TestAddressesOfFunctions(t *testing.T) {
	e := newEnv(t)
	for d, want := range map[int32]bool{-2: false, -1: true, 1: true, 2: true, 3: false} { // slots -1, 0, 2, 3 and 4
		img := e.lower(t, cat(lddw(0, 4, uint64(uint32(d))), []decode.Insn{exitInsn, exitInsn})...)
		th := e.bothWays(t, img)
		if !want {
			require.Equal(t, Faulted, th.Status(), "%d", d)
			assert.Equal(t, BadTarget, th.Fault().Kind)
			continue
		}
		require.Equal(t, Done, th.Status(), "%d: %v", d, th.Fault())
		assert.Equal(t, img.FuncAddr(int(d)+1), th.Ret())
		assert.Contains(t, img.Subprograms(), int(d)+1)
	}
}

// TestTrapsHaveNoTargets: an undefined instruction faults when it is reached, wherever it would
// jump to.
func TestTrapsHaveNoTargets(t *testing.T) {
	e := newEnv(t)
	for _, in := range []decode.Insn{
		ins(0x15, 12, 0, 1, 0), // a jump on r12, to the middle of the load below
		ins(0x18, 12, 4, 0, 2), // the address of it, in r12
	} {
		insns := []decode.Insn{in}
		if in.Code == 0x18 {
			insns = append(insns, ins(0, 0, 0, 0, 0))
		}
		th := e.bothWays(t, e.lower(t, append(insns, append(lddw(0, 0, 1), exitInsn)...)...))
		require.Equal(t, Faulted, th.Status())
		assert.Equal(t, InvalidInsn, th.Fault().Kind)
	}
}

// TestWhereExceptionsLead: to the callback if a function may begin there, else they end the program.
func TestWhereExceptionsLead(t *testing.T) {
	e := newEnv(t)
	e.funcs[1] = &Func{Name: "bpf_throw", Fn: func(_ *Thread, args *[5]uint64) (uint64, *Action) { return 0, Throw(args[0]) }}
	for callback, want := range map[int]uint64{-1: 64, 0: 64, 3: 2, 4: 2, 5: 64, 6: 0, 7: 64, 99: 64} {
		e.cfg.ExceptionCallback = callback
		img := e.lower(t, cat([]decode.Insn{movImm(1, 64), callHelper(1), exitInsn,
			addImm(1, -1)}, lddw(0, 0, 2), []decode.Insn{exitInsn})...) // 3: falls into 4, the second slot is 5
		th := e.bothWays(t, img)
		require.Equal(t, Done, th.Status(), "callback at %d: %v", callback, th.Fault())
		assert.Equal(t, want, th.Ret(), "callback at %d", callback)
	}
}

// TestBudgetsWithoutAnEnd: the largest budget does not overflow in the middle of a run.
func TestBudgetsWithoutAnEnd(t *testing.T) {
	e := newEnv(t)
	th := NewThread(e.m, ThreadConfig{})
	th.Start(e.lower(t, movImm(0, 1), addImm(0, 1), exitInsn))
	require.Equal(t, Budget, th.Run(1))
	require.Equal(t, Done, th.Run(math.MaxUint64))
	assert.EqualValues(t, 2, th.Ret())
}

// TestFreedStacks: a thread whose stacks were freed gets new ones.
func TestFreedStacks(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, storeDW(10, -8, 1), callLocal(2), loadDW(0, 10, -8), exitInsn, movImm(1, 0), storeDW(10, -8, 1), exitInsn)
	for _, strict := range []bool{false, true} {
		th := NewThread(e.m, ThreadConfig{Strict: strict})
		for n := range uint64(4) {
			th.Start(img, n)
			require.Equal(t, Budget, th.Run(4))
			frames := th.Frames()
			require.Equal(t, Done, th.Run(100), "%v", th.Fault())
			assert.Equal(t, n, th.Ret())
			e.m.Free(frames[n%2].Stack)
		}
	}
}

// TestFaultsOfWhatIsNotSimulated: memory that is not simulated is no mistake of the program.
func TestFaultsOfWhatIsNotSimulated(t *testing.T) {
	e := newEnv(t)
	for kind, want := range map[mem.FaultKind]FaultKind{mem.NotSimulated: NotSimulated, mem.NullPointer: Memory} {
		e.funcs[1] = &Func{Name: "read", Fn: func(*Thread, *[5]uint64) (uint64, *Action) { return 0, MemFault(&mem.Fault{Kind: kind}) }}
		th := e.bothWays(t, e.lower(t, callHelper(1), exitInsn))
		require.Equal(t, Faulted, th.Status())
		assert.Equal(t, want, th.Fault().Kind)
	}
	th := NewThread(e.m, ThreadConfig{})
	th.Start(e.lower(t, exitInsn))
	th.Abort(&Fault{Kind: Memory})
	assert.Equal(t, Memory, th.Fault().Kind, "without more about it")
}

// TestInterpretingSomeInstructions: as many as asked for, if all of them just go on.
func TestInterpretingSomeInstructions(t *testing.T) {
	e := newEnv(t)
	e.funcs[1] = &Func{Name: "suspend", Fn: func(th *Thread, _ *[5]uint64) (uint64, *Action) { th.Suspend("here"); return 6, nil }}
	e.funcs[2] = &Func{Name: "stop", Fn: func(*Thread, *[5]uint64) (uint64, *Action) { return 6, StopAction("here") }}
	add, load := addImm(0, 1), loadDW(0, 1, 0)
	for _, tt := range []struct {
		name  string
		insns []decode.Insn
		n     uint64
		want  bool
	}{
		{"nothing", []decode.Insn{exitInsn}, 0, true},
		{"all of them", []decode.Insn{add, add, exitInsn}, 2, true},
		{"the end", []decode.Insn{add, add, exitInsn}, 3, false},
		{"a fault", []decode.Insn{add, load, exitInsn}, 2, false},
		{"before a fault", []decode.Insn{add, load, exitInsn}, 1, true},
		{"a suspension takes effect later", []decode.Insn{add, callHelper(1), add, exitInsn}, 3, true},
		{"a call that stops", []decode.Insn{add, callHelper(2), add, exitInsn}, 2, false},
	} {
		th := NewThread(e.m, ThreadConfig{})
		th.Start(e.lower(t, tt.insns...))
		assert.Equal(t, tt.want, th.Interpret(tt.n), tt.name)
		if tt.want {
			assert.Equal(t, tt.n, th.Insns(), tt.name)
		}
	}
}
