package arm64

import (
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

func jumpTo(c *compiler, in *plan.Insn, _ *rule) { c.always(in) }

func branchReg(c *compiler, in *plan.Insn, r *rule) {
	c.compareReg(in, r)
	c.taken(r.cond, in)
}

func (c *compiler) compareReg(in *plan.Insn, r *rule) {
	if r.test {
		c.rrr(r.w, opAnds, zr, reg(in.Dst), reg(in.Src))
	} else {
		c.cmp(r.w, reg(in.Dst), reg(in.Src))
	}
}

func branchImm(c *compiler, in *plan.Insn, r *rule) {
	c.compareImm(in, r)
	c.taken(r.cond, in)
}

func (c *compiler) compareImm(in *plan.Insn, r *rule) {
	if r.test {
		c.logicImm(r.w, opAndsImm, opAnds, zr, reg(in.Dst), in.Imm, temp1)
	} else {
		c.cmpImm(r.w, reg(in.Dst), int64(int32(in.Imm)), temp1)
	}
}

// Select generates a branch with FlagSelect: the result of the operation is made in temp4 before the comparison, what is charged after it.
func (c *compiler) Select(in *plan.Insn) {
	op := c.Program.Insns[c.PC+1]
	dst, charged := reg(op.Dst), op.Next
	c.move(temp4, dst)
	op.Dst = uint8(temp4)
	rules[op.Op].emit(c, &op, &rules[op.Op])
	r := &rules[in.Op]
	if in.ComparesImm() {
		c.compareImm(in, r)
	} else {
		c.compareReg(in, r)
	}
	if in.Size == 2 {
		charged = c.Program.Insns[c.PC+2].Taken
	}
	c.moveIf(r.cond.not(), dst, temp4, dst)
	c.addImm(1, temp3, roomR, -int64(in.Next+charged), temp1)
	c.addImm(1, temp4, roomR, -int64(in.Taken), temp1)
	c.moveIf(r.cond.not(), roomR, temp3, temp4)
	switch {
	case in.Has(plan.FlagBack):
		c.rrr(1, opAnds, zr, roomR, roomR)
		c.turn(in)
	case in.Target != c.PC+1+int32(in.Size):
		c.to(c.branch(opB), in.Target)
	}
}

// mayGoto continues while State.May is not 0.
func mayGoto(c *compiler, in *plan.Insn, _ *rule) {
	c.get(temp2, offMay)
	c.arith(1, opSubsImm, opAddsImm, temp2, temp2, 1)
	c.taken(condLO, in)
	c.put(temp2, offMay)
}

// call is a bpf-to-bpf call. The return address is kept in lr; a function that calls saves its own in its frame.
func call(c *compiler, in *plan.Insn, _ *rule) {
	c.spend(in.Taken)
	c.putOff(plan.ColdUndo, condLT, in.Slot, in.Taken)
	c.mem(loads[3], temp2, frame, frameHost-frameSize, temp3)
	c.cmpImm(1, temp2, 0, temp3)
	c.putOff(plan.ColdRefuse, condEQ, in.Slot, in.Taken)
	for i := range int32(4) {
		if in.Saves>>i&1 != 0 {
			c.mem(stores[3], reg(6+i), frame, frameSaved+8*i-frameSize, temp3)
		}
	}
	c.constant(temp3, uint64(in.Slot+1))
	c.mem(stores[3], temp3, frame, frameRet-frameSize, temp4)
	if c.Program.MayGoto {
		c.get(temp3, offMay)
		c.mem(stores[3], temp3, frame, frameMay-frameSize, temp4)
		c.constant(temp3, vm.MaxMayGoto)
		c.put(temp3, offMay)
	}
	c.mem(stores[3], lr, frame, frameReturn, temp3)
	if in.Saves&plan.SavesHost != 0 {
		c.addImm(1, hostF, temp2, -stackBias, temp3)
	}
	c.addImm(1, frame, frame, -int64(frameSize), temp3)
	c.to(c.branch(opBL), in.Target)
	c.mem(loads[3], lr, frame, frameReturn, temp3)
}

// exit returns to code that called, or leaves.
func exit(c *compiler, in *plan.Insn, _ *rule) {
	if !c.calls {
		c.Leave(plan.Leave, in.Slot)
		return
	}
	c.mem(loads[3], temp2, frame, frameRet, temp3)
	c.cmpImm(1, temp2, 0, temp3)
	c.putOff(plan.ColdLeave, condEQ, in.Slot, int32(plan.Leave))
	c.spend(in.Taken)
	c.putOff(plan.ColdUndo, condLT, in.Slot, in.Taken)
	for i := range int32(4) {
		if in.Saves>>i&1 != 0 {
			c.mem(loads[3], reg(6+i), frame, frameSaved+8*i, temp3)
		}
	}
	if c.Program.MayGoto {
		c.mem(loads[3], temp2, frame, frameMay, temp3)
		c.put(temp2, offMay)
	}
	c.addImm(1, frame, frame, int64(frameSize), temp3)
	if in.Saves&plan.SavesHost != 0 {
		c.mem(loads[3], hostF, frame, frameHost, temp3)
		c.addImm(1, hostF, hostF, -stackBias, temp3)
	}
	c.word(opRet)
}
