package vm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// levelsRig has a program that counts in memory at r1, calls a function which tail calls the
// program again, and adds what it counted to what comes back. The function's own frame, and r6 of
// each caller, have to survive. At most is when the helper does what deepest says instead.
type levelsRig struct {
	*env
	img     *Image
	counter *mem.Region
	most    int
	deepest func(*Thread) (uint64, *Action)
}

func newLevelsRig(t *testing.T) *levelsRig {
	r := &levelsRig{env: newEnv(t), most: MaxTailCalls + 1}
	r.funcs[12] = &Func{Name: "bpf_tail_call", Fn: func(th *Thread, _ *[5]uint64) (uint64, *Action) {
		if th.TailCalls() == r.most {
			return r.deepest(th)
		}
		return 0, th.TailCall(r.img)
	}}
	var err error
	r.counter, err = r.m.Alloc(8, mem.Region{})
	require.NoError(t, err)
	r.img = r.lower(t,
		loadDW(6, 1, 0), addImm(6, 1), storeDW(1, 0, 6), storeDW(10, -8, 6), // 0
		callLocal(4),                      // 4
		loadDW(2, 10, -8),                 // 5: the caller's stack is its own
		ins(0x0f, 0, 2, 0, 0),             // r0 += r2
		ins(0x0f, 0, 6, 0, 0),             // r0 += r6
		exitInsn,                          // 8
		movImm(2, -1), storeDW(10, -8, 2), // 9: f
		callHelper(12), movImm(0, 0), exitInsn, // 11
	)
	return r
}

// sum is what n programs return: each adds its number twice.
func sum(n int) uint64 { return uint64(n * (n + 1)) }

func (r *levelsRig) start(t *testing.T, th *Thread) {
	t.Helper()
	require.Nil(t, r.m.Store(r.counter.Base, 8, 0))
	th.Start(r.img, r.counter.Base)
}

// TestTailCallsOutOfFunctionsKeepTheirCallers: each program called may make as many calls as the
// first, to the limit of tail calls.
func TestTailCallsOutOfFunctionsKeepTheirCallers(t *testing.T) {
	r := newLevelsRig(t)
	for _, budget := range []uint64{1 << 20, 1, 3} { // in one piece, step by step, in pieces
		th := NewThread(r.m, ThreadConfig{})
		for range 2 {
			r.start(t, th)
			stop := th.Run(budget)
			for ; stop == Budget; stop = th.Run(budget) {
			}
			require.Equal(t, Done, stop, "%v", th.Fault())
			assert.Equal(t, sum(MaxTailCalls+1), th.Ret())
			assert.Zero(t, th.Depth())
			assert.Equal(t, MaxTailCalls, th.TailCalls())
			assert.Same(t, r.img, th.Image())
		}
	}
}

// TestFramesBelowTailCalls: debuggers see all callers, with their registers, and may change them.
func TestFramesBelowTailCalls(t *testing.T) {
	r := newLevelsRig(t)
	const deep = 5
	r.most = deep
	r.deepest = func(th *Thread) (uint64, *Action) { return 0, StopAction("here") }
	th := NewThread(r.m, ThreadConfig{Name: "stack"})
	r.start(t, th)
	require.Equal(t, Stopped, th.Run(1<<20))
	assert.Equal(t, deep+1, th.Depth())
	frames := th.Frames()
	require.Len(t, frames, deep+2)
	stacks := map[uint64]bool{}
	for level, f := range frames {
		assert.Same(t, r.img, f.Image)
		assert.False(t, f.Callback)
		stacks[f.FP] = true
		if level == 0 {
			assert.Equal(t, 12, f.PC)
			continue
		}
		assert.Equal(t, 5, f.PC)
		v, ok := th.FrameReg(level, 6)
		assert.True(t, ok)
		assert.EqualValues(t, deep+2-level, v, "level %d", level)
		fp, ok := th.FrameReg(level, 10)
		assert.True(t, ok)
		assert.Equal(t, f.FP, fp)
	}
	assert.Len(t, stacks, deep+2, "each has a stack")
	_, ok := th.FrameReg(deep+2, 6)
	assert.False(t, ok)
	require.True(t, th.SetFrameReg(deep+1, 6, 1001)) // the first program's, which was 1
	require.Equal(t, Done, th.Run(1<<20), "%v", th.Fault())
	assert.Equal(t, sum(deep+1)+1000, th.Ret())
}

// TestSnapshotsKeepCallersBelowTailCalls: a run goes on from a snapshot as it went on, any number
// of times, also on another thread.
func TestSnapshotsKeepCallersBelowTailCalls(t *testing.T) {
	r := newLevelsRig(t)
	th := NewThread(r.m, ThreadConfig{})
	r.start(t, th)
	require.Equal(t, Budget, th.Run(100))
	require.Greater(t, th.Depth(), MaxFrames)
	s, memory := th.Snapshot(), r.m.Snapshot()
	for _, on := range []*Thread{th, th, NewThread(r.m, ThreadConfig{})} {
		r.m.Restore(memory)
		on.Restore(s)
		assert.Empty(t, on.Snapshot().Diff(s))
		require.Equal(t, Done, on.Run(1<<20), "%v", on.Fault())
		assert.Equal(t, sum(MaxTailCalls+1), on.Ret())
		assert.Zero(t, on.Depth())
	}
}

