package vm

import "slices"

// A tail call from a subprogram replaces only that subprogram: its callers wait, and the target
// program may again nest calls MaxFrames deep (the JIT pops the frame of the current function and
// jumps: arch/x86/net/bpf_jit_comp.c emit_bpf_tail_call_indirect). The callers' frames are
// therefore set aside, and the program starts in place of their callee, as frame 0.

// level is the frames that a tail call set aside, and how many tail calls the run had made until
// then.
type level struct {
	frames    []frame
	tailCalls int
}

// descend sets aside the frames of the running function's callers.
func (t *Thread) descend() {
	d := t.depth
	if d == 0 {
		return
	}
	t.below = append(t.below, level{slices.Clone(t.frames[:d]), t.tailCalls})
	copy(t.frames[:], t.frames[d:])
	clear(t.frames[MaxFrames-d:])
	t.under += d
	t.depth = 0
	t.generation++
}

// ascend restores the callers' frames: the running function is again their callee. There must be
// frames set aside.
func (t *Thread) ascend() {
	last := len(t.below) - 1
	callers := t.below[last].frames
	if t.cfg.CountsDown {
		t.tailCalls = t.below[last].tailCalls
	}
	t.below = t.below[:last]
	d := len(callers)
	for _, f := range t.frames[MaxFrames-d:] { // deeper than the callers' remaining frames allow
		t.mem.Free(f.stack)
	}
	copy(t.frames[d:], t.frames[:])
	copy(t.frames[:], callers)
	t.under -= d
	t.depth += d
	t.generation++
}

// at returns the frame at a level, counted from the innermost as 0, or nil if there are not that
// many.
func (t *Thread) at(level int) *frame {
	if level < 0 {
		return nil
	}
	if d := t.depth - level; d >= 0 {
		return &t.frames[d]
	}
	level -= t.depth + 1
	for i := len(t.below) - 1; i >= 0; i-- {
		callers := t.below[i].frames
		if level < len(callers) {
			return &callers[len(callers)-1-level]
		}
		level -= len(callers)
	}
	return nil
}

// cloneLevels copies the frames set aside, for Snapshot.
func cloneLevels(below []level) []level {
	out := slices.Clone(below)
	for i := range out {
		out[i].frames = slices.Clone(out[i].frames)
	}
	return out
}
