package vm

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
)

func ins(code, dst, src uint8, off int16, imm int32) decode.Insn {
	return decode.Insn{Code: code, Dst: dst, Src: src, Off: off, Imm: imm}
}

func movImm(dst uint8, imm int32) decode.Insn             { return ins(0xb7, dst, 0, 0, imm) }
func movReg(dst, src uint8) decode.Insn                   { return ins(0xbf, dst, src, 0, 0) }
func addImm(dst uint8, imm int32) decode.Insn             { return ins(0x07, dst, 0, 0, imm) }
func callHelper(id int32) decode.Insn                     { return ins(0x85, 0, 0, 0, id) }
func callLocal(d int32) decode.Insn                       { return ins(0x85, 0, 1, 0, d) }
func loadDW(dst, src uint8, off int16) decode.Insn        { return ins(0x79, dst, src, off, 0) }
func storeDW(dst uint8, off int16, src uint8) decode.Insn { return ins(0x7b, dst, src, off, 0) }
func ja(off int16) decode.Insn                            { return ins(0x05, 0, 0, off, 0) }

var exitInsn = ins(0x95, 0, 0, 0, 0)

func cat(parts ...[]decode.Insn) (out []decode.Insn) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func lddw(dst, src uint8, v uint64) []decode.Insn {
	return []decode.Insn{ins(0x18, dst, src, 0, int32(uint32(v))), ins(0, 0, 0, 0, int32(uint32(v>>32)))}
}

type env struct {
	m     *mem.Memory
	funcs map[int32]*Func
	cfg   LowerConfig
}

func newEnv(t testing.TB) *env {
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return &env{m: m, funcs: map[int32]*Func{}}
}

func (e *env) lower(t testing.TB, insns ...decode.Insn) *Image {
	t.Helper()
	cfg := e.cfg
	cfg.Name, cfg.Insns, cfg.Fuse = "prog", insns, true
	cfg.Call = func(_ int, in decode.Insn) (*Func, error) {
		if f := e.funcs[in.Imm]; f != nil {
			return f, nil
		}
		return nil, errors.New("helper is not simulated")
	}
	img, err := Lower(cfg)
	require.NoError(t, err)
	return img
}

// bothWays runs a program at full speed, by single steps and with an engine that asks the thread for
// everything, and requires the same end.
func (e *env) bothWays(t testing.TB, img *Image, args ...uint64) *Thread {
	t.Helper()
	th := NewThread(e.m, ThreadConfig{})
	th.Start(img, args...)
	s := th.Run(100 << 20)
	step := NewThread(e.m, ThreadConfig{})
	step.Start(img, args...)
	if th.Insns() < 1<<20 {
		require.Equal(t, s, runAll(step, 1, th.Insns()+2), "%v %v", th.Fault(), step.Fault())
		require.Equal(t, th.Insns(), step.Insns())
		require.Equal(t, th.PC(), step.PC())
	}
	asking := NewThread(e.m, ThreadConfig{})
	asking.SetEngine(delegate{})
	asking.Start(img, args...)
	require.Equal(t, s, asking.Run(100<<20), "%v %v", th.Fault(), asking.Fault())
	require.Equal(t, th.Insns(), asking.Insns())
	require.Equal(t, th.PC(), asking.PC())
	return th
}

