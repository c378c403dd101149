package plan

// Leave exits at a slot.
func (e *Emission) Leave(why Reason, slot int32) {
	e.backend.SetExit(uint64(slot)<<ReasonBits | uint64(why))
	e.backend.JumpBack(e.Leaving)
}

// To directs the jump at from to an instruction.
func (e *Emission) To(from, pc int32) {
	if pc <= e.PC {
		e.backend.Patch(from, int32(e.Out.Starts[pc]))
		return
	}
	e.jumps = append(e.jumps, jump{from, pc})
}

// Goto jumps to an instruction.
func (e *Emission) Goto(pc int32) {
	if pc <= e.PC {
		e.backend.JumpBack(int32(e.Out.Starts[pc]))
		return
	}
	e.To(e.backend.Jump(), pc)
}

// gotoIf jumps to an instruction on a condition.
func (e *Emission) gotoIf(c Cond, pc int32) {
	if pc <= e.PC {
		e.backend.JumpBackIf(c, int32(e.Out.Starts[pc]))
		return
	}
	e.To(e.backend.JumpIf(c), pc)
}

// branch generates the taken edge of a branch on a condition.
func (e *Emission) branch(c Cond, in *Insn) {
	mark, marked := e.takenMark(in)
	switch {
	case in.Has(FlagBack):
		over := e.backend.Skip(c.Not())
		if marked {
			e.backend.MarkByte(mark)
		}
		e.iterate(in)
		e.backend.EndSkip(over)
	case marked:
		e.colds = append(e.colds, Cold{Kind: ColdEdge, From: [2]int32{e.backend.JumpIf(c)}, PC: in.Target, N: in.Taken, Mark: mark + 1})
	case in.Taken == 0:
		e.gotoIf(c, in.Target)
	default:
		e.putOff(ColdEdge, c, in.Target, in.Taken)
	}
}

// jump generates the edge of a jump.
func (e *Emission) jump(in *Insn) {
	if in.Has(FlagBack) {
		e.iterate(in)
		return
	}
	e.backend.Charge(in.Taken)
	if in.Target != e.PC+1 {
		e.Goto(in.Target)
	}
}

// iterate charges and jumps back, unless State.Room is used up.
func (e *Emission) iterate(in *Insn) {
	e.backend.Spend(in.Taken)
	e.back(in)
}

// back jumps back if the charge left room.
func (e *Emission) back(in *Insn) {
	e.gotoIf(SignedAtLeast, in.Target)
	e.colds = append(e.colds, Cold{Kind: ColdLeave, From: [2]int32{e.backend.Jump()}, PC: e.Program.Insns[in.Target].Slot, N: int32(OutOfRoom)})
}

// putOff continues out of line on a condition.
func (e *Emission) putOff(kind ColdKind, c Cond, pc, n int32) {
	e.colds = append(e.colds, Cold{Kind: kind, From: [2]int32{e.backend.JumpIf(c)}, PC: pc, N: n})
}

// LeaveIf exits with Interpret at this slot if the condition holds.
func (e *Emission) LeaveIf(c Cond) {
	e.putOff(ColdLeave, c, e.Program.Insns[e.PC].Slot, int32(Interpret))
}

// CallUnless leaves the call at this slot to Go unless the condition holds.
func (e *Emission) CallUnless(c Cond) {
	e.putOff(ColdLeave, c.Not(), e.Program.Insns[e.PC].Slot, int32(CallFunc))
}

// choose generates a branch with FlagSelect, its operation and their charges.
func (e *Emission) choose(in *Insn) {
	b := e.backend
	op, br := &e.Program.Insns[e.PC+1], &branches[in.Op]
	b.SelectResult(op)
	b.Compare(in, br)
	executed := in.Next + op.Next
	if in.Size == 2 {
		executed = in.Next + e.Program.Insns[e.PC+2].Taken
	}
	b.Select(op, br.Cond.Not(), executed, in.Taken)
	switch {
	case in.Has(FlagBack):
		b.Spend(0)
		e.back(in)
	case in.Target != e.PC+1+int32(in.Size):
		e.Goto(in.Target)
	}
}

// call generates a bpf-to-bpf call.
func (e *Emission) call(in *Insn) {
	b := e.backend
	b.Spend(in.Taken)
	e.putOff(ColdUndo, SignedLess, in.Slot, in.Taken)
	b.TestFrame(in)
	e.putOff(ColdRefuse, Equal, in.Slot, in.Taken)
	for i := range uint8(4) {
		if in.Saves>>i&1 != 0 {
			b.SaveReg(6 + i)
		}
	}
	b.SetReturn(in)
	b.Call(in)
}

// tailCall generates a tail call: it continues in the code of the program in the slot, or, if it is
// one too many, here. Go makes those that code cannot make.
func (e *Emission) tailCall(in *Insn) {
	b, f := e.backend, e.Program.Inline(in)
	b.TestShut()
	e.CallUnless(Equal)
	if e.Calls {
		b.TestReturn()
		e.CallUnless(Equal)
	}
	b.TailTarget(f)
	b.TestTails()
	last := b.JumpIf(Equal)
	b.TailRoom(int32(e.Program.Slack()) - in.Count - 1)
	e.CallUnless(SignedAtLeast)
	b.TailCall(f)
	b.Land(last)
	b.TestOver()
	e.CallUnless(NotEqual)
	b.TailOver(f)
}

// exit returns to the calling generated code, or exits to Go.
func (e *Emission) exit(in *Insn) {
	b := e.backend
	if !e.Calls {
		e.Leave(Leave, in.Slot)
		return
	}
	b.TestReturn()
	e.putOff(ColdLeave, Equal, in.Slot, int32(Leave))
	b.Spend(in.Taken)
	e.putOff(ColdUndo, SignedLess, in.Slot, in.Taken)
	for i := range uint8(4) {
		if in.Saves>>i&1 != 0 {
			b.RestoreReg(6 + i)
		}
	}
	b.Return(in)
}
