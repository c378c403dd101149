package amd64

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// Compare sets the flags for a branch.
func (c *compiler) Compare(in *plan.Insn, br *plan.Branch) {
	w, v, d := uint8(0), int32(in.Imm), regs[in.Dst]
	if br.Wide {
		w = 1
	}
	switch {
	case br.Test && br.Imm:
		c.rr(w, 0xf7, 0, d)
		c.imm32(v)
	case br.Test:
		c.rr(w, 0x85, regs[in.Src], d)
	case !br.Imm:
		c.group(w, opCmp, d, regs[in.Src])
	case v == 0:
		c.test(w, d)
	default:
		c.groupImm(w, opCmp, d, v)
	}
}

// SelectResult computes the result in temp1, or finds the register that is copied.
func (c *compiler) SelectResult(op *plan.Insn) { c.chosen = c.result(op) }

// Select moves and charges without branches.
func (c *compiler) Select(op *plan.Insn, cc plan.Cond, charge, otherwise int32) {
	c.moveIf(conds[cc], regs[op.Dst], c.chosen)
	c.rm(1, 0x8d, temp2, at(roomR, -charge), 0)
	if otherwise != 0 {
		c.rm(1, 0x8d, roomR, at(roomR, -otherwise), 0)
	}
	c.moveIf(conds[cc], roomR, temp2)
}

// result computes the result of an operation in a register that is otherwise unused, and returns
// that register.
func (c *compiler) result(op *plan.Insn) reg {
	r, v := &rules[op.Op], int32(op.Imm)
	switch op.Op {
	case decode.OpMov64Reg:
		return regs[op.Src]
	case decode.OpMov32Reg:
		c.move32(temp1, regs[op.Src])
	case decode.OpMov64Imm:
		c.constant(temp1, op.Imm)
	case decode.OpMov32Imm:
		c.constant(temp1, uint64(uint32(op.Imm)))
	default:
		c.move(temp1, regs[op.Dst])
		if op.TakesReg() {
			c.group(r.w, byte(r.op), temp1, regs[op.Src])
		} else {
			c.groupImm(r.w, byte(r.op), temp1, v)
		}
	}
	return temp1
}

// CountMay decrements State.May in temp1.
func (c *compiler) CountMay() {
	c.load(temp1, field(plan.OffMay))
	c.groupImm(1, opSub, temp1, 1)
}

// KeepMay stores temp1.
func (c *compiler) KeepMay() { c.store(field(plan.OffMay), temp1) }

// TestFrame leaves Host in temp1 if it is needed.
func (c *compiler) TestFrame(in *plan.Insn) {
	if in.Saves&plan.SavesHost != 0 {
		c.load(temp1, at(rsp, plan.FrameHost-frameSize))
		c.test(1, temp1)
	} else {
		c.cmpMem0(8, at(rsp, plan.FrameHost-frameSize))
	}
}

// SaveReg saves one of r6 to r9 in the frame that is entered.
func (c *compiler) SaveReg(r uint8) {
	c.store(at(rsp, plan.FrameSaved+int32(8*(r-6))-frameSize), regs[r])
}

// SetReturn sets Ret of the frame that is entered.
func (c *compiler) SetReturn(in *plan.Insn) {
	c.storeImm(at(rsp, plan.FrameRet-frameSize), in.Slot+1)
}

// Call makes the call: the host's call instruction pushes Frame.Return of the new frame.
func (c *compiler) Call(in *plan.Insn) {
	if in.Saves&plan.SavesHost != 0 {
		c.move(hostF, temp1)
	}
	if c.Program.MayGoto {
		c.load(temp1, field(plan.OffMay))
		c.store(at(rsp, plan.FrameMay-frameSize), temp1)
		c.storeImm(field(plan.OffMay), vm.MaxMayGoto)
	}
	c.rm(1, 0x8d, rsp, at(rsp, 8-frameSize), 0)
	c.To(c.callFar(), in.Target)
	c.Returns = c.pos()
	c.rm(1, 0x8d, rsp, at(rsp, frameSize-8), 0)
}

// TestReturn tests whether the frame is the first.
func (c *compiler) TestReturn() {
	c.rm(1, 0x83, opCmp, at(rsp, plan.FrameRet), 1)
	c.byte(0)
}

// RestoreReg restores one of r6 to r9 from the frame.
func (c *compiler) RestoreReg(r uint8) { c.load(regs[r], at(rsp, plan.FrameSaved+int32(8*(r-6)))) }

// Return returns to the calling generated code.
func (c *compiler) Return(in *plan.Insn) {
	if c.Program.MayGoto {
		c.load(temp1, at(rsp, plan.FrameMay))
		c.store(field(plan.OffMay), temp1)
	}
	if in.Saves&plan.SavesHost != 0 {
		c.load(hostF, at(rsp, frameSize+plan.FrameHost))
	}
	c.byte(0xc3)
}