func TestFaults(t *testing.T) {
	e := newEnv(t)
	ro, err := e.m.Alloc(8, mem.Region{Kind: mem.Global, Name: ".rodata", ReadOnly: true})
	require.NoError(t, err)
	e.funcs[7] = &Func{Name: "deadlock", Fn: func(*Thread, *[5]uint64) (uint64, *Action) {
		return 0, FaultAction(&Fault{Kind: Deadlock, Text: "lock is held"})
	}}
	e.funcs[8] = &Func{Name: "read", Fn: func(th *Thread, args *[5]uint64) (uint64, *Action) {
		if f := th.Memory().Read(args[0], make([]byte, args[1])); f != nil {
			return 0, MemFault(f)
		}
		return 0, nil
	}}
	e.funcs[9] = &Func{Name: "empty fault", Fn: func(*Thread, *[5]uint64) (uint64, *Action) { return 0, FaultAction(nil) }}
	rec := []decode.Insn{callLocal(-1), exitInsn}
	cases := []struct {
		name  string
		insns []decode.Insn
		kind  FaultKind
		mem   mem.FaultKind
		pc    int
		text  string
	}{
		{"null load", []decode.Insn{movImm(1, 0), loadDW(0, 1, 0x60), exitInsn}, Memory, mem.NullPointer, 1, "null pointer plus 96"},
		{"null store", []decode.Insn{movImm(1, 0), storeDW(1, 0x60, 1), exitInsn}, Memory, mem.NullPointer, 1, "store of 8 bytes"},
		{"stack above", []decode.Insn{movImm(0, 0), storeDW(10, 0, 0), exitInsn}, Memory, mem.OutOfBounds, 1, "just past the end of stack"},
		{"stack below", []decode.Insn{movImm(0, 0), storeDW(10, -520, 0), exitInsn}, Memory, mem.OutOfBounds, 1, "8 bytes before the start of stack"},
		{"stack straddle", []decode.Insn{movImm(0, 0), loadDW(0, 10, -4), exitInsn}, Memory, mem.OutOfBounds, 1, "the last 4 bytes"},
		{"second of a pair", []decode.Insn{loadDW(0, 10, -8), loadDW(0, 10, 8), exitInsn}, Memory, mem.OutOfBounds, 1, "8 bytes past"},
		{"read-only", cat(lddw(1, 0, ro.Base), []decode.Insn{storeDW(1, 0, 1), exitInsn}), Memory, mem.ReadOnly, 2, ".rodata is read-only"},
		{"atomic out of bounds", []decode.Insn{ins(0xdb, 10, 1, 8, 0), exitInsn}, Memory, mem.OutOfBounds, 0, "atomic operation of 8 bytes"},
		{"null fetch", []decode.Insn{movImm(1, 0), ins(0xc3, 1, 2, 0, 0x01), exitInsn}, Memory, mem.NullPointer, 1, "atomic operation of 4 bytes"},
		{"read-only atomic", cat(lddw(1, 0, ro.Base), []decode.Insn{ins(0xdb, 1, 2, 0, 0), exitInsn}), Memory, mem.ReadOnly, 2, ".rodata is read-only"},
		{"read-only fetch or", cat(lddw(1, 0, ro.Base), []decode.Insn{ins(0xdb, 1, 2, 0, 0x41), exitInsn}), Memory, mem.ReadOnly, 2, ".rodata is read-only"},
		{"misaligned atomic", []decode.Insn{ins(0xdb, 10, 1, -12, 0), exitInsn}, Memory, mem.Misaligned, 0, "misaligned"},
		{"misaligned xchg", []decode.Insn{ins(0xc3, 10, 1, -10, 0xe1), exitInsn}, Memory, mem.Misaligned, 0, "misaligned"},
		{"misaligned acquire", []decode.Insn{ins(0xdb, 1, 10, -12, 0x100), exitInsn}, Memory, mem.Misaligned, 0, "misaligned"},
		{"poison", []decode.Insn{movImm(0, 0), callHelper(0xbad2310), exitInsn}, Poison, 0, 1, "CO-RE relocation"},
		{"poisoned map", []decode.Insn{callHelper(2001000003), exitInsn}, Poison, 0, 0, "map 3"},
		{"poisoned kfunc", []decode.Insn{callHelper(2002000001), exitInsn}, Poison, 0, 0, "kfunc"},
		{"unknown helper", []decode.Insn{callHelper(12345), exitInsn}, NotSimulated, 0, 0, "helper is not simulated"},
		{"unbound map", cat(lddw(1, 1, 0), []decode.Insn{exitInsn}), NotSimulated, 0, 0, "unresolved reference"},
		{"undefined", []decode.Insn{ins(0xff, 0, 0, 0, 0), exitInsn}, InvalidInsn, 0, 0, "undefined instruction 0xff"},
		{"bad register", []decode.Insn{ins(0xb7, 12, 0, 0, 0), exitInsn}, InvalidInsn, 0, 0, "undefined"},
		{"recursion", rec, CallDepth, 0, 0, "the limit is 8"},
		{"fell off", []decode.Insn{movImm(0, 0)}, BadTarget, 0, 1, "past its last instruction"},
		{"indirect jump", []decode.Insn{movImm(1, 5), ins(0x0d, 1, 0, 0, 0), exitInsn}, BadTarget, 0, 1, "indirect jump to 0x5"},
		{"packet load", []decode.Insn{ins(0x20, 0, 0, 0, 0), exitInsn}, NotSimulated, 0, 0, "without a packet"},
		{"no arena", []decode.Insn{ins(0xbf, 1, 1, 1, 1), exitInsn}, NotSimulated, 0, 0, "without an arena"},
		{"deadlock", []decode.Insn{callHelper(7), exitInsn}, Deadlock, 0, 0, "lock is held"},
		{"helper memory", []decode.Insn{movImm(1, 8), movImm(2, 4), callHelper(8), exitInsn}, Memory, mem.NullPointer, 2, "null pointer plus 8"},
		{"helper without reason", []decode.Insn{callHelper(9), exitInsn}, NotSimulated, 0, 0, "without a reason"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			img := e.lower(t, c.insns...)
			th := e.bothWays(t, img)
			require.Equal(t, Faulted, th.Status())
			f := th.Fault()
			assert.Equal(t, c.kind, f.Kind, f.Error())
			assert.Equal(t, c.pc, f.PC)
			assert.Equal(t, c.pc, th.PC())
			assert.Same(t, img, f.Image)
			assert.Contains(t, f.Error(), c.text)
			if c.mem != 0 {
				require.NotNil(t, f.Mem)
				assert.Equal(t, c.mem, f.Mem.Kind)
				var mf *mem.Fault
				assert.ErrorAs(t, f, &mf)
			}
			assert.Equal(t, Faulted, th.Run(10), "a fault stays")
		})
	}
}

