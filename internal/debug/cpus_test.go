package debug

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const cpusObject = "internal/debug/testdata/cpus.o"

// startOn starts a program on a CPU.
func startOn(t testing.TB, s *Session, cpu int, prog string) {
	t.Helper()
	require.NoError(t, s.SelectCPU(cpu))
	st, err := s.Start(prog)
	require.NoError(t, err)
	require.Equal(t, Started, st.Reason)
	require.Equal(t, cpu, st.CPU)
}

// on makes a CPU the one that commands are for, and executes n instructions there.
func on(t testing.TB, s *Session, cpu int, n uint64) *Stop {
	t.Helper()
	require.NoError(t, s.SelectCPU(cpu))
	st, err := s.StepInsn(bg, n)
	require.NoError(t, err)
	return st
}

// untilInsn executes on a CPU up to an instruction.
func untilInsn(t testing.TB, s *Session, cpu, pc int) {
	t.Helper()
	require.NoError(t, s.SelectCPU(cpu))
	for s.Here().PC != pc {
		_, err := s.StepInsn(bg, 1)
		require.NoError(t, err)
		require.Equal(t, Running, s.State())
	}
}

// loseUpdate lets two programs load the count before either stores it: CPU 0 stands after its
// store, CPU 1 before its own.
func loseUpdate(t testing.TB) *Session {
	t.Helper()
	s := open(t, cpusObject)
	startOn(t, s, 0, "count")
	startOn(t, s, 1, "count")
	const load, store = 9, 11
	untilInsn(t, s, 0, store)
	untilInsn(t, s, 1, store)
	on(t, s, 0, 1)
	return s
}

func TestLostUpdate(t *testing.T) {
	s := loseUpdate(t)
	assert.Equal(t, "1", print(t, s, "hits[0]"))
	assert.Equal(t, "1", print(t, s, "$r1"))
	require.NoError(t, s.SelectCPU(1))
	assert.Equal(t, "1", print(t, s, "$r1"), "it loaded 0 and added 1 before the other stored")
	stored := s.Pos()
	st, err := s.Continue(bg)
	require.NoError(t, err)
	assert.Equal(t, Exited, st.Reason)
	assert.Equal(t, "1", print(t, s, "hits[0]"), "two programs counted, one update is lost")
	require.NoError(t, s.SelectCPU(0))
	st, err = s.Continue(bg)
	require.NoError(t, err)
	assert.Equal(t, Exited, st.Reason)
	assert.Equal(t, uint64(28), s.Pos(), "the instructions of both")

	// Back, past the stores of both.
	_, err = s.GoTo(bg, stored)
	require.NoError(t, err)
	assert.Equal(t, 1, s.CPU(), "the one that executes next")
	assert.Equal(t, "1", print(t, s, "hits[0]"))
	_, err = s.GoTo(bg, stored-1)
	require.NoError(t, err)
	assert.Equal(t, 0, s.CPU())
	assert.Equal(t, "0", print(t, s, "hits[0]"))
	// And forward again: the order is the one that was recorded, whichever CPU the command is for.
	st, err = s.Continue(bg)
	require.NoError(t, err)
	assert.Equal(t, Exited, st.Reason)
	assert.Equal(t, 0, st.CPU)
	assert.Equal(t, "1", print(t, s, "hits[0]"))
	assert.Equal(t, uint64(28), s.Pos())
}

// TestAnotherOrderFromHere: where the user lets another CPU execute than the one that did, the rest
// of the record is dropped.
func TestAnotherOrderFromHere(t *testing.T) {
	s := open(t, cpusObject)
	startOn(t, s, 0, "count")
	startOn(t, s, 1, "count")
	const load, store = 9, 11
	untilInsn(t, s, 0, store)
	before := s.Pos()
	untilInsn(t, s, 1, store)
	on(t, s, 0, 1)
	_, err := s.GoTo(bg, before)
	require.NoError(t, err)
	require.Equal(t, 1, s.CPU())
	on(t, s, 0, 1) // now it stores before CPU 1 loads
	for _, cpu := range []int{1, 0} {
		require.NoError(t, s.SelectCPU(cpu))
		st, err := s.Continue(bg)
		require.NoError(t, err)
		require.Equal(t, Exited, st.Reason)
	}
	assert.Equal(t, "2", print(t, s, "hits[0]"))
}

