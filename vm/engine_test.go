package vm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// delegate is an Engine that asks the thread for each call, access and exit, and leaves everything
// else to it, as native code does where it cannot go on.
type delegate struct{}

func (delegate) Name() string { return "delegate" }

func (delegate) Run(t *Thread, limit uint64) bool {
	for range limit {
		goes := false
		switch s := t.Image().Slot(t.PC()); {
		case s.Kind() == SlotCall:
			goes = t.CallFunc()
		case s.Kind() != SlotPlain:
		case s.Op() == decode.OpExit:
			goes = t.LeaveFunc()
		default:
			goes = t.Access()
		}
		if !goes {
			return true
		}
	}
	return true
}

// TestEnginesThatAskForEverything: budgets, stops and counts are exact whoever executes what.
func TestEnginesThatAskForEverything(t *testing.T) {
	e := newEnv(t)
	stops := 0
	e.funcs[1] = &Func{Name: "suspend", Fn: func(th *Thread, _ *[5]uint64) (uint64, *Action) {
		th.Suspend("here")
		stops++
		return 6, nil
	}}
	e.funcs[2] = &Func{Name: "wait", Fn: func(*Thread, *[5]uint64) (uint64, *Action) {
		if stops++; stops%2 == 0 {
			return 0, WaitAction("for it")
		}
		return 8, nil
	}}
	img := e.lower(t, movImm(6, 3), storeDW(10, -8, 6), callLocal(5), callHelper(1), callHelper(2), ins(0x0f, 0, 6, 0, 0), loadDW(1, 10, -8), exitInsn,
		movImm(6, 1), callHelper(1), exitInsn)
	type state struct {
		stop        Stop
		pc          int
		insns, r0   uint64
		why         string
		depth, then int
	}
	run := func(slice uint64, engine Engine) (all []state) {
		th := NewThread(e.m, ThreadConfig{})
		th.SetEngine(engine)
		stops = 0
		th.Start(img)
		for range 100 {
			stop := th.Run(slice)
			all = append(all, state{stop, th.PC(), th.Insns(), th.Ret(), th.StopReason(), th.Depth(), stops})
			if stop == Done {
				break
			}
		}
		return all
	}
	for _, slice := range []uint64{1, 2, 3, 100} {
		want := run(slice, nil)
		assert.Equal(t, Done, want[len(want)-1].stop)
		assert.EqualValues(t, 11, want[len(want)-1].r0)
		assert.Equal(t, want, run(slice, delegate{}), "slices of %d", slice)
	}
}

// TestWatchesStopEngines: a watch that suspends the run does so after the access that an engine
// asked for.
func TestWatchesStopEngines(t *testing.T) {
	e := newEnv(t)
	r, err := e.m.Alloc(8, mem.Region{})
	require.NoError(t, err)
	img := e.lower(t, loadDW(0, 1, 0), addImm(0, 1), exitInsn)
	th := NewThread(e.m, ThreadConfig{})
	th.SetEngine(delegate{})
	e.m.OnWatch = func(mem.Hit) { th.Suspend("watch") }
	e.m.AddWatch(r.Base, 8, true, false)
	th.Start(img, r.Base)
	require.Equal(t, Stopped, th.Run(100))
	assert.Equal(t, 1, th.PC())
	assert.EqualValues(t, 1, th.Insns())
	require.Equal(t, Done, th.Run(100))
	assert.EqualValues(t, 3, th.Insns())
}

// TestRunsWithoutPatchesHaveTheirEngine: breakpoints, and coverage that no engine records, are the
// interpreter's.
func TestRunsWithoutPatchesHaveTheirEngine(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, movImm(0, 1), exitInsn)
	feed := func(p *Patches) *Patches { p.SetFeed(func() {}, func() {}); return p }
	broken := feed(NewPatches(false))
	require.True(t, broken.SetBreak(img, 1))
	cleared := feed(NewPatches(false))
	require.True(t, cleared.SetBreak(img, 1))
	cleared.ClearBreak(img, 1)
	for _, tt := range []struct {
		name    string
		patches *Patches
		want    bool
	}{
		{"none", nil, true},
		{"without a feed", NewPatches(true), false},
		{"with a feed", feed(NewPatches(true)), true},
		{"a breakpoint", broken, false},
		{"one that was removed", cleared, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &repeater{}
			th := NewThread(e.m, ThreadConfig{})
			th.SetEngine(r)
			th.SetPatches(tt.patches)
			th.Start(img)
			th.Run(100)
			assert.Equal(t, tt.want, r.runs > 0, "Run")
			ended, _ := th.Again(img, 5, 100)
			assert.Equal(t, tt.want, ended == 5, "Again")
			th.Start(img)
			begun := th.Stream(100, func(uint64, uint64) (uint64, bool) { return 0, false })
			assert.Equal(t, !tt.want, begun, "Stream")
		})
	}
}

