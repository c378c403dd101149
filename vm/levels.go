package vm

import "slices"

// A tail call out of a called function replaces that function alone: its callers wait, and the program called may make
// calls MaxFrames deep again (a tail call gives back the frame of the function it is in and jumps: arch/x86/net/bpf_jit_comp.c
// emit_bpf_tail_call_indirect). So the callers' frames are put aside, and the program starts in the place of their callee, as frame 0.

// descend puts the callers of the running function aside.
func (t *Thread) descend() {
	d := t.depth
	if d == 0 {
		return
	}
	t.below = append(t.below, slices.Clone(t.frames[:d]))
	copy(t.frames[:], t.frames[d:])
	clear(t.frames[MaxFrames-d:])
	t.under += d
	t.depth = 0
	t.generation++
}

// ascend puts the callers' frames back: the running function is again the one they called. It must not be called without any.
func (t *Thread) ascend() {
	last := len(t.below) - 1
	callers := t.below[last]
	t.below = t.below[:last]
	d := len(callers)
	for _, f := range t.frames[MaxFrames-d:] { // deeper than the callers could have called
		if f.stack != nil {
			t.mem.Free(f.stack)
		}
	}
	copy(t.frames[d:], t.frames[:])
	copy(t.frames[:], callers)
	t.under -= d
	t.depth += d
	t.generation++
}

// at returns the frame of an activation, level 0 being the innermost, nil when there are not so many.
func (t *Thread) at(level int) *frame {
	if level < 0 {
		return nil
	}
	if d := t.depth - level; d >= 0 {
		return &t.frames[d]
	}
	level -= t.depth + 1
	for i := len(t.below) - 1; i >= 0; i-- {
		if callers := t.below[i]; level < len(callers) {
			return &callers[len(callers)-1-level]
		}
		level -= len(t.below[i])
	}
	return nil
}

// cloneLevels copies what Snapshot keeps of frames put aside.
func cloneLevels(below [][]frame) [][]frame {
	if len(below) == 0 {
		return nil
	}
	out := make([][]frame, len(below))
	for i := range below {
		out[i] = slices.Clone(below[i])
	}
	return out
}