func TestLowerErrors(t *testing.T) {
	for name, insns := range map[string][]decode.Insn{
		"empty":           {},
		"jump past end":   {ja(5), exitInsn},
		"jump before":     {ja(-2), exitInsn},
		"call past end":   {callLocal(9), exitInsn},
		"truncated lddw":  {ins(0x18, 0, 0, 0, 0)},
		"jump into lddw":  cat([]decode.Insn{ja(1)}, lddw(0, 0, 1), []decode.Insn{exitInsn}),
		"address in lddw": cat(lddw(0, 4, 0), []decode.Insn{exitInsn}),
		"gotol too far":   {ins(0x06, 0, 0, 0, 1<<30), exitInsn},
		"call int32 edge": {callLocal(1<<31 - 1), exitInsn},
	} {
		_, err := Lower(LowerConfig{Name: name, Insns: insns})
		var le *LowerError
		assert.ErrorAs(t, err, &le, name)
	}
}

func TestRecover(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, movImm(1, 0), loadDW(0, 1, 8), addImm(0, 1), exitInsn)
	th := NewThread(e.m, ThreadConfig{})
	var seen *Fault
	th.Recover = func(f *Fault) (uint64, bool) { seen = f; return 41, true }
	th.Start(img)
	require.Equal(t, Done, th.Run(100))
	assert.EqualValues(t, 42, th.Ret())
	require.NotNil(t, seen)
	assert.Equal(t, 1, seen.PC)
}

func TestCallsKeepRegisters(t *testing.T) {
	e := newEnv(t)
	// r6 survives, the callee has a stack of its own, arguments and result pass.
	img := e.lower(t,
		movImm(6, 7), movImm(1, 30), storeDW(10, -8, 6), callLocal(3),
		ins(0x0f, 0, 6, 0, 0), loadDW(1, 10, -8), exitInsn,
		movImm(6, 1), storeDW(10, -8, 6), movReg(0, 1), addImm(0, 5), exitInsn)
	th := e.bothWays(t, img)
	require.Equal(t, Done, th.Status(), "%v", th.Fault())
	assert.EqualValues(t, 42, th.Ret())
	assert.EqualValues(t, 7, th.Reg(1))
	assert.EqualValues(t, 12, th.Insns())
	assert.Equal(t, []int{0, 7}, img.Subprograms())
}

// loopN is a helper like bpf_loop: it calls back n times.
type loopN struct{ entry, ctx, i, n uint64 }

func (l loopN) Resume(t *Thread, ret uint64) (uint64, *Action) {
	if ret != 0 || l.i+1 >= l.n {
		return l.i + 1, nil
	}
	l.i++
	return 0, t.Invoke(l.entry, [5]uint64{l.i, l.ctx}, l)
}

func loopHelper(t *Thread, args *[5]uint64) (uint64, *Action) {
	l := loopN{entry: args[1], ctx: args[2], n: args[0]}
	if l.n == 0 {
		return 0, nil
	}
	return 0, t.Invoke(l.entry, [5]uint64{0, l.ctx}, l)
}

// loopProgram sums the loop index n times on its stack through a callback; the callback is at slot
// 12.
func loopProgram(n int32) []decode.Insn {
	return cat([]decode.Insn{movImm(6, 0), storeDW(10, -8, 6), movReg(3, 10), addImm(3, -8), movImm(1, n)},
		lddw(2, 4, uint64(uint32(6))), // function at 5+1+6
		[]decode.Insn{callHelper(181), movReg(7, 0), loadDW(0, 10, -8), ins(0x0f, 0, 6, 0, 0), exitInsn},
		[]decode.Insn{loadDW(0, 2, 0), ins(0x0f, 0, 1, 0, 0), storeDW(2, 0, 0), movImm(6, 99), movImm(0, 0), exitInsn})
}

