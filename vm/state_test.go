package vm

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// TestInWhatRunsDiffer: of two runs of one program that stopped somewhere, the first difference is
// named.
func TestInWhatRunsDiffer(t *testing.T) {
	e := newEnv(t)
	var target *Image
	e.funcs[1] = &Func{Name: "stop", Fn: func(*Thread, *[5]uint64) (uint64, *Action) { return 0, StopAction("here") }}
	e.funcs[12] = &Func{Name: "bpf_tail_call", Fn: func(th *Thread, args *[5]uint64) (uint64, *Action) {
		args[0] = 0
		return 0, th.TailCall(target)
	}}
	target = e.lower(t, callHelper(1), exitInsn)
	jne := func(off int16) decode.Insn { return ins(0x55, 1, 0, off, 0) }
	tests := []struct {
		name  string
		insns []decode.Insn
		want  string // of a run with r1 = 0, and one with r1 = 1
	}{
		{"nothing", []decode.Insn{callHelper(1), exitInsn}, "r1 is 0x0, not 0x1"},
		{"places", []decode.Insn{jne(2), callHelper(1), exitInsn, callHelper(1), exitInsn}, "at prog slot 2, not prog slot 4"},
		{"programs", []decode.Insn{jne(2), callHelper(1), exitInsn, callHelper(12), exitInsn}, "at prog slot 2, not prog slot 1"},
		{"instructions", []decode.Insn{jne(1), movImm(2, 0), callHelper(1), exitInsn}, "3 instructions executed, not 2"},
		{"depth", []decode.Insn{
			jne(2), movImm(2, 0), ja(2), callLocal(1), exitInsn, callHelper(1), exitInsn,
		}, "4 instructions executed, not 3"},
		{"depth alone", []decode.Insn{
			jne(1), ja(2), callLocal(1), exitInsn, callHelper(1), exitInsn,
		}, "0 calls deep, not 1"},
		{"where a function returns to", []decode.Insn{
			jne(2), callLocal(3), exitInsn, callLocal(1), exitInsn, movImm(1, 0), callHelper(1), exitInsn,
		}, "frame 1 is {ret 2, saved [0x0 0x0 0x0 0x0], may_goto 8388608}, not {ret 4, saved [0x0 0x0 0x0 0x0], may_goto 8388608}"},
		{"registers of the caller", []decode.Insn{
			movReg(9, 1), movImm(1, 0), callLocal(1), exitInsn, movImm(9, 0), callHelper(1), exitInsn,
		}, "frame 1 is {ret 3, saved [0x0 0x0 0x0 0x0], may_goto 8388608}, not {ret 3, saved [0x0 0x0 0x0 0x1], may_goto 8388608}"},
		{"loops that are left", []decode.Insn{
			jne(1), ja(1), ins(0xe5, 0, 0, 0, 0), movImm(1, 0), callHelper(1), exitInsn,
		}, "frame 0 is {ret 0, saved [0x0 0x0 0x0 0x0], may_goto 8388608}, not {ret 0, saved [0x0 0x0 0x0 0x0], may_goto 8388607}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			img := e.lower(t, tt.insns...)
			at := func(arg uint64) *Snapshot {
				th := NewThread(e.m, ThreadConfig{})
				th.Start(img, arg)
				require.Equal(t, Stopped, th.Run(100), "%v", th.Fault())
				s := th.Snapshot()
				for i := range s.frames { // each thread has stacks of its own
					s.frames[i].fp = 0
				}
				s.regs[10] = 0
				return s
			}
			assert.Empty(t, at(0).Diff(at(0)))
			assert.Equal(t, tt.want, at(0).Diff(at(1)))
		})
	}
}