// TestStepLeavesOthers: a step on one CPU changes nothing of another but what they share.
func TestStepLeavesOthers(t *testing.T) {
	s := open(t, cpusObject)
	startOn(t, s, 0, "report")
	on(t, s, 0, 6)
	startOn(t, s, 1, "count_locked")
	before := s.CPUs()
	for range 5 {
		_, err := s.Next(bg)
		require.NoError(t, err)
	}
	after := s.CPUs()
	assert.Equal(t, before[0].Place, after[0].Place)
	assert.Equal(t, before[0].Insns, after[0].Insns)
	assert.NotEqual(t, before[1].Place, after[1].Place)
	assert.Equal(t, uint64(6), after[0].Insns)
}

// TestEachCPUHasItsOwn number, value of a per-CPU map, stack and registers.
func TestEachCPUHasItsOwn(t *testing.T) {
	s := open(t, cpusObject)
	startOn(t, s, 0, "report")
	startOn(t, s, 1, "report")
	fp := map[string]bool{}
	for range 22 { // turn and turn about, to the end
		for cpu := range 2 {
			on(t, s, cpu, 1)
			fp[print(t, s, "$r10")] = true
		}
	}
	assert.Len(t, fp, 2)
	for cpu, x := range s.CPUs() {
		assert.Equal(t, Ended, x.State)
		assert.Equal(t, uint64(22), x.Insns)
		assert.Zero(t, x.Result.Ret)
		assert.Nil(t, x.Result.Fault)
		require.NoError(t, s.SelectCPU(cpu))
		assert.Equal(t, fmt.Sprint(cpu), print(t, s, "$cpu"))
	}
	assert.Equal(t, "{[0] = cpu0: 1, cpu1: 1}", print(t, s, "mine"))
	assert.Equal(t, []string{"events: [0 <x 4>]", "events: [1, 0 <x 3>]"}, s.Events())
}

// TestWaitsForALock: a CPU that wants a lock another holds waits, and says for which; it changes
// nothing meanwhile.
func TestWaitsForALock(t *testing.T) {
	s := open(t, cpusObject)
	startOn(t, s, 0, "count_locked")
	startOn(t, s, 1, "count_locked")
	const locked, lock = 12, 11
	untilInsn(t, s, 0, locked)
	require.NoError(t, s.SelectCPU(1))
	for range 3 {
		st, err := s.Continue(bg)
		require.NoError(t, err)
		require.Equal(t, Waiting, st.Reason)
		assert.Equal(t, lock, st.Place.PC)
		require.Len(t, st.Notes, 1)
		assert.Regexp(t, `^CPU 1 waits for the lock .*safe.*, which CPU 0 took at count_locked at cpus.bpf.c:70 \(insn 11\): let that continue \(cpu 0\)\.$`, st.Notes[0])
	}
	at := s.Pos()
	on(t, s, 1, 1)
	assert.Equal(t, at, s.Pos(), "waiting is no instruction")
	on(t, s, 0, 5) // it unlocks
	for _, cpu := range []int{1, 0} {
		require.NoError(t, s.SelectCPU(cpu))
		st, err := s.Continue(bg)
		require.NoError(t, err)
		require.Equal(t, Exited, st.Reason)
		assert.Equal(t, 1, st.Result.Helpers["bpf_spin_lock"], "what waited was not counted")
	}
	assert.Equal(t, "2", print(t, s, "safe[0].n"))
	// In the record there is no waiting.
	_, err := s.Restart()
	require.NoError(t, err)
	st, err := s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, Exited, st.Reason)
	assert.Equal(t, uint64(36), s.Pos())
	assert.Equal(t, "2", print(t, s, "safe[0].n"))
}

