package reference

import "github.com/bpfrun/bpfrun/decode"

// compare evaluates the condition of a jump on two values of equal width, given both zero-extended
// and sign-extended (RFC 9669 section 4.3, table 13). ok is false if the operation is invalid.
func compare(op uint8, a, b uint64, sa, sb int64) (taken, ok bool) {
	switch op {
	case 0x10: // JEQ
		return a == b, true
	case 0x20: // JGT
		return a > b, true
	case 0x30: // JGE
		return a >= b, true
	case 0x40: // JSET
		return a&b != 0, true
	case 0x50: // JNE
		return a != b, true
	case 0x60: // JSGT
		return sa > sb, true
	case 0x70: // JSGE
		return sa >= sb, true
	case 0xa0: // JLT
		return a < b, true
	case 0xb0: // JLE
		return a <= b, true
	case 0xc0: // JSLT
		return sa < sb, true
	case 0xd0: // JSLE
		return sa <= sb, true
	}
	return false, false
}

// jump executes an instruction of class JMP.
func (m *Machine) jump(in decode.Insn) {
	switch in.Code {
	case 0x05: // JA
		m.pc += 1 + int(in.Off)
		return
	case 0x0d: // gotox
		m.fault(FaultNotSimulated, "indirect jump")
	case 0x85:
		m.call(in)
		return
	case 0x95:
		m.exit()
		return
	}
	src := uint64(int64(in.Imm))
	if in.Code&0x08 != 0 {
		src = m.r[in.Src]
	}
	dst := m.r[in.Dst]
	taken, ok := compare(in.Code&0xf0, dst, src, int64(dst), int64(src))
	if !ok {
		if in.Code == 0xe5 {
			m.mayGoto(in)
			return
		}
		m.fault(FaultInvalid, "opcode %#x", in.Code)
	}
	m.pc++
	if taken {
		m.pc += int(in.Off)
	}
}

// mayGoto implements the kernel's may_goto (since 6.9): it falls through until the loop budget of
// the function is used up, then jumps.
func (m *Machine) mayGoto(in decode.Insn) {
	f := &m.frames[len(m.frames)-1]
	m.pc++
	if f.may == 0 {
		m.pc += int(in.Off)
		return
	}
	f.may--
}

// jump32 executes an instruction of class JMP32. It compares lower halves; JA has its offset in
// imm.
func (m *Machine) jump32(in decode.Insn) {
	if in.Code == 0x06 { // gotol
		m.pc += 1 + int(in.Imm)
		return
	}
	src := uint32(in.Imm)
	if in.Code&0x08 != 0 {
		src = uint32(m.r[in.Src])
	}
	dst := uint32(m.r[in.Dst])
	taken, ok := compare(in.Code&0xf0, uint64(dst), uint64(src), int64(int32(dst)), int64(int32(src)))
	if !ok {
		m.fault(FaultInvalid, "opcode %#x", in.Code)
	}
	m.pc++
	if taken {
		m.pc += int(in.Off)
	}
}

// call executes CALL: it calls a helper or a function of the program (RFC 9669 sections 4.3.1 and
// 4.3.2).
func (m *Machine) call(in decode.Insn) {
	switch in.Src {
	case 0:
		m.r[0] = m.helper(in.Imm)
		m.pc++
	case 1:
		m.enter(m.pc+1+int(in.Imm), m.pc+1)
	default:
		m.fault(FaultNotSimulated, "call of kind %d", in.Src)
	}
}

// enter calls the function at slot target. The function has its own stack, and exit restores r6 to
// r9.
func (m *Machine) enter(target, ret int) {
	if len(m.frames) == MaxFrames {
		m.fault(FaultCallDepth, "frame %d", len(m.frames)+1)
	}
	f := frame{ret: ret, may: MaxMayGoto}
	copy(f.saved[:], m.r[6:10])
	m.r[10] = m.Stacks[len(m.frames)] + StackSize
	m.frames = append(m.frames, f)
	m.pc = target
}

// exit returns from the innermost function. In the outermost function it ends the program.
func (m *Machine) exit() {
	f := m.frames[len(m.frames)-1]
	m.frames = m.frames[:len(m.frames)-1]
	if len(m.frames) == 0 {
		return
	}
	copy(m.r[6:10], f.saved[:])
	m.r[10] = m.Stacks[len(m.frames)-1] + StackSize
	m.pc = f.ret
}

// helper calls a helper and returns its result.
func (m *Machine) helper(id int32) uint64 {
	switch id {
	case 1:
		return m.mapLookup()
	case 181:
		return m.loop()
	}
	m.fault(FaultNotSimulated, "helper %d", id)
	return 0
}

// mapLookup implements bpf_map_lookup_elem for the map, an array with one element.
func (m *Machine) mapLookup() uint64 {
	if m.r[1] != m.MapAddr {
		m.fault(FaultBadArgument, "%#x is not a map", m.r[1])
	}
	if m.load(m.r[2], 4) != 0 {
		return 0
	}
	return m.Value.Addr
}

// begins reports whether a function begins at a slot: the main program, the target of a call, or a
// function whose address is taken.
func (m *Machine) begins(slot int) bool {
	if slot == 0 {
		return true
	}
	for pc := 0; pc < len(m.Insns); pc++ {
		in := m.Insns[pc]
		call, address := in.Code == 0x85 && in.Src == 1, in.Code == 0x18 && in.Src == 4
		if (call || address) && pc+1+int(in.Imm) == slot {
			return true
		}
		if in.Code == 0x18 {
			pc++
		}
	}
	return false
}

// loop implements bpf_loop. It calls the function r2 with the index and r3, r1 times or until it
// returns a value other than 0, and returns the number of calls.
func (m *Machine) loop() uint64 {
	n, entry, ctx, flags := m.r[1], m.r[2], m.r[3], m.r[4]
	at := m.pc
	n = uint64(uint32(n))
	if flags != 0 {
		return ^uint64(22) + 1 // -EINVAL
	}
	if n > MaxLoops {
		return 0xfffffff9 // -E2BIG, zero-extended
	}
	for i := uint64(0); i < n; i++ {
		slot := entry - m.TextBase
		if slot%8 != 0 || slot/8 >= uint64(len(m.Insns)) || !m.begins(int(slot/8)) {
			m.fault(FaultBadTarget, "callback %#x", entry)
		}
		m.enter(int(slot/8), at)
		m.r[1], m.r[2], m.r[3], m.r[4], m.r[5] = i, ctx, 0, 0, 0
		m.execute()
		m.pc = at
		if m.r[0] != 0 {
			return i + 1
		}
	}
	return n
}