func TestCallbacks(t *testing.T) {
	e := newEnv(t)
	e.funcs[181] = &Func{Name: "bpf_loop", ID: 181, Fn: loopHelper}
	img := e.lower(t, loopProgram(100)...)
	th := e.bothWays(t, img)
	require.Equal(t, Done, th.Status(), "%v", th.Fault())
	assert.EqualValues(t, 4950, th.Ret())
	assert.EqualValues(t, 100, th.Reg(7))
	assert.EqualValues(t, 11+100*6, th.Insns())

	// Inside the callback there are two ordinary frames.
	th.Start(img)
	require.Equal(t, Budget, th.Run(9))
	fr := th.Frames()
	require.Len(t, fr, 2)
	assert.True(t, fr[0].Callback)
	assert.Equal(t, 8, fr[1].PC)

	// A snapshot in the middle, with its continuation, gives the same end twice.
	require.Equal(t, Budget, th.Run(200))
	ms, ts := e.m.Snapshot(), th.Snapshot()
	for range 2 {
		require.Equal(t, Done, th.Run(1<<20))
		assert.EqualValues(t, 4950, th.Ret())
		assert.EqualValues(t, 11+100*6, th.Insns())
		e.m.Restore(ms)
		th.Restore(ts)
	}

	// A bad callback address is a fault, and so is too deep a nest.
	bad := e.lower(t, movImm(1, 1), movImm(2, 77), callHelper(181), exitInsn)
	th = e.bothWays(t, bad)
	require.Equal(t, Faulted, th.Status())
	assert.Equal(t, BadTarget, th.Fault().Kind)
	middle := e.lower(t, cat([]decode.Insn{movImm(1, 1)}, lddw(2, 4, 4), []decode.Insn{addImm(2, 8), callHelper(181), exitInsn, movImm(0, 0), movImm(0, 0), exitInsn})...)
	th = e.bothWays(t, middle)
	require.Equal(t, Faulted, th.Status())
	assert.Equal(t, BadTarget, th.Fault().Kind)
	th.StartAt(middle, 6)
	assert.NotEqual(t, Faulted, th.Status())
	th.StartAt(middle, 7)
	assert.Equal(t, Faulted, th.Status())
	nest := e.lower(t, cat([]decode.Insn{movImm(1, 1)}, lddw(2, 4, uint64(uint32(0xfffffffe))), []decode.Insn{callHelper(181), exitInsn})...)
	th = e.bothWays(t, nest)
	require.Equal(t, Faulted, th.Status())
	assert.Equal(t, CallDepth, th.Fault().Kind)
	assert.Equal(t, 7, th.Depth())
}

// TestStartAfterRestore: a snapshot may have frames that are not live, or none as before the first
// start.
func TestStartAfterRestore(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, movImm(1, 5), storeDW(10, -8, 1), loadDW(0, 10, -8), exitInsn)
	th := NewThread(e.m, ThreadConfig{})
	idle := th.Snapshot()
	for range 2 {
		th.Start(img)
		require.Equal(t, Done, th.Run(1<<20), "%v", th.Fault())
		assert.EqualValues(t, 5, th.Ret())
		th.Restore(idle)
	}
}

func TestThrow(t *testing.T) {
	e := newEnv(t)
	e.funcs[1] = &Func{Name: "bpf_throw", Fn: func(_ *Thread, args *[5]uint64) (uint64, *Action) { return 0, Throw(args[0]) }}
	prog := []decode.Insn{
		callLocal(2), movImm(0, 1), exitInsn,
		callLocal(1), exitInsn,
		movImm(1, 64), callHelper(1), exitInsn,
		movReg(0, 1), addImm(0, 1), exitInsn,
	}
	th := e.bothWays(t, e.lower(t, prog...))
	require.Equal(t, Done, th.Status())
	assert.EqualValues(t, 64, th.Ret())
	assert.Zero(t, th.Depth())
	e.cfg.ExceptionCallback = 8
	th = e.bothWays(t, e.lower(t, prog...))
	require.Equal(t, Done, th.Status())
	assert.EqualValues(t, 65, th.Ret())
}