// TestRunsEndBelowTailCalls: a fault, an exception and a run that nobody continues leave nothing
// behind.
func TestRunsEndBelowTailCalls(t *testing.T) {
	for name, deepest := range map[string]func(*Thread) (uint64, *Action){
		"fault":     func(*Thread) (uint64, *Action) { return 0, FaultAction(&Fault{Kind: BadArgument}) },
		"exception": func(*Thread) (uint64, *Action) { return 0, Throw(7) },
		"stop":      func(*Thread) (uint64, *Action) { return 0, StopAction("here") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newLevelsRig(t)
			th := NewThread(r.m, ThreadConfig{})
			for range 3 {
				r.most, r.deepest = 4, deepest
				r.start(t, th)
				switch stop := th.Run(1 << 20); name {
				case "exception":
					require.Equal(t, Done, stop)
					assert.Equal(t, 7+sum(4), th.Ret(), "it ends the fifth program")
					assert.Zero(t, th.Depth())
				case "fault":
					require.Equal(t, Faulted, stop)
					assert.Equal(t, 5, th.Depth())
				default:
					require.Equal(t, Stopped, stop)
				}
				r.most = MaxTailCalls + 1
				r.start(t, th)
				assert.Zero(t, th.Depth())
				require.Equal(t, Done, th.Run(1<<20), "%v", th.Fault())
				assert.Equal(t, sum(MaxTailCalls+1), th.Ret())
			}
		})
	}
}

// TestProgramsBelowTailCallsHaveTheLimitOfCalls: what a tail call starts may be MaxFrames deep, not
// deeper.
func TestProgramsBelowTailCallsHaveTheLimitOfCalls(t *testing.T) {
	for _, calls := range []int{MaxFrames - 1, MaxFrames} {
		e := newEnv(t)
		// Function n calls function n+1; the last returns 1.
		var insns []decode.Insn
		for range calls {
			insns = append(insns, callLocal(1), exitInsn)
		}
		chain := e.lower(t, append(insns, movImm(0, 1), exitInsn)...)
		e.funcs[12] = &Func{Name: "bpf_tail_call", Fn: func(th *Thread, _ *[5]uint64) (uint64, *Action) { return 0, th.TailCall(chain) }}
		first := e.lower(t, callLocal(1), exitInsn, callLocal(1), exitInsn, callHelper(12), movImm(0, 0), exitInsn)
		th := NewThread(e.m, ThreadConfig{})
		th.Start(first)
		if calls < MaxFrames {
			require.Equal(t, Done, th.Run(1<<20), "%v", th.Fault())
			assert.EqualValues(t, 1, th.Ret())
			continue
		}
		require.Equal(t, Faulted, th.Run(1<<20))
		assert.Equal(t, CallDepth, th.Fault().Kind)
	}
}

// TestTailCallsOfFunctionsCount: every tail call of a run counts, or, in older JITs, those of a
// function are forgotten when it returns. A program calls a function twice, which tail calls a
// program that tail calls itself for as long as it may.
func TestTailCallsOfFunctionsCount(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  ThreadConfig
		want uint64
		left int
	}{
		{"all of a run", ThreadConfig{}, MaxTailCalls, MaxTailCalls},
		{"handed down", ThreadConfig{CountsDown: true}, 2 * MaxTailCalls, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEnv(t)
			counter, err := e.m.Alloc(8, mem.Region{})
			require.NoError(t, err)
			var again *Image
			e.funcs[12] = &Func{Name: "bpf_tail_call", Fn: func(th *Thread, _ *[5]uint64) (uint64, *Action) { return 0, th.TailCall(again) }}
			again = e.lower(t, loadDW(6, 1, 0), addImm(6, 1), storeDW(1, 0, 6), callHelper(12), movImm(0, 0), exitInsn)
			first := e.lower(t, ins(0xbf, 6, 1, 0, 0), callLocal(3), ins(0xbf, 1, 6, 0, 0), callLocal(1), exitInsn, callHelper(12), movImm(0, 0), exitInsn)
			for _, budget := range []uint64{1 << 20, 1} {
				th := NewThread(e.m, tt.cfg)
				require.Nil(t, e.m.Store(counter.Base, 8, 0))
				th.Start(first, counter.Base)
				stop := th.Run(budget)
				for ; stop == Budget; stop = th.Run(budget) {
				}
				require.Equal(t, Done, stop, "%v", th.Fault())
				n, mf := e.m.Load(counter.Base, 8)
				require.Nil(t, mf)
				assert.Equal(t, tt.want, n)
				assert.Equal(t, tt.left, th.TailCalls())
			}
		})
	}
}