// TestTailCallsDiffer: two runs at one place, of which one made more tail calls.
func TestTailCallsDiffer(t *testing.T) {
	e := newEnv(t)
	var self *Image
	e.funcs[12] = &Func{Name: "bpf_tail_call", Fn: func(th *Thread, args *[5]uint64) (uint64, *Action) {
		args[0]--
		return 0, th.TailCall(self)
	}}
	e.funcs[1] = &Func{Name: "stop", Fn: func(*Thread, *[5]uint64) (uint64, *Action) { return 0, StopAction("here") }}
	self = e.lower(t, ins(0x15, 1, 0, 1, 0), callHelper(12), callHelper(1), exitInsn)
	th := NewThread(e.m, ThreadConfig{})
	at := func(calls uint64) *Snapshot {
		th.Start(self, calls)
		require.Equal(t, Stopped, th.Run(1000))
		s := th.Snapshot()
		s.insns = 0
		return s
	}
	assert.Equal(t, "2 tail calls, not 1", at(2).Diff(at(1)))
}

// TestTheFirstTailCallThatIsRefused: the one after the 33rd, wherever later ones are.
func TestTheFirstTailCallThatIsRefused(t *testing.T) {
	e := newEnv(t)
	var self *Image
	e.funcs[12] = &Func{Name: "bpf_tail_call", Fn: func(th *Thread, _ *[5]uint64) (uint64, *Action) { return 0, th.TailCall(self) }}
	e.funcs[13] = &Func{Name: "to nothing", Fn: func(th *Thread, _ *[5]uint64) (uint64, *Action) { return 3, th.TailCall(nil) }}
	self = e.lower(t, movImm(2, 0), callHelper(12), callHelper(12), exitInsn)
	th := NewThread(e.m, ThreadConfig{})
	th.Start(self)
	require.Equal(t, Budget, th.Run(2*MaxTailCalls+1))
	assert.Equal(t, MaxTailCalls, th.TailCalls())
	img, _ := th.TailRefused()
	assert.Nil(t, img)
	require.Equal(t, Done, th.Run(100))
	img, pc := th.TailRefused()
	assert.Same(t, self, img)
	assert.Equal(t, 1, pc)

	th.Start(e.lower(t, callHelper(13), addImm(0, 1), exitInsn))
	require.Equal(t, Done, th.Run(100), "%v", th.Fault())
	assert.EqualValues(t, 4, th.Ret(), "the program goes on")
	img, _ = th.TailRefused()
	assert.Nil(t, img, "nothing was above the limit")
}

// TestParkedRuns: a run that is set aside goes on where it was, and others in between have stacks of
// their own.
func TestParkedRuns(t *testing.T) {
	e := newEnv(t)
	e.funcs[1] = &Func{Name: "stop", Fn: func(*Thread, *[5]uint64) (uint64, *Action) { return 0, StopAction("here") }}
	deep := e.lower(t, // stores r1 in two frames, stops, and adds both
		storeDW(10, -8, 1), callLocal(3), loadDW(1, 10, -8), ins(0x0f, 0, 1, 0, 0), exitInsn,
		storeDW(10, -8, 1), callHelper(1), loadDW(0, 10, -8), exitInsn)
	th := NewThread(e.m, ThreadConfig{})
	value := uint64(77)
	th.SetContext(8, []*uint64{&value})
	recovered := 0
	th.Recover = func(*Fault) (uint64, bool) { recovered++; return 0, true }
	th.Start(deep, 20)
	require.Equal(t, Stopped, th.Run(100))
	assert.Equal(t, 2, th.Furnished())
	p := th.Park()
	assert.Equal(t, Idle, th.Run(100), "nothing is there to run")
	assert.Zero(t, th.Furnished())
	assert.Nil(t, th.Recover)
	base, words := th.Context()
	assert.Zero(t, base)
	assert.Nil(t, words)

	th.Start(deep, 1)
	require.Equal(t, Stopped, th.Run(100))
	require.Equal(t, Done, th.Run(100))
	assert.EqualValues(t, 2, th.Ret())

	for range 2 { // memory is not part of what is parked, and this run only reads it from here on
		th.Unpark(p)
		base, words = th.Context()
		assert.EqualValues(t, 8, base)
		assert.Len(t, words, 1)
		require.NotNil(t, th.Recover)
		require.Equal(t, Done, th.Run(100))
		assert.EqualValues(t, 40, th.Ret())
	}
	th.Unpark(p)
	stack := th.Frames()[0].Stack
	require.False(t, stack.Freed)
	th.Park()
	th.Drop(p)
	assert.True(t, stack.Freed)
	assert.Zero(t, recovered)
}

