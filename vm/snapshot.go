package vm

import "fmt"

// Snapshot is the state of a Thread at one point in time: registers, frames, continuations,
// counters. It does not include memory (mem.Memory.Snapshot).
type Snapshot struct {
	regs      [11]uint64
	img       *Image
	pc        int
	depth     int
	insns     uint64
	status    Stop
	frames    [MaxFrames]frame
	below     []level
	under     int
	tailCalls int
	refused   *Image
	refusedAt int
	arena     [2]uint64
	cpu       int
	altered   bool
	track     bool
	fault     *Fault
	reason    string
	brokeAt   uint64
}

// Snapshot records the state. It must not be called from within a helper.
func (t *Thread) Snapshot() *Snapshot {
	return &Snapshot{
		regs: [11]uint64(t.regs[:11]), img: t.img, pc: t.pc, depth: t.depth, insns: t.insns, status: t.status,
		frames: t.frames, below: cloneLevels(t.below), under: t.under, tailCalls: t.tailCalls, refused: t.refused, refusedAt: t.refusedAt, arena: [2]uint64{t.arenaKern, t.arenaUser}, cpu: t.CPU, altered: t.altered, track: t.track,
		fault: t.fault, reason: t.reason, brokeAt: t.brokeAt,
	}
}

// Restore restores the thread's state. The snapshot may come from another thread on the same
// Memory. Back at the start of a run with the same frames, an engine need not prepare anything
// again.
func (t *Thread) Restore(s *Snapshot) {
	prepared := s.insns == 0 && s.depth == 0 && len(s.below) == 0 && len(t.below) == 0 && t.arenaKern == s.arena[0] && t.arenaUser == s.arena[1] &&
		t.track == s.track && !s.altered && t.img == s.img && t.sameStacks(s)
	copy(t.regs[:11], s.regs[:])
	t.img, t.pc, t.depth, t.insns, t.status = s.img, s.pc, s.depth, s.insns, s.status
	t.tailCalls, t.refused, t.refusedAt = s.tailCalls, s.refused, s.refusedAt
	if !prepared || t.deep {
		t.frames = s.frames
	} else {
		t.frames[0] = s.frames[0]
	}
	t.below, t.under = cloneLevels(s.below), s.under
	t.arenaKern, t.arenaUser = s.arena[0], s.arena[1]
	t.CPU, t.fault, t.reason, t.brokeAt = s.cpu, s.fault, s.reason, s.brokeAt
	t.suspend, t.altered, t.track, t.left = false, s.altered, s.track, leftNothing
	if !prepared {
		t.deep = true
		t.epoch = never // the frames have changed, or do not exist yet
		t.generation++
	}
}

// sameStacks reports whether the frames have the stacks of the snapshot.
func (t *Thread) sameStacks(s *Snapshot) bool {
	for i := range t.frames {
		f, g := &t.frames[i], &s.frames[i]
		if f.stack != g.stack || f.fp != g.fp {
			return false
		}
		if f.stack == nil && i > 0 {
			break // and so are all deeper ones
		}
	}
	return true
}

// Diff describes the differences between two snapshots of one program's run, or returns "".
func (s *Snapshot) Diff(o *Snapshot) string {
	switch {
	case s.img != o.img || s.pc != o.pc:
		return fmt.Sprintf("at %s slot %d, not %s slot %d", s.img.Name, s.pc, o.img.Name, o.pc)
	case s.insns != o.insns:
		return fmt.Sprintf("%d instructions executed, not %d", s.insns, o.insns)
	case s.tailCalls != o.tailCalls:
		return fmt.Sprintf("%d tail calls, not %d", s.tailCalls, o.tailCalls)
	case s.depth != o.depth || s.under != o.under:
		return fmt.Sprintf("%d calls deep, not %d", s.under+s.depth, o.under+o.depth)
	}
	for i, v := range s.regs {
		if v != o.regs[i] {
			return fmt.Sprintf("r%d is %#x, not %#x", i, v, o.regs[i])
		}
	}
	for d := range s.depth + 1 {
		f, g := &s.frames[d], &o.frames[d]
		if f.may != g.may || d > 0 && (f.img != g.img || f.ret != g.ret || f.saved != g.saved) {
			return fmt.Sprintf("frame %d is {ret %d, saved %#x, may_goto %d}, not {ret %d, saved %#x, may_goto %d}", d, f.ret, f.saved, f.may, g.ret, g.saved, g.may)
		}
	}
	return ""
}
