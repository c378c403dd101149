package amd64

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

func jumpTo(c *compiler, in *plan.Insn, _ *rule) { c.always(in) }

func branchReg(c *compiler, in *plan.Insn, r *rule) {
	c.compareReg(in, r)
	c.taken(r.cond, in)
}

func (c *compiler) compareReg(in *plan.Insn, r *rule) {
	if r.op == opTest {
		c.rr(r.w, 0x85, regs[in.Src], regs[in.Dst])
	} else {
		c.group(r.w, opCmp, regs[in.Dst], regs[in.Src])
	}
}

func branchImm(c *compiler, in *plan.Insn, r *rule) {
	c.compareImm(in, r)
	c.taken(r.cond, in)
}

func (c *compiler) compareImm(in *plan.Insn, r *rule) {
	v, d := int32(in.Imm), regs[in.Dst]
	switch {
	case r.op == opTest:
		c.rr(r.w, 0xf7, 0, d)
		c.imm32(v)
	case v == 0:
		c.test(r.w, d)
	default:
		c.groupImm(r.w, opCmp, d, v)
	}
}

// opTest in a rule is a branch on common bits.
const opTest = 0x85

// Select generates a branch with FlagSelect: the result of the operation is in temp1, or in the register that it copies, before the
// comparison, and so is what is charged.
func (c *compiler) Select(in *plan.Insn) {
	op := &c.Program.Insns[c.PC+1]
	dst, value := regs[op.Dst], c.result(op)
	r := &rules[in.Op]
	if in.ComparesImm() {
		c.compareImm(in, r)
	} else {
		c.compareReg(in, r)
	}
	skipped, executed := in.Taken, in.Next+op.Next
	if in.Size == 2 {
		executed = in.Next + c.Program.Insns[c.PC+2].Taken
	}
	unless := r.cond.not()
	c.moveIf(unless, dst, value)
	c.rm(1, 0x8d, temp2, at(roomR, -executed), 0)
	if skipped != 0 {
		c.rm(1, 0x8d, roomR, at(roomR, -skipped), 0)
	}
	c.moveIf(unless, roomR, temp2)
	switch {
	case in.Has(plan.FlagBack):
		c.test(1, roomR)
		c.turn(in)
	case in.Target != c.PC+1+int32(in.Size):
		c.Goto(in.Target)
	}
}

// result puts the result of an operation into a register that does not matter otherwise, and returns it.
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

// mayGoto continues while State.May is not 0.
func mayGoto(c *compiler, in *plan.Insn, _ *rule) {
	c.load(temp1, field(offMay))
	c.groupImm(1, opSub, temp1, 1)
	c.taken(condB, in)
	c.store(field(offMay), temp1)
}

// call is a bpf-to-bpf call. The host's call instruction pushes Frame.Return of the new frame.
func call(c *compiler, in *plan.Insn, _ *rule) {
	c.groupImm(1, opSub, roomR, in.Taken)
	c.putOff(plan.ColdUndo, condL, in.Slot, in.Taken)
	if in.Saves&plan.SavesHost != 0 {
		c.load(temp1, at(rsp, frameHost-frameSize))
		c.test(1, temp1)
	} else {
		c.cmpMem0(8, at(rsp, frameHost-frameSize))
	}
	c.putOff(plan.ColdRefuse, condE, in.Slot, in.Taken)
	for i := range 4 {
		if in.Saves>>i&1 != 0 {
			c.store(at(rsp, frameSaved+int32(8*i)-frameSize), regs[6+i])
		}
	}
	c.storeImm(at(rsp, frameRet-frameSize), in.Slot+1)
	if in.Saves&plan.SavesHost != 0 {
		c.move(hostF, temp1)
	}
	if c.Program.MayGoto {
		c.load(temp1, field(offMay))
		c.store(at(rsp, frameMay-frameSize), temp1)
		c.storeImm(field(offMay), vm.MaxMayGoto)
	}
	c.rm(1, 0x8d, rsp, at(rsp, 8-frameSize), 0)
	pos := c.callFar()
	if in.Target <= c.PC {
		c.patch(pos, int32(c.Out.Starts[in.Target]))
	} else {
		c.Fill(pos, in.Target)
	}
	c.rm(1, 0x8d, rsp, at(rsp, frameSize-8), 0)
}

// exit returns to code that called, or leaves.
func exit(c *compiler, in *plan.Insn, _ *rule) {
	if !c.calls {
		c.Leave(plan.Leave, in.Slot)
		return
	}
	c.rm(1, 0x83, opCmp, at(rsp, frameRet), 1)
	c.byte(0)
	c.putOff(plan.ColdLeave, condE, in.Slot, int32(plan.Leave))
	c.groupImm(1, opSub, roomR, in.Taken)
	c.putOff(plan.ColdUndo, condL, in.Slot, in.Taken)
	for i := range 4 {
		if in.Saves>>i&1 != 0 {
			c.load(regs[6+i], at(rsp, frameSaved+int32(8*i)))
		}
	}
	if c.Program.MayGoto {
		c.load(temp1, at(rsp, frameMay))
		c.store(field(offMay), temp1)
	}
	if in.Saves&plan.SavesHost != 0 {
		c.load(hostF, at(rsp, frameSize+frameHost))
	}
	c.byte(0xc3)
}
