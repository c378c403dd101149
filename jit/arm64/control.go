package arm64

import (
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// Compare sets the flags for a branch.
func (c *compiler) Compare(in *plan.Insn, br *plan.Branch) {
	w, d := uint8(0), reg(in.Dst)
	if br.Wide {
		w = 1
	}
	switch {
	case br.Test && br.Imm:
		c.logicImm(w, opAndsImm, opAnds, zr, d, in.Imm, temp1)
	case br.Test:
		c.rrr(w, opAnds, zr, d, reg(in.Src))
	case br.Imm:
		c.cmpImm(w, d, int64(int32(in.Imm)), temp1)
	default:
		c.cmp(w, d, reg(in.Src))
	}
}

// SelectResult computes the result in temp4.
func (c *compiler) SelectResult(op *plan.Insn) {
	result := *op
	c.move(temp4, reg(op.Dst))
	result.Dst = uint8(temp4)
	rules[op.Op].emit(c, &result, &rules[op.Op])
}

// Select moves and charges without branches.
func (c *compiler) Select(op *plan.Insn, cc plan.Cond, charge, otherwise int32) {
	c.moveIf(conds[cc], reg(op.Dst), temp4, reg(op.Dst))
	c.addImm(1, temp3, roomR, -int64(charge), temp1)
	c.addImm(1, temp4, roomR, -int64(otherwise), temp1)
	c.moveIf(conds[cc], roomR, temp3, temp4)
}

// CountMay decrements State.May in temp2.
func (c *compiler) CountMay() {
	c.get(temp2, plan.OffMay)
	c.arith(1, opSubsImm, opAddsImm, temp2, temp2, 1)
}

// KeepMay stores temp2.
func (c *compiler) KeepMay() { c.put(temp2, plan.OffMay) }

// TestFrame leaves Host in temp2.
func (c *compiler) TestFrame(*plan.Insn) {
	c.mem(loads[3], temp2, frame, plan.FrameHost-frameSize, temp3)
	c.cmpImm(1, temp2, 0, temp3)
}

// SaveReg saves one of r6 to r9 in the frame that is entered.
func (c *compiler) SaveReg(r uint8) {
	c.mem(stores[3], reg(r), frame, plan.FrameSaved+8*int32(r-6)-frameSize, temp3)
}

// SetReturn sets Ret of the frame that is entered.
func (c *compiler) SetReturn(in *plan.Insn) {
	c.constant(temp3, uint64(in.Slot+1))
	c.mem(stores[3], temp3, frame, plan.FrameRet-frameSize, temp4)
}

// Call makes the call. The return address is in lr; a function that makes calls saves its own in
// its frame.
func (c *compiler) Call(in *plan.Insn) {
	if c.Program.MayGoto {
		c.get(temp3, plan.OffMay)
		c.mem(stores[3], temp3, frame, plan.FrameMay-frameSize, temp4)
		c.constant(temp3, vm.MaxMayGoto)
		c.put(temp3, plan.OffMay)
	}
	c.mem(stores[3], lr, frame, plan.FrameReturn, temp3)
	if in.Saves&plan.SavesHost != 0 {
		c.addImm(1, hostF, temp2, -stackBias, temp3)
	}
	c.addImm(1, frame, frame, -int64(frameSize), temp3)
	c.To(c.branch(opBL), in.Target)
	c.Returns = c.pos()
	c.mem(loads[3], lr, frame, plan.FrameReturn, temp3)
}

// TestReturn tests whether the frame is the first.
func (c *compiler) TestReturn() {
	c.mem(loads[3], temp2, frame, plan.FrameRet, temp3)
	c.cmpImm(1, temp2, 0, temp3)
}

// RestoreReg restores one of r6 to r9 from the frame.
func (c *compiler) RestoreReg(r uint8) {
	c.mem(loads[3], reg(r), frame, plan.FrameSaved+8*int32(r-6), temp3)
}

// Return returns to the calling generated code.
func (c *compiler) Return(in *plan.Insn) {
	if c.Program.MayGoto {
		c.mem(loads[3], temp2, frame, plan.FrameMay, temp3)
		c.put(temp2, plan.OffMay)
	}
	c.addImm(1, frame, frame, int64(frameSize), temp3)
	if in.Saves&plan.SavesHost != 0 {
		c.mem(loads[3], hostF, frame, plan.FrameHost, temp3)
		c.addImm(1, hostF, hostF, -stackBias, temp3)
	}
	c.word(opRet)
}