// TestStacksBeforeCalls: functions can be given their stacks before they are called.
func TestStacksBeforeCalls(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, callLocal(1), exitInsn, movReg(0, 10), exitInsn)
	for _, n := range []int{0, 1, 2, MaxFrames, MaxFrames + 1} {
		th := NewThread(e.m, ThreadConfig{})
		th.Start(img)
		fp := th.Reg(10)
		th.Furnish(n)
		assert.Equal(t, min(max(1, n), MaxFrames), th.Furnished(), "%d", n)
		assert.Equal(t, fp, th.Reg(10))
		require.Equal(t, Done, th.Run(100))
		assert.NotEqual(t, fp, th.Ret())
		assert.Equal(t, min(max(2, n), MaxFrames), th.Furnished(), "%d", n)
	}
}

// TestTrackingTheStack: reads of bytes that were never written are found while the thread tracks
// them, in the first frame and in others.
func TestTrackingTheStack(t *testing.T) {
	e := newEnv(t)
	here := e.lower(t, loadDW(0, 10, -8), exitInsn)
	below := e.lower(t, callLocal(1), exitInsn, loadDW(0, 10, -8), exitInsn)
	garbage := [StackSize]byte{StackSize - 8: 9}
	for _, strict := range []bool{false, true} {
		th := NewThread(e.m, ThreadConfig{Strict: strict, Garbage: &garbage})
		for _, on := range []bool{false, true, true, false, false, true} {
			th.Track(on)
			assert.Equal(t, on || strict, th.Tracks())
			for _, img := range []*Image{here, below} {
				th.Start(img)
				if on || strict {
					require.Equal(t, Faulted, th.Run(100))
					assert.Equal(t, mem.NeverSet, th.Fault().Mem.Kind)
				} else {
					require.Equal(t, Done, th.Run(100), "%v", th.Fault())
					assert.EqualValues(t, 9, th.Ret())
				}
			}
		}
	}
}

// TestEachRunBeginsWithAnEmptyStack: what the last run wrote is not written in the next one.
func TestEachRunBeginsWithAnEmptyStack(t *testing.T) {
	e := newEnv(t)
	writes := e.lower(t, storeDW(10, -8, 10), callLocal(1), exitInsn, storeDW(10, -8, 10), exitInsn)
	reads := e.lower(t, loadDW(0, 10, -8), exitInsn)
	calls := e.lower(t, callLocal(1), exitInsn, loadDW(0, 10, -8), exitInsn)
	for _, strict := range []bool{false, true} {
		th := NewThread(e.m, ThreadConfig{Strict: strict})
		for range 3 {
			for _, img := range []*Image{reads, calls} {
				th.Start(writes)
				require.Equal(t, Done, th.Run(100), "%v", th.Fault())
				th.Start(img)
				if strict {
					require.Equal(t, Faulted, th.Run(100))
					assert.Equal(t, mem.NeverSet, th.Fault().Mem.Kind)
				} else {
					require.Equal(t, Done, th.Run(100), "%v", th.Fault())
					assert.Zero(t, th.Ret())
				}
			}
		}
	}
}

// TestWhereRunsCanGoOn: at each instruction of the running function, and nowhere else.
func TestWhereRunsCanGoOn(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, cat([]decode.Insn{callLocal(4)}, lddw(0, 0, 5), []decode.Insn{exitInsn, exitInsn, movImm(0, 6), exitInsn})...)
	th := NewThread(e.m, ThreadConfig{})
	th.Start(img)
	for pc, want := range map[int]bool{-1: false, 0: true, 1: true, 2: false, 3: true, 4: true, 5: false, 6: false, 7: false} {
		assert.Equal(t, want, th.SetPC(pc), "slot %d", pc)
	}
	require.True(t, th.SetPC(1))
	assert.True(t, th.Altered())
	require.Equal(t, Done, th.Run(100))
	assert.EqualValues(t, 5, th.Ret())
	th.Start(img)
	require.Equal(t, Budget, th.Run(1))
	assert.Equal(t, 5, th.PC())
	for pc, want := range map[int]bool{0: false, 4: false, 5: true, 6: true, 7: false} {
		assert.Equal(t, want, th.SetPC(pc), "slot %d, in the function", pc)
	}
}