// repeater is an Engine that claims to execute whole runs, of three instructions each.
type repeater struct {
	delegate
	runs int
	most int // runs of Again that end, 0 for all
}

func (r *repeater) Run(t *Thread, limit uint64) bool { r.runs++; return r.delegate.Run(t, limit) }

func (r *repeater) Again(_ *Thread, n int, _ uint64) (int, uint64) {
	if r.most != 0 {
		n = min(n, r.most)
	}
	return n, 3 * uint64(n)
}

func (r *repeater) Stream(*Thread, uint64, func(uint64, uint64) (uint64, bool)) bool { return false }

// TestRunsAgain: the stack is what the last run left, registers are not; what an engine did not end
// goes on.
func TestRunsAgain(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, loadDW(0, 10, -8), addImm(0, 1), storeDW(10, -8, 0), addImm(6, 1), movReg(1, 6), exitInsn)
	th := NewThread(e.m, ThreadConfig{})
	th.Start(img)
	require.Equal(t, Done, th.Run(100))
	for n := range 4 {
		ended, insns := th.Again(img, 1, 100)
		require.Zero(t, ended, "nobody executes whole runs")
		require.Zero(t, insns)
		require.Equal(t, Done, th.Run(100))
		assert.EqualValues(t, n+2, th.Ret(), "on the same stack")
		assert.EqualValues(t, 1, th.Reg(6))
		assert.EqualValues(t, 6, th.Insns())
	}
	th.Start(img)
	require.Equal(t, Done, th.Run(100))
	assert.EqualValues(t, 1, th.Ret(), "a start begins with an empty stack")

	r := &repeater{}
	th.SetEngine(r)
	ended, insns := th.Again(img, 4, 100)
	assert.Equal(t, 4, ended)
	assert.EqualValues(t, 12, insns)
	assert.Equal(t, Done, th.Status())
	r.most = 2
	ended, _ = th.Again(img, 4, 100)
	assert.Equal(t, 2, ended)
	assert.Equal(t, Budget, th.Status(), "the third run has begun")
	require.Equal(t, Done, th.Run(100))

	th.Start(img)
	assert.False(t, th.Stream(100, nil), "it made all runs to their ends")
	assert.Equal(t, Done, th.Status())

	// In the middle of a run there is nothing to stream.
	th.SetEngine(nil)
	th.Start(img)
	require.Equal(t, Budget, th.Run(1))
	th.SetEngine(r)
	assert.True(t, th.Stream(100, nil))
	th.SetEngine(delegate{})
	th.Start(img)
	assert.True(t, th.Stream(100, nil), "not with an engine that cannot")
	th.SetEngine(r)
	th.Start(&Image{starts: []int{0}}, 0)
	th.Start(img)
	th.Abort(&Fault{Kind: TimedOut})
	assert.True(t, th.Stream(100, nil), "nor after a fault")
}

// TestWhatEnginesLearnOfStacks: the stack of the running function, and those that its callees had.
func TestWhatEnginesLearnOfStacks(t *testing.T) {
	e := newEnv(t)
	e.funcs[1] = &Func{Name: "stop", Fn: func(*Thread, *[5]uint64) (uint64, *Action) { return 0, StopAction("here") }}
	img := e.lower(t, callLocal(1), exitInsn, callHelper(1), exitInsn)
	th := NewThread(e.m, ThreadConfig{})
	assert.Zero(t, th.StackEnd(), "nothing was started")
	var fps [MaxFrames + 1]uint64
	count := func() (n int) {
		for i := range fps {
			fps[i] = 99
		}
		th.Stacks(&fps)
		for fps[n] != 0 {
			n++
		}
		return n
	}
	assert.Zero(t, count())
	th.Start(img)
	assert.Equal(t, th.Reg(10), th.StackEnd())
	assert.Equal(t, 1, count())
	require.Equal(t, Stopped, th.Run(100))
	assert.Equal(t, th.Reg(10), th.StackEnd())
	assert.Equal(t, 1, count(), "the caller's is not a callee's")
	assert.Equal(t, th.Reg(10), fps[0])
	stack := th.Frames()[0].Stack
	require.Equal(t, Done, th.Run(100))
	assert.Equal(t, 2, count())
	th.Furnish(MaxFrames)
	assert.Equal(t, MaxFrames, count())
	e.m.Free(stack)
	assert.Equal(t, 1, count(), "only memory that lives")
	e.m.Free(th.Frames()[0].Stack)
	assert.Zero(t, th.StackEnd())
	th.Start(img) // with new ones
	assert.Equal(t, th.Reg(10), th.StackEnd())
	require.Equal(t, Stopped, th.Run(100), "%v", th.Fault())
	th.SetReg(10, 5)
	assert.Zero(t, th.StackEnd(), "r10 is not the stack's end")
}

