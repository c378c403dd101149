package vm

// SetPC makes the thread continue at another instruction of the running function. Registers and
// stack do not change. ok is false for slots outside the function and for the second slot of an
// instruction.
func (t *Thread) SetPC(pc int) (ok bool) {
	lo, hi := t.img.subprog(t.pc)
	if pc < lo || pc >= hi || t.img.plain[pc].op == opSecondSlot {
		return false
	}
	t.pc = pc
	t.alter()
	return true
}