// TestRegistersOfCallers: of callers, those that a call keeps can be read, and changed except r10.
func TestRegistersOfCallers(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, movReg(6, 1), callLocal(2), movReg(0, 6), exitInsn, movImm(6, 3), exitInsn)
	th := NewThread(e.m, ThreadConfig{})
	_, ok := th.FrameReg(0, 0)
	assert.False(t, ok, "nothing was started")
	th.Start(img, 40)
	require.Equal(t, Budget, th.Run(3))
	for level := -1; level <= 2; level++ {
		for reg := -1; reg <= 11; reg++ {
			known := (level == 0 || level == 1 && reg >= 6) && reg >= 0 && reg <= 10
			v, ok := th.FrameReg(level, reg)
			assert.Equal(t, known, ok, "level %d r%d", level, reg)
			assert.Equal(t, known && reg != 10, th.SetFrameReg(level, reg, v), "level %d r%d", level, reg)
		}
	}
	v, _ := th.FrameReg(1, 6)
	assert.EqualValues(t, 40, v)
	v, _ = th.FrameReg(0, 6)
	assert.EqualValues(t, 3, v)
	require.True(t, th.SetFrameReg(1, 6, 41))
	require.Equal(t, Done, th.Run(100))
	assert.EqualValues(t, 41, th.Ret())
}

// TestOffsetsOfPackets: offsets below 0 are relative to headers.
func TestOffsetsOfPackets(t *testing.T) {
	const link, network = 10, 24
	for _, tt := range []struct {
		off  int32
		at   int
		want bool
	}{
		{0, 0, true}, {5, 5, true}, {1<<31 - 1, 1<<31 - 1, true},
		{-0x100000, network, true}, {-0x100000 + 3, network + 3, true}, {-1, 0x100000 - 1 + network, true},
		{-0x200000, link, true}, {-0x100001, 0x100000 - 1 + link, true},
		{-0x200001, 0, false}, {-1 << 31, 0, false},
	} {
		at, ok := PacketOffset(tt.off, link, network)
		assert.Equal(t, tt.want, ok, "%#x", tt.off)
		assert.Equal(t, tt.at, at, "%#x", tt.off)
	}
	for network, want := range map[int]bool{-1: false, 0: true} {
		_, ok := PacketOffset(-0x100000, 0, network)
		assert.Equal(t, want, ok, "a header that is not there")
	}
}

// TestTextsOfFaults: with what there is to say.
func TestTextsOfFaults(t *testing.T) {
	img := &Image{Name: "prog"}
	null := &mem.Fault{Kind: mem.NullPointer, Size: 8}
	for _, tt := range []struct {
		fault Fault
		want  string
	}{
		{Fault{Kind: Deadlock, PC: 3}, "insn 3: deadlock"},
		{Fault{Kind: Deadlock, PC: 3, Image: &Image{}}, "insn 3: deadlock"},
		{Fault{Kind: Deadlock, PC: 3, Image: img}, "prog insn 3: deadlock"},
		{Fault{Kind: Deadlock, PC: 3, Image: img, Text: "held"}, "prog insn 3: held"},
		{Fault{Kind: Memory, PC: 3, Image: img, Mem: null}, "prog insn 3: " + null.Error()},
		{Fault{Kind: Memory, PC: 3, Image: img, Mem: null, Text: "key"}, "prog insn 3: key: " + null.Error()},
		{Fault{Kind: FaultKind(99)}, "insn 0: fault(99)"},
		{Fault{Kind: FaultKind(0)}, "insn 0: fault(0)"},
	} {
		assert.Equal(t, tt.want, tt.fault.Error())
		var m *mem.Fault
		assert.Equal(t, tt.fault.Mem != nil, errors.As(&tt.fault, &m))
	}
	assert.NotContains(t, FaultKinds(), Memory.String())
	assert.Contains(t, FaultKinds(), BadReturn.String())
	for s, want := range map[Stop]string{0: "?", Done: "done", Idle: "idle", Idle + 1: "?"} {
		assert.Equal(t, want, s.String())
	}
}