// TestThrowEndsTheProgramThatRuns: one that a function of another program tail called, which goes
// on.
func TestThrowEndsTheProgramThatRuns(t *testing.T) {
	for _, callback := range []int{0, 4} {
		e := newEnv(t)
		e.cfg.ExceptionCallback = callback
		e.funcs[1] = &Func{Name: "bpf_throw", Fn: func(_ *Thread, args *[5]uint64) (uint64, *Action) { return 0, Throw(args[0]) }}
		thrower := e.lower(t,
			callLocal(1), exitInsn,
			callHelper(1), exitInsn, // 2: throws r1
			movReg(0, 1), addImm(0, 100), exitInsn, // 4: the callback
		)
		e.cfg.ExceptionCallback = 7
		e.funcs[12] = &Func{Name: "bpf_tail_call", Fn: func(th *Thread, _ *[5]uint64) (uint64, *Action) { return 0, th.TailCall(thrower) }}
		th := e.bothWays(t, e.lower(t,
			movImm(6, 8), callLocal(2), ins(0x0f, 0, 6, 0, 0), exitInsn, // r0 + 8
			movImm(1, 16), callHelper(12), exitInsn, // 4
			movImm(0, 1000), exitInsn, // 7: the callback of this program
		))
		require.Equal(t, Done, th.Status(), "%v", th.Fault())
		want := 24
		if callback > 0 {
			want += 100
		}
		assert.EqualValues(t, want, th.Ret())
		assert.Zero(t, th.Depth())
	}
}

func TestTailCalls(t *testing.T) {
	e := newEnv(t)
	var self *Image
	var other *Image
	e.funcs[12] = &Func{Name: "bpf_tail_call", Fn: func(th *Thread, args *[5]uint64) (uint64, *Action) {
		if args[2] == 0 {
			return 0, th.TailCall(self)
		}
		return 0, th.TailCall(other)
	}}
	// Counts in memory at r1 how often it ran.
	m, err := e.m.Alloc(8, mem.Region{})
	require.NoError(t, err)
	self = e.lower(t, loadDW(2, 1, 0), addImm(2, 1), storeDW(1, 0, 2), movImm(3, 0), callHelper(12), movImm(0, 77), exitInsn)
	th := NewThread(e.m, ThreadConfig{})
	th.Start(self, m.Base)
	require.Equal(t, Done, th.Run(1<<20))
	assert.EqualValues(t, 77, th.Ret(), "falls through at the limit")
	v, _ := e.m.Load(m.Base, 8)
	assert.EqualValues(t, MaxTailCalls+1, v)
	assert.Equal(t, MaxTailCalls, th.TailCalls())

	// From a subprogram, the target returns to the caller, in the caller's image.
	other = e.lower(t, movImm(0, 5), movImm(6, 0), exitInsn)
	caller := e.lower(t, movImm(6, 9), callLocal(2), ins(0x0f, 0, 6, 0, 0), exitInsn, movImm(3, 1), callHelper(12), movImm(0, 1), exitInsn)
	th = e.bothWays(t, caller)
	require.Equal(t, Done, th.Status(), "%v", th.Fault())
	assert.EqualValues(t, 14, th.Ret())
	assert.Same(t, caller, th.Image())
}

func TestMayGoto(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, movImm(0, 0), ins(0xe5, 0, 0, 2, 0), addImm(0, 1), ja(-3), exitInsn)
	th := e.bothWays(t, img)
	require.Equal(t, Done, th.Status())
	assert.EqualValues(t, MaxMayGoto, th.Ret())
	assert.EqualValues(t, 1+3*MaxMayGoto+1+1, th.Insns())
}

func TestGotoX(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, cat(lddw(1, 4, 3), []decode.Insn{ins(0x0d, 1, 0, 0, 0), movImm(0, 1), exitInsn, exitInsn})...)
	// Slot 4 belongs to the function that LD_IMM64 made of it, so the jump leaves the function.
	th := e.bothWays(t, img)
	assert.Equal(t, Faulted, th.Status())
	text := img.FuncAddr(4)
	img = e.lower(t, ins(0x0d, 1, 0, 0, 0), movImm(0, 1), exitInsn, movImm(0, 2), movImm(0, 3), exitInsn)
	_ = text
	th = NewThread(e.m, ThreadConfig{})
	th.Start(img, img.FuncAddr(4))
	require.Equal(t, Done, th.Run(100))
	assert.EqualValues(t, 3, th.Ret())
}

