package vm

// FrameReg returns a register of an activation; level 0 is the innermost. For callers only r6 to
// r10 are known, because a call preserves nothing else: ok is false for r0 to r5 there, and for
// levels and registers that do not exist.
func (t *Thread) FrameReg(level, reg int) (v uint64, ok bool) {
	switch {
	case t.img == nil || level < 0 || level > t.Depth() || reg < 0 || reg > 10:
		return 0, false
	case level == 0:
		return t.regs[reg], true
	case reg == 10:
		return t.at(level).fp, true
	case reg >= 6:
		return t.at(level - 1).saved[reg-6], true
	}
	return 0, false
}

// SetFrameReg changes a register of an activation; ok is false where [Thread.FrameReg] returns
// false, and for r10.
func (t *Thread) SetFrameReg(level, reg int, v uint64) (ok bool) {
	if _, known := t.FrameReg(level, reg); !known || reg == 10 {
		return false
	}
	if level == 0 {
		t.regs[reg] = v
	} else {
		t.at(level - 1).saved[reg-6] = v
	}
	t.alter()
	return true
}