// TestFaultFreesTheLock: the kernel would not have loaded the program, so what it held does not
// stop others; the fault happens again at its place in the run.
func TestFaultFreesTheLock(t *testing.T) {
	s := open(t, cpusObject)
	startOn(t, s, 0, "oops")
	startOn(t, s, 1, "count_locked")
	require.NoError(t, s.SelectCPU(0))
	st, err := s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, Faulted, st.Reason)
	at := s.Pos()
	require.NoError(t, s.SelectCPU(1))
	st, err = s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, Exited, st.Reason)
	end := s.Pos()
	for _, pos := range []uint64{at + 4, at - 3, at, 3, end} {
		_, err = s.GoTo(bg, pos)
		require.NoError(t, err)
		require.Equal(t, pos, s.Pos())
		_, err = s.GoTo(bg, end)
		require.NoError(t, err)
		assert.Equal(t, "1", print(t, s, "safe[0].n"))
		states := s.CPUs()
		assert.NotNil(t, states[0].Result.Fault)
		assert.Nil(t, states[1].Result.Fault)
	}
}

// TestBreakpointOfACPU stops there alone, both ways.
func TestBreakpointOfACPU(t *testing.T) {
	s := open(t, cpusObject)
	startOn(t, s, 0, "count")
	startOn(t, s, 1, "count")
	b, err := s.Break("count+9", false)
	require.NoError(t, err)
	b.CPU = 1
	require.NoError(t, s.SelectCPU(0))
	st, err := s.Continue(bg)
	require.NoError(t, err)
	assert.Equal(t, Exited, st.Reason)
	require.NoError(t, s.SelectCPU(1))
	st, err = s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, AtBreakpoint, st.Reason)
	at := s.Pos()
	_, err = s.Continue(bg)
	require.NoError(t, err)
	s.Reverse = true
	st, err = s.Continue(bg)
	require.NoError(t, err)
	assert.Equal(t, AtBreakpoint, st.Reason)
	assert.Equal(t, at, s.Pos())
	assert.Equal(t, 1, st.CPU)
	st, err = s.Continue(bg)
	require.NoError(t, err)
	assert.Equal(t, AtStart, st.Reason)
	assert.Equal(t, 0, st.CPU)
}

// TestWatchSeesEveryCPU: memory is watched whoever writes it.
func TestWatchSeesEveryCPU(t *testing.T) {
	s := loseUpdate(t)
	_, err := s.Restart()
	require.NoError(t, err)
	_, err = s.AddWatch("hits[0]", false, true)
	require.NoError(t, err)
	st, err := s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, AtWatchpoint, st.Reason)
	assert.Equal(t, 0, st.CPU)
	require.Len(t, st.Watches, 1)
	assert.Equal(t, 11, st.Watches[0].Place.PC)
}

// TestWhyAcrossCPUs: a value that another CPU stored comes from there.
func TestWhyAcrossCPUs(t *testing.T) {
	s := open(t, cpusObject)
	startOn(t, s, 0, "count")
	startOn(t, s, 1, "count")
	require.NoError(t, s.SelectCPU(0))
	_, err := s.Continue(bg)
	require.NoError(t, err)
	untilInsn(t, s, 1, 10)
	pos := s.Pos()
	o, err := s.Why(bg, "$r1")
	require.NoError(t, err)
	assert.Equal(t, pos, s.Pos())
	assert.Equal(t, 1, s.CPU())
	var cpus, pcs []int
	for len(o.From) > 0 {
		o = o.From[0]
		if o.Place.Prog != nil {
			cpus, pcs = append(cpus, o.CPU), append(pcs, o.Place.PC)
		}
	}
	assert.Equal(t, []int{1, 0, 0, 0}, cpus)
	assert.Equal(t, []int{9, 11, 10, 9}, pcs, "its load; the other's store, addition and load")
}