func TestArenaCast(t *testing.T) {
	e := newEnv(t)
	const kern, user uint64 = 0xffffc90000000000, 0x7f0100000000
	w, err := e.m.AddWindow(mem.Window{Base: kern, Size: 1 << 32, Kind: mem.WindowArena, Name: "arena"})
	require.NoError(t, err)
	require.NoError(t, w.Map(kern+0x1000, 4096))
	img := e.lower(t, ins(0xbf, 2, 1, 1, 1), ins(0x7a, 2, 0, 8, 5), loadDW(3, 2, 8), ins(0xbf, 4, 2, 1, 1<<16), movImm(5, 0), ins(0xbf, 5, 5, 1, 1), movReg(0, 3), exitInsn)
	th := NewThread(e.m, ThreadConfig{})
	th.SetArena(kern, user)
	th.Start(img, user+0x1010)
	require.Equal(t, Done, th.Run(100), "%v", th.Fault())
	assert.EqualValues(t, 5, th.Ret())
	assert.EqualValues(t, kern+0x1010, th.Reg(2))
	assert.EqualValues(t, user+0x1010, th.Reg(4))
	assert.Zero(t, th.Reg(5))
}

// TestStartOfAnArena: a pointer to the first byte is null after a cast, and still leads there.
func TestStartOfAnArena(t *testing.T) {
	const kern, user uint64 = 0xffffc90000000000, 0x7f0100000000
	for _, mapped := range []bool{true, false} {
		e := newEnv(t)
		w, err := e.m.AddWindow(mem.Window{Base: kern, Size: 1 << 32, Kind: mem.WindowArena, Name: "arena"})
		require.NoError(t, err)
		if mapped {
			require.NoError(t, w.Map(kern, 4096))
		}
		fetchAdd := ins(0xdb, 2, 3, 8, 0x01)
		img := e.lower(t, ins(0xbf, 2, 1, 1, 1), ins(0x7a, 2, 0, 8, 5), movImm(3, 2), fetchAdd, loadDW(0, 2, 8), exitInsn)
		th := NewThread(e.m, ThreadConfig{})
		th.SetArena(kern, user)
		th.Start(img, user)
		require.Equal(t, Done, th.Run(100), "%v", th.Fault())
		assert.Zero(t, th.Reg(2))
		want := 7
		if !mapped { // accesses of pages that do not exist are skipped
			want = 0
		}
		assert.EqualValues(t, want, th.Ret())
	}
}

func TestStrictStack(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, loadDW(0, 10, -8), exitInsn)
	th := NewThread(e.m, ThreadConfig{Strict: true})
	th.Start(img)
	require.Equal(t, Faulted, th.Run(100))
	assert.Equal(t, mem.NeverSet, th.Fault().Mem.Kind)
	img = e.lower(t, movImm(1, 3), storeDW(10, -8, 1), loadDW(0, 10, -8), exitInsn)
	th.Start(img)
	require.Equal(t, Done, th.Run(100))
	assert.EqualValues(t, 3, th.Ret())
	// The stack of a function that returned is not readable.
	img = e.lower(t, callLocal(2), loadDW(0, 0, 0), exitInsn, movReg(0, 10), addImm(0, -8), storeDW(0, 0, 0), exitInsn)
	th.Start(img)
	require.Equal(t, Faulted, th.Run(100))
	assert.Equal(t, 1, th.Fault().PC)
}

func TestTarget32(t *testing.T) {
	m, err := mem.New(mem.Config{PointerSize: 4})
	require.NoError(t, err)
	defer m.Close()
	img, err := Lower(LowerConfig{Insns: []decode.Insn{
		movReg(2, 10), ins(0x67, 2, 0, 0, 32), ins(0x4f, 2, 10, 0, 0), // r2 = r10 with junk in the upper half
		movImm(3, 9), storeDW(2, -8, 3), loadDW(0, 10, -8), exitInsn}})
	require.NoError(t, err)
	th := NewThread(m, ThreadConfig{})
	th.Start(img)
	require.Equal(t, Done, th.Run(100), "%v", th.Fault())
	assert.EqualValues(t, 9, th.Ret())
}

func TestBudgetIsExact(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, cat([]decode.Insn{movImm(0, 0)}, lddw(1, 0, 1), []decode.Insn{addImm(0, 1), ins(0x55, 0, 0, -2, 1000), ja(-6)})...)
	th := NewThread(e.m, ThreadConfig{})
	th.Start(img)
	total := uint64(0)
	for n := uint64(0); n < 300; n++ {
		require.Equal(t, Budget, th.Run(n))
		total += n
		require.Equal(t, total, th.Insns())
	}
}

