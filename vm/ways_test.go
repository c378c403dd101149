package vm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
)

// walk is what a run did, as single steps without any patches show.
type walk struct {
	slots map[int]bool
	ways  map[int][2]bool // by slot of a conditional jump, whose ways differ
}

func newWalk() walk { return walk{slots: map[int]bool{}, ways: map[int][2]bool{}} }

// add adds a run of img with an argument, and reports whether it did anything new.
func (w *walk) add(t *testing.T, e *env, img *Image, arg uint64) (grew bool) {
	t.Helper()
	th := NewThread(e.m, ThreadConfig{})
	th.Start(img, arg)
	for stop := Budget; stop == Budget; {
		pc := th.PC()
		stop = th.Run(1)
		grew = grew || !w.slots[pc]
		w.slots[pc] = true
		in := img.Insns()[pc]
		if target, ok := in.Target(pc); ok && in.Info().Flags&decode.FlagBranch != 0 && target != pc+1 && stop == Budget {
			way := Taken
			if th.PC() == pc+1 {
				way = Fell
			}
			gone := w.ways[pc]
			grew = grew || !gone[way]
			gone[way] = true
			w.ways[pc] = gone
		}
	}
	require.Equal(t, Done, th.Status(), "%v", th.Fault())
	return grew
}

func (w *walk) copy() walk {
	c := newWalk()
	for pc := range w.slots {
		c.slots[pc] = true
	}
	for pc, gone := range w.ways {
		c.ways[pc] = gone
	}
	return c
}

func (w *walk) check(t *testing.T, img *Image, p *Patches) {
	t.Helper()
	for pc := -1; pc <= img.Len(); pc++ {
		assert.Equal(t, w.slots[pc], p.Covered(img, pc), "slot %d", pc)
		for _, way := range []Way{Taken, Fell} {
			assert.Equal(t, w.ways[pc][way], p.Gone(img, pc, way), "slot %d, way %d", pc, way)
		}
	}
}

// jumpy returns a random program whose ways depend on the bits of r1.
func jumpy(rng *rand.Rand) []decode.Insn {
	n := 8 + rng.IntN(90)
	var insns []decode.Insn
	var begins []int
	for len(insns) < n {
		begins = append(begins, len(insns))
		switch rng.IntN(6) {
		case 0:
			insns = append(insns, lddw(2, 0, rng.Uint64())...)
		case 1:
			insns = append(insns, ja(0))
		case 2:
			insns = append(insns, callLocal(0))
		case 3:
			insns = append(insns, addImm(0, 1))
		default:
			insns = append(insns, ins(0x45, 1, 0, 0, 1<<rng.IntN(10))) // jset
		}
	}
	end := len(insns)
	begins = append(begins, end)
	insns = append(insns, exitInsn, addImm(0, 3), ins(0x45, 1, 0, 1, 1), addImm(0, 1), exitInsn)
	for i, pc := range begins[:len(begins)-1] {
		// A few targets are common to many jumps, others are the next instruction.
		to := begins[i+1+rng.IntN(min(4, len(begins)-1-i))]
		switch insns[pc].Code {
		case 0x05, 0x45:
			insns[pc].Off = int16(to - pc - 1)
		case 0x85:
			insns[pc].Imm = int32(end + 1 - pc - 1)
		}
	}
	return insns
}

// TestWaysOfBranches: which slots and branches were executed is what single steps show, however the
// program runs, and after all that was recorded since a snapshot is forgotten.
func TestWaysOfBranches(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 7))
	for n := range 25 {
		insns := jumpy(rng)
		for _, slice := range []uint64{1, 5, 1 << 20} {
			t.Run(fmt.Sprintf("%d in slices of %d", n, slice), func(t *testing.T) {
				e := newEnv(t)
				img := e.lower(t, insns...)
				p := NewPatches(true)
				p.RecordWays()
				th := NewThread(e.m, ThreadConfig{})
				th.SetPatches(p)
				run := func(arg uint64) {
					th.Start(img, arg)
					require.Equal(t, Done, runAll(th, slice, 1<<20), "%v", th.Fault())
				}
				seen := newWalk()
				seen.check(t, img, p)
				var kept []*CoverSnapshot
				var then []walk
				for range 6 {
					kept, then = append(kept, p.Snapshot()), append(then, seen.copy())
					arg := rng.Uint64()
					news := p.News()
					grew := seen.add(t, e, img, arg)
					run(arg)
					assert.Equal(t, grew, p.News() != news, "what is new is counted")
					seen.check(t, img, p)
				}
				for i := len(kept) - 1; i >= 0; i-- {
					p.Restore(kept[i])
					then[i].check(t, img, p)
					arg := rng.Uint64()
					then[i].add(t, e, img, arg)
					run(arg)
					then[i].check(t, img, p)
				}
			})
		}
	}
}