// TestChangesOnEachCPU are made again at their places.
func TestChangesOnEachCPU(t *testing.T) {
	s := open(t, cpusObject)
	startOn(t, s, 0, "count")
	startOn(t, s, 1, "count")
	untilInsn(t, s, 0, 11)
	untilInsn(t, s, 1, 11)
	_, err := s.Assign("$r1 = 70")
	require.NoError(t, err)
	require.NoError(t, s.SelectCPU(0))
	_, err = s.Assign("$r1 = 30")
	require.NoError(t, err)
	for _, cpu := range []int{0, 1} {
		on(t, s, cpu, 1)
	}
	end := s.Pos()
	assert.Equal(t, "70", print(t, s, "hits[0]"))
	_, err = s.GoTo(bg, 2)
	require.NoError(t, err)
	_, err = s.GoTo(bg, end-1)
	require.NoError(t, err)
	assert.Equal(t, "30", print(t, s, "hits[0]"))
	_, err = s.GoTo(bg, end)
	require.NoError(t, err)
	assert.Equal(t, "70", print(t, s, "hits[0]"))
	assert.Equal(t, 2, s.Edits())
}

// TestReverseOnACPU: steps back are those of one CPU; what others did since is undone with them. It
// stops where the CPU's program began.
func TestReverseOnACPU(t *testing.T) {
	s := open(t, cpusObject)
	startOn(t, s, 0, "count")
	on(t, s, 0, 4)
	startOn(t, s, 1, "count")
	on(t, s, 1, 3)
	on(t, s, 0, 2)
	on(t, s, 1, 1)
	s.Reverse = true
	for want := 3; want >= 0; want-- {
		st, err := s.StepInsn(bg, 1)
		require.NoError(t, err)
		assert.Equal(t, 1, st.CPU)
		assert.Equal(t, want, st.Place.PC)
	}
	assert.Equal(t, uint64(4), s.Pos())
	st, err := s.StepInsn(bg, 1)
	require.NoError(t, err)
	assert.Equal(t, AtStart, st.Reason)
	assert.Equal(t, 1, st.CPU)
	require.NoError(t, s.SelectCPU(0))
	st, err = s.StepInsn(bg, 3)
	require.NoError(t, err)
	assert.Equal(t, 1, st.Place.PC)
	assert.Equal(t, Idle, s.CPUs()[1].State, "it was not started yet")
	s.Reverse = false
	_, err = s.GoTo(bg, 10)
	require.NoError(t, err)
	assert.Equal(t, uint64(4), s.CPUs()[1].Insns)
}

// TestProgramsInTurnOnACPU: when one has ended, another is started there while the others stand.
func TestProgramsInTurnOnACPU(t *testing.T) {
	s := open(t, cpusObject)
	startOn(t, s, 0, "count")
	on(t, s, 0, 3)
	startOn(t, s, 1, "report")
	_, err := s.Start("count")
	var busy *CPUBusyError
	require.ErrorAs(t, err, &busy)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	startOn(t, s, 1, "count_locked")
	_, err = s.Continue(bg)
	require.NoError(t, err)
	mid := s.Pos()
	require.NoError(t, s.SelectCPU(0))
	_, err = s.Continue(bg)
	require.NoError(t, err)
	for _, pos := range []uint64{0, mid, 10, 25, 26, mid} {
		_, err = s.GoTo(bg, pos)
		require.NoError(t, err)
		require.Equal(t, pos, s.Pos())
	}
	assert.Equal(t, "1", print(t, s, "safe[0].n"))
	assert.Equal(t, "{[0] = cpu0: 0, cpu1: 1}", print(t, s, "mine"))
	_, err = s.GoTo(bg, 1<<30)
	require.ErrorIs(t, err, ErrRange)
}