func TestBreakAndCoverage(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, movImm(0, 0), addImm(0, 1), ins(0x55, 0, 0, -2, 1000), ja(1), movImm(0, 7), exitInsn)
	p := NewPatches(true)
	th := NewThread(e.m, ThreadConfig{})
	th.SetPatches(p)
	require.True(t, p.SetBreak(img, 1))
	require.False(t, p.SetBreak(img, 99))
	th.Start(img)
	for i := range 5 {
		require.Equal(t, Break, th.Run(1<<20))
		require.Equal(t, 1, th.PC())
		require.EqualValues(t, i, th.Reg(0))
		require.EqualValues(t, 1+2*i, th.Insns())
	}
	require.Equal(t, Budget, th.Run(1))
	require.Equal(t, Budget, th.Run(1))
	require.Equal(t, Break, th.Run(1))
	p.ClearBreak(img, 1)
	require.Equal(t, Done, th.Run(1<<20))
	assert.EqualValues(t, 1000, th.Ret())
	for pc, want := range []bool{true, true, true, true, false, true} {
		assert.Equal(t, want, p.Covered(img, pc), pc)
	}
	assert.Equal(t, []uint64{0b101111}, p.Coverage(img))
	assert.Zero(t, p.Breaks(img))
}

func TestStopAndSuspend(t *testing.T) {
	e := newEnv(t)
	e.funcs[1] = &Func{Fn: func(*Thread, *[5]uint64) (uint64, *Action) { return 5, StopAction("yield") }}
	e.funcs[2] = &Func{Fn: func(th *Thread, _ *[5]uint64) (uint64, *Action) { th.Suspend("watch"); return 6, nil }}
	e.funcs[3] = &Func{Fn: func(th *Thread, _ *[5]uint64) (uint64, *Action) { return uint64(th.PC())<<32 | th.Insns(), nil }}
	img := e.lower(t, callHelper(1), callHelper(2), movImm(1, 1), callHelper(3), exitInsn)
	th := NewThread(e.m, ThreadConfig{})
	th.Start(img)
	require.Equal(t, Stopped, th.Run(100))
	assert.Equal(t, "yield", th.StopReason())
	assert.EqualValues(t, 5, th.Reg(0))
	require.Equal(t, Stopped, th.Run(100))
	assert.Equal(t, "watch", th.StopReason())
	assert.Equal(t, 2, th.PC())
	require.Equal(t, Done, th.Run(100))
	assert.EqualValues(t, uint64(3<<32|3), th.Ret())
	assert.EqualValues(t, 5, th.Insns())
}

// TestFusedRules runs random operands through every superinstruction and compares with single
// steps.
func TestFusedRules(t *testing.T) {
	e := newEnv(t)
	r := rand.New(rand.NewPCG(1, 2))
	data, err := e.m.Alloc(60, mem.Region{Name: "data"})
	require.NoError(t, err)
	for i := range fuseRules {
		rule := &fuseRules[i]
		hit := 0
		for try := 0; try < 4000 && hit < 60; try++ {
			code := make([]inst, 8)
			n := 2
			if rule.seq[2] != decode.OpInvalid {
				n = 3
			}
			for k := range code {
				code[k] = inst{op: uint16(decode.OpExit)}
			}
			code[6].op, code[7].op = opEnd, opEnd
			for k := range n {
				c := inst{op: uint16(rule.seq[k]), dst: uint8(r.IntN(3)), src: uint8(r.IntN(3)), imm: uint64(int64(int32(r.Uint32()))) >> (r.IntN(2) * 28) << (r.IntN(2) * 3)}
				if r.IntN(2) == 0 {
					c.imm = uint64(r.IntN(8))
				}
				switch {
				case memOps[rule.seq[k]].kind != memNone:
					c.off = int32(r.IntN(66) - 4)
				default:
					c.off = int32(r.IntN(3)) * instSize
				}
				code[k] = c
			}
			if !rule.matches(code) {
				continue
			}
			fused := fuse(code)
			if fused[0].op != rule.op {
				continue
			}
			hit++
			insns := make([]decode.Insn, 6)
			regs := [3]uint64{}
			for k := range regs {
				regs[k] = []uint64{data.Base, data.Base + 8, uint64(r.IntN(16)), r.Uint64(), 0}[r.IntN(5)]
			}
			run := func(code []inst, slice uint64) (*Thread, string, Stop) {
				img := &Image{insns: insns, plain: code, fused: fused, text: NewText(0), starts: []int{0}}
				for k := range e.m.Bytes(data) {
					e.m.Bytes(data)[k] = byte(k * 37)
				}
				th := NewThread(e.m, ThreadConfig{})
				th.Start(img)
				copy(th.regs[:], regs[:])
				s := runAll(th, slice, 100)
				return th, string(e.m.Bytes(data)), s
			}
			a, am, as := run(code, 100)
			b, bm, bs := run(code, 1)
			require.Equal(t, bs, as, "%v", rule.seq)
			require.Equal(t, b.regs[:10], a.regs[:10], "%v", rule.seq) // r10 differs
			require.Equal(t, bm, am, "%v", rule.seq)
			require.Equal(t, b.insns, a.insns, "%v", rule.seq)
			require.Equal(t, b.pc, a.pc, "%v", rule.seq)
		}
		require.NotZero(t, hit, "rule %d %v never fits", i, rule.seq)
	}
}