// TestFunctionsOfCalls: what a call is bound to.
func TestFunctionsOfCalls(t *testing.T) {
	e := newEnv(t)
	plain := &Func{Name: "plain", Fn: func(*Thread, *[5]uint64) (uint64, *Action) { return 0, nil }}
	quick := &Func{Name: "quick", Fn: plain.Fn, Inline: &Inline{}}
	e.funcs[1], e.funcs[2] = plain, quick
	img := e.lower(t, callHelper(1), callHelper(2), callHelper(3), movImm(0, 0), exitInsn)
	for pc, want := range map[int]*Func{-1: nil, 0: plain, 1: quick, 2: nil, 3: nil, 5: nil} {
		assert.Same(t, want, img.Func(pc), "slot %d", pc)
	}
	assert.True(t, img.Inlines())
	assert.True(t, e.lower(t, callHelper(2), callHelper(1), exitInsn).Inlines())
	assert.False(t, e.lower(t, callHelper(1), exitInsn).Inlines())
}

// TestWhichSequencesAreFused: a rule's conditions are on the registers of its instructions, and what
// it has no condition for may be any.
func TestWhichSequencesAreFused(t *testing.T) {
	seq := [3]decode.Op{decode.OpMov64Reg, decode.OpAdd64Reg, decode.OpMov64Reg}
	type regs struct{ adst, bdst, bsrc, ddst, dsrc uint8 }
	for _, c := range []struct {
		cond fuseCond
		yes  []regs
		no   []regs
	}{
		{0, []regs{{1, 1, 1, 1, 1}, {1, 2, 3, 4, 5}}, nil},
		{sameDst, []regs{{1, 1, 2, 3, 3}}, []regs{{1, 2, 2, 3, 3}}},
		{otherDst, []regs{{1, 2, 2, 3, 3}}, []regs{{1, 1, 2, 3, 3}}},
		{otherSrc, []regs{{1, 1, 2, 3, 3}}, []regs{{1, 1, 1, 3, 3}}},
		{srcIsDst, []regs{{1, 2, 1, 3, 3}}, []regs{{1, 2, 2, 3, 3}}},
		{thirdSrcIsDst, []regs{{1, 2, 2, 3, 1}}, []regs{{1, 2, 2, 1, 3}}},
		{thirdSameDst, []regs{{1, 2, 2, 1, 3}}, []regs{{1, 2, 2, 3, 1}}},
		{thirdDstIsDst, []regs{{1, 2, 2, 1, 3}}, []regs{{1, 2, 2, 1, 1}, {1, 2, 2, 3, 3}}},
		{sameDst | thirdSameDst, []regs{{1, 1, 2, 1, 3}}, []regs{{1, 1, 2, 3, 1}, {1, 2, 2, 1, 3}}},
	} {
		r := fuseRule{seq: seq, cond: c.cond}
		code := func(x regs) []inst {
			return []inst{{op: uint16(seq[0]), dst: x.adst}, {op: uint16(seq[1]), dst: x.bdst, src: x.bsrc}, {op: uint16(seq[2]), dst: x.ddst, src: x.dsrc}}
		}
		for _, x := range c.yes {
			assert.True(t, r.matches(code(x)), "%b: %+v", c.cond, x)
		}
		for _, x := range c.no {
			assert.False(t, r.matches(code(x)), "%b: %+v", c.cond, x)
		}
		other := code(c.yes[0])
		other[2].op = uint16(decode.OpExit)
		assert.False(t, r.matches(other), "another third instruction")
		r.seq[2] = decode.OpInvalid
		assert.True(t, r.matches(other), "a pair")
	}
}
