package decode

// codeAtomicDW is the opcode byte of 64-bit atomics, the only size in which every atomic operation
// exists.
const codeAtomicDW = 0xdb

// fields checks each instruction on its own (check_alu_op, check_cond_jmp_op, check_atomic,
// check_reg_arg and others).
func (c *checker) fields() *CheckError {
	for pc := 0; pc < len(c.insns); pc += c.insns[pc].Len() {
		in := c.insns[pc]
		info := c.info(pc)
		if f := in.reserved(info); f != 0 {
			return fail(pc, ErrReserved, "%s with %s", info.Name, reservedText(in, f))
		}
		if err := c.registers(pc, in, info); err != nil {
			return err
		}
		if err := c.constant(pc, in, info); err != nil {
			return err
		}
		if c.cfg.Walked {
			continue
		}
		if base, mem := memoryBase(in, info); mem != nil && base == FramePointer {
			if err := stackAccess(pc, in, int(mem.Size)); err != nil {
				return err
			}
		}
	}
	return nil
}

func reservedText(in Insn, f Field) string {
	switch {
	case f&FieldDst != 0:
		return fieldText("dst", int(in.Dst))
	case f&FieldSrc != 0:
		return fieldText("src", int(in.Src))
	case f&FieldOff != 0:
		return fieldText("offset", int(in.Off))
	}
	return fieldText("imm", int(in.Imm))
}

// registers checks register numbers and that nothing writes r10. With Walked the verifier checks
// r10 when it reaches the instruction (check_reg_arg).
func (c *checker) registers(pc int, in Insn, info *Info) *CheckError {
	f := info.Fields()
	if f&FieldDst != 0 && in.Dst >= NumRegs {
		return fail(pc, ErrRegister, "r%d", in.Dst)
	}
	if f&FieldSrc != 0 && in.Src >= NumRegs {
		return fail(pc, ErrRegister, "r%d", in.Src)
	}
	if !c.cfg.Walked && (info.Writes&RegDst != 0 && in.Dst == FramePointer || info.Writes&RegSrc != 0 && in.Src == FramePointer) {
		return fail(pc, ErrFramePointer, "%s", info.Name)
	}
	return nil
}

// constant checks immediates and called functions.
func (c *checker) constant(pc int, in Insn, info *Info) *CheckError {
	switch info.Op {
	case OpLsh64Imm, OpRsh64Imm, OpArsh64Imm, OpLsh32Imm, OpRsh32Imm, OpArsh32Imm:
		if !c.cfg.Lenient && !c.cfg.Walked && (in.Imm < 0 || in.Imm >= int32(info.Width)) {
			return fail(pc, ErrShift, "%d of %d bits", in.Imm, info.Width)
		}
	case OpDiv64Imm, OpDiv32Imm, OpSDiv64Imm, OpSDiv32Imm, OpMod64Imm, OpMod32Imm, OpSMod64Imm, OpSMod32Imm:
		if in.Imm == 0 && !c.cfg.Walked {
			return fail(pc, ErrDivByZero, "%s", info.Name)
		}
	case OpAddrSpaceCast:
		if in.Imm != 1 && in.Imm != 1<<16 {
			return fail(pc, ErrAddrSpace, "imm is %#x, only 0 and 1 convert", uint32(in.Imm))
		}
	case OpCallHelper:
		if c.cfg.Helper != nil && !c.cfg.Helper(in.Imm) {
			return fail(pc, ErrUnknownFunc, "helper %d", in.Imm)
		}
	case OpCallKfunc:
		if c.cfg.Kfunc != nil && !c.cfg.Kfunc(in) {
			return fail(pc, ErrUnknownFunc, "kernel function with BTF id %d, object %d", in.Imm, in.Off)
		}
	}
	return nil
}

// stackAccess checks a direct access through r10: it must be aligned and within the 512 bytes below
// r10 (check_stack_access_within_bounds, check_ptr_alignment, which is always strict for the
// stack).
func stackAccess(pc int, in Insn, size int) *CheckError {
	off := int(in.Off)
	if off < -MaxStack || off+size > 0 {
		return fail(pc, ErrStackAccess, "%d bytes at r10%+d, the stack is %d bytes", size, off, MaxStack)
	}
	if off%size != 0 {
		return fail(pc, ErrStackAccess, "%d bytes at r10%+d are not aligned", size, off)
	}
	return nil
}