// TestEveryOp requires that the loop knows every op: none may end as unknown.
func TestEveryOp(t *testing.T) {
	e := newEnv(t)
	for op := decode.OpInvalid + 1; op < decode.NumOps; op++ {
		switch kindOf(op) {
		case lowerImm64, lowerCallFunc, lowerCallX:
			continue // lowered to others
		}
		code := []inst{{op: uint16(op), imm: 1}, {op: uint16(decode.OpExit)}, {op: opEnd}, {op: opEnd}}
		img := &Image{insns: make([]decode.Insn, 2), plain: code, fused: code, text: NewText(0), starts: []int{0}}
		th := NewThread(e.m, ThreadConfig{})
		th.Start(img)
		th.Run(50)
		if f := th.Fault(); f != nil {
			assert.NotEqual(t, InvalidInsn, f.Kind, "op %d: %v", op, f)
		}
	}
}

// TestCoverageEndsWithTheProgram: programs that run past their end, in one go and by single steps,
// record their instructions and no more.
func TestCoverageEndsWithTheProgram(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 128} {
		for _, slice := range []uint64{1, 1 << 20} {
			m, err := mem.New(mem.Config{})
			require.NoError(t, err)
			img, err := Lower(LowerConfig{Insns: slices.Repeat([]decode.Insn{movImm(0, 1)}, n)})
			require.NoError(t, err)
			th, p := NewThread(m, ThreadConfig{}), NewPatches(true)
			th.SetPatches(p)
			th.Start(img)
			require.Equal(t, Faulted, runAll(th, slice, 3000))
			covered := 0
			for _, w := range p.Coverage(img) {
				covered += bits.OnesCount64(w)
			}
			assert.Equal(t, n, covered, "%d instructions, slices of %d", n, slice)
			m.Close()
		}
	}
}

// FuzzRun feeds arbitrary bytes: no panic, no host memory touched, the budget kept, and the same
// end fused, plain and by single steps.
func FuzzRun(f *testing.F) {
	f.Add([]byte{0xb7, 0, 0, 0, 1, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0}, uint64(0))
	for _, name := range benchPrograms {
		_, img, _ := loadBench(f, name, false)
		var b []byte
		for _, in := range img.insns {
			b = append(b, in.Code, in.Dst|in.Src<<4)
			b = binary.LittleEndian.AppendUint16(b, uint16(in.Off))
			b = binary.LittleEndian.AppendUint32(b, uint32(in.Imm))
		}
		f.Add(b, uint64(5))
	}
	f.Fuzz(func(t *testing.T, code []byte, seed uint64) {
		insns, err := decode.Unmarshal(code[:len(code)&^7], binary.LittleEndian)
		if err != nil {
			return
		}
		type result struct {
			stop  Stop
			regs  [256]uint64
			insns uint64
			pc    int
			data  string
			fault string
		}
		var first *result
		for _, md := range []mode{{"fused", true, false, 1 << 20}, {"plain", false, false, 1 << 20}, {"step", true, false, 1}, {"cover", true, true, 97}} {
			m, err := mem.New(mem.Config{})
			require.NoError(t, err)
			r, err := m.Alloc(100, mem.Region{})
			require.NoError(t, err)
			for i := range m.Bytes(r) {
				m.Bytes(r)[i] = byte(uint64(i) * seed)
			}
			loop := &Func{Fn: loopHelper}
			img, err := Lower(LowerConfig{Insns: insns, Fuse: md.fuse, Call: func(_ int, in decode.Insn) (*Func, error) {
				if in.Imm == 181 {
					return loop, nil
				}
				return nil, errors.New("none")
			}})
			if err != nil {
				m.Close()
				return
			}
			th := NewThread(m, ThreadConfig{})
			th.Skb = func(_ *Thread, off int32, size int) (uint64, bool) { return uint64(off), off < 64 }
			if md.cover {
				th.SetPatches(NewPatches(true))
			}
			th.Start(img, r.Base, 100)
			res := result{stop: runAll(th, md.slice, 3000), regs: th.regs, insns: th.Insns(), pc: th.PC(), data: string(m.Bytes(r))}
			require.LessOrEqual(t, th.Insns(), uint64(3000))
			if th.Fault() != nil {
				res.fault = th.Fault().Error()
			}
			m.Close()
			if first == nil {
				first = &res
			} else {
				require.Equal(t, *first, res, md.name)
			}
		}
	})
}