// TestWaysThatNoSuccessorShows: where a slot has other ways in, that it was executed does not show
// that a jump led to it.
func TestWaysThatNoSuccessorShows(t *testing.T) {
	jset := func(off int16, bit int32) decode.Insn { return ins(0x45, 1, 0, off, bit) }
	tests := []struct {
		name      string
		insns     []decode.Insn
		exception int
		pc        int
		branch    bool
		taken     bool
		fell      bool
	}{
		{"each slot has one way in", []decode.Insn{jset(1, 1), exitInsn, exitInsn}, 0, 0, true, false, false},
		{"both lead to the next", []decode.Insn{jset(0, 1), exitInsn}, 0, 0, false, false, false},
		{"no jump", []decode.Insn{movImm(0, 1), exitInsn}, 0, 0, false, false, false},
		{"no condition", []decode.Insn{ja(1), exitInsn, exitInsn}, 0, 0, false, false, false},
		{"what follows goes on to the target", []decode.Insn{jset(1, 1), addImm(0, 1), exitInsn}, 0, 0, true, true, false},
		{"another jump leads to what follows", []decode.Insn{jset(2, 1), addImm(0, 1), exitInsn, ja(-3)}, 0, 0, true, false, true},
		{"back to the start of the program", []decode.Insn{movImm(0, 0), jset(-2, 1), exitInsn}, 0, 1, true, true, false},
		{"a function begins at the target", []decode.Insn{callLocal(2), jset(1, 1), exitInsn, exitInsn}, 0, 1, true, true, false},
		{"the exception callback is the target", []decode.Insn{jset(1, 1), exitInsn, exitInsn}, 2, 0, true, true, false},
		{"the exception callback follows", []decode.Insn{jset(1, 1), exitInsn, exitInsn}, 1, 0, true, false, true},
		{"computed jumps may lead anywhere", []decode.Insn{jset(1, 1), exitInsn, ins(0x0d, 1, 0, 0, 0)}, 0, 0, true, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newEnv(t)
			e.cfg.ExceptionCallback = tt.exception
			branch, taken, fell := e.lower(t, tt.insns...).Branches(tt.pc)
			assert.Equal(t, []bool{tt.branch, tt.taken, tt.fell}, []bool{branch, taken, fell})
		})
	}
}

// TestBreakpointsKeepCoverage: breakpoints belong to the user. What is recorded is the same with
// them, and restoring it keeps them.
func TestBreakpointsKeepCoverage(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, ins(0x45, 1, 0, 1, 1), addImm(0, 1), addImm(0, 2), exitInsn)
	p := NewPatches(true)
	p.RecordWays()
	th := NewThread(e.m, ThreadConfig{})
	th.SetPatches(p)
	none := p.Snapshot()
	for pc := range img.Len() {
		require.True(t, p.SetBreak(img, pc))
		require.True(t, p.SetBreak(img, pc), "twice")
	}
	assert.Equal(t, img.Len(), p.Breaks(img))
	run := func(arg uint64, breaks int) {
		t.Helper()
		th.Start(img, arg)
		for range breaks {
			require.Equal(t, Break, th.Run(100))
		}
		require.Equal(t, Done, th.Run(100))
	}
	run(0, 4)
	assert.True(t, p.Gone(img, 0, Fell))
	assert.False(t, p.Gone(img, 0, Taken))
	p.Restore(none)
	assert.False(t, p.Covered(img, 0))
	assert.Equal(t, img.Len(), p.Breaks(img))
	run(1, 3)
	for pc := range img.Len() {
		p.ClearBreak(img, pc)
		p.ClearBreak(img, pc)
	}
	assert.Zero(t, p.Breaks(img))
	assert.True(t, p.Gone(img, 0, Taken))
	assert.False(t, p.Gone(img, 0, Fell))
	run(0, 0)
	assert.True(t, p.Gone(img, 0, Fell), "without the breakpoint, what is new is recorded again")
	assert.True(t, p.Covered(img, 1))

	other := e.lower(t, cat(lddw(0, 0, 1), []decode.Insn{exitInsn})...)
	assert.Zero(t, p.Breaks(other))
	assert.Nil(t, p.Coverage(other), "it never ran")
	for pc, want := range map[int]bool{-1: false, 0: true, 1: false, 2: true, 3: false} {
		assert.Equal(t, want, p.SetBreak(other, pc), "slot %d", pc)
	}
}

// TestWhatIsNotRecorded: patches record what they were made for, and no more.
func TestWhatIsNotRecorded(t *testing.T) {
	e := newEnv(t)
	img := e.lower(t, movImm(0, 0), ins(0x55, 1, 0, 1, 0), addImm(0, 1), addImm(0, 1), exitInsn) // r1 != 0
	for _, cover := range []bool{false, true} {
		for _, ways := range []bool{false, true} {
			p := NewPatches(cover)
			if ways {
				p.RecordWays()
			}
			for arg := range uint64(2) {
				th := NewThread(e.m, ThreadConfig{})
				th.SetPatches(p)
				th.Start(img, arg)
				require.Equal(t, Done, runAll(th, 1, 100))
			}
			assert.Equal(t, cover, p.News() != 0, "%v %v", cover, ways)
			for pc := range img.Len() {
				assert.Equal(t, cover, p.Covered(img, pc), "%v %v: slot %d", cover, ways, pc)
			}
			for _, way := range []Way{Taken, Fell} {
				assert.Equal(t, cover && ways, p.Gone(img, 1, way), "%v %v: way %d", cover, ways, way)
				assert.False(t, p.Gone(img, 0, way), "no jump")
			}
		}
	}
}
