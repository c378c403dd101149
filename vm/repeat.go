package vm

// Repeater is an Engine that executes whole runs by itself.
type Repeater interface {
	// Again executes runs of the program that t has just started, one after the other, each from
	// the same arguments, at most n runs of at most limit instructions. It returns how many ended,
	// and the instructions of those, exits included. If these are n, t is at the exit of the last
	// one. If not, t is in the next run, which [Thread.Run] continues.
	Again(t *Thread, n int, limit uint64) (ended int, insns uint64)
}

// Again starts img from slot 0 as [Thread.Start] does, but on the stack that the last run left, as
// bpf_test_run of the kernel repeats a program: nothing is renewed but the registers. If the engine
// can execute whole runs, it makes up to n of them at once. ended is how many ended, with insns
// instructions in all; if these are fewer than n, the next run has begun and Run continues it, for
// the limit that the caller has for a run. The last run, or one since, must have been begun by
// Start with the same img.
func (t *Thread) Again(img *Image, n int, limit uint64, args ...uint64) (ended int, insns uint64) {
	t.start(img, 0, false, args)
	e, ok := t.engine.(Repeater)
	if !ok || t.status != Budget || !t.patch.native() {
		return 0, 0
	}
	ended, insns = e.Again(t, n, limit)
	if ended == n {
		t.insns++
		t.status = Done
	}
	return ended, insns
}

// Restart tells the thread that an engine whose run has ended in another program starts img again.
func (t *Thread) Restart(img *Image) { t.img, t.tailCalls, t.refused = img, 0, nil }

// Streamer is an Engine that executes runs of a program on different input.
type Streamer interface {
	// Stream executes the run that t has just started, of at most limit instructions, and if it ends,
	// calls next with its result and the number of its instructions, the exit included. next prepares
	// another run: if more is true, the engine executes that, from the same arguments, after it called
	// Anew. gap is how many nanoseconds later the other run is. The instructions, calls and time of
	// the runs are accounted for when Stream returns. If the last run has not ended, begun is true
	// and [Thread.Run] continues it.
	Stream(t *Thread, limit uint64, next func(ret, insns uint64) (gap uint64, more bool)) (begun bool)
}

// Stream lets the engine execute the run that Start has just begun, and others after it, see
// [Streamer]. It returns true if the last run is still to be continued by Run, which includes that
// nothing was executed.
func (t *Thread) Stream(limit uint64, next func(ret, insns uint64) (gap uint64, more bool)) (begun bool) {
	e, ok := t.engine.(Streamer)
	if !ok || t.status != Budget || t.insns != 0 || !t.patch.native() {
		return true
	}
	if begun = e.Stream(t, limit, next); !begun {
		t.status = Done
	}
	return begun
}

// Anew does, between two runs of a Streamer, what Start does, except to r0 to r9.
func (t *Thread) Anew() {
	if t.epoch != t.mem.Epoch() && !t.alive() {
		if f := t.renew(); f != nil {
			t.stop(f)
			return
		}
	}
	t.starts++
	t.frames[0].may = MaxMayGoto
	t.regs[10] = t.frames[0].fp
	t.fresh(true)
}