// TestGoingElsewhereFromACPUThatIsIdle: where programs ran on others there is a run to go to.
func TestGoingElsewhereFromACPUThatIsIdle(t *testing.T) {
	s := open(t, cpusObject)
	_, err := s.GoTo(bg, 0)
	require.ErrorIs(t, err, ErrIdle)
	startOn(t, s, 0, "count")
	on(t, s, 0, 3)
	startOn(t, s, 1, "report")
	on(t, s, 1, 3)
	for _, pos := range []uint64{1, 5, 2, 6} {
		_, err = s.GoTo(bg, pos)
		require.NoError(t, err)
		require.NoError(t, s.SelectCPU(1))
		assert.Equal(t, pos < 3, s.State() == Idle, "at %d", pos)
		assert.Equal(t, pos, s.Pos())
	}
}

func TestCPUsThatAreNotThere(t *testing.T) {
	s := open(t, cpusObject)
	require.ErrorContains(t, s.SelectCPU(2), "the machine has 2")
	require.ErrorContains(t, s.SelectCPU(-1), "no CPU -1")
	require.NoError(t, s.SelectCPU(1))
	_, err := s.StepInsn(bg, 1)
	require.ErrorIs(t, err, ErrIdle)
	_, err = s.Frames()
	require.ErrorIs(t, err, ErrIdle)
	assert.Equal(t, "0", print(t, s, "1 - 1"))
	startOn(t, s, 1, "report")
	_, err = s.Continue(bg)
	require.NoError(t, err)
	assert.Equal(t, "{[0] = cpu0: 0, cpu1: 1}", print(t, s, "mine"))
}

// seenOn is the state of all CPUs, as far as it can be seen.
func seenOn(s *Session) string {
	text := fmt.Sprint(s.Pos())
	cpu := s.CPU()
	for _, x := range s.CPUs() {
		if x.Program == "" {
			continue
		}
		_ = s.SelectCPU(x.CPU)
		v := s.see()
		s.Unlook()
		text += fmt.Sprint(x.CPU, x.State, x.Place, x.Insns, v.values)
	}
	_ = s.SelectCPU(cpu)
	return text
}

// TestRandomInterleavings: programs take turns at random; going back and forth to any position, by
// every way of going, finds what was there.
func TestRandomInterleavings(t *testing.T) {
	for seed := range int64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewSource(seed))
			progs := []string{"count", "count_locked", "report", "oops"}
			s := open(t, cpusObject)
			started, seen := [2]int{}, map[uint64]string{}
			for range 60 {
				cpu := rnd.Intn(2)
				require.NoError(t, s.SelectCPU(cpu))
				if s.State() != Running {
					if started[cpu] == 2 || started[cpu] == 1 && !s.othersRunning() {
						continue // the next would begin another run
					}
					if !s.othersRunning() { // another run begins
						clear(seen)
					}
					_, err := s.Start(progs[rnd.Intn(len(progs))])
					require.NoError(t, err)
					started[cpu]++
					seen[s.Pos()] = seenOn(s) // what was there before it began is not come to again
				}
				st, err := s.StepInsn(bg, uint64(1+rnd.Intn(5)))
				require.NoError(t, err)
				seen[st.Pos] = seenOn(s)
			}
			require.NotEmpty(t, seen)
			for range 40 {
				for pos, want := range seen { // in no order
					_, err := s.GoTo(bg, pos)
					require.NoError(t, err)
					require.Equal(t, want, seenOn(s), "at %d", pos)
					break
				}
				s.Reverse = true
				before := s.Pos()
				if s.State() != Idle {
					_, err := s.StepInsn(bg, uint64(1+rnd.Intn(4)))
					require.NoError(t, err)
				}
				s.Reverse = false
				require.LessOrEqual(t, s.Pos(), before)
				if want, ok := seen[s.Pos()]; ok {
					assert.Equal(t, want, seenOn(s))
				}
			}
		})
	}
}
