package main

import "github.com/bpfrun/bpfrun/internal/testing/mutate"

// fault is one semantic error to insert into the interpreter.
type fault = mutate.Fault

func put(name, file, anchor, old, new string) fault {
	return fault{Name: name, File: file, Anchor: anchor, Old: old, New: new}
}

// op returns a fault in the case of an instruction in the dispatch loop; fused returns one in the
// case of a superinstruction.
func op(name, op, old, new string) fault {
	return put(name, "vm/loop_gen.go", "case uint16(decode.Op"+op+")", old, new)
}

func fused(name, op, old, new string) fault {
	return put(name, "vm/loop_gen.go", "case "+op+":", old, new)
}

func slow(name, anchor, old, new string) fault { return put(name, "vm/slow.go", anchor, old, new) }

// faults lists the errors that the tests must detect. Those from "fused" on are in code that runs
// only for fused sequences.
var faults = []fault{
	op("jlt64_reg is jle", "Jlt64Reg", "<", "<="),
	op("jle32_imm is jlt", "Jle32Imm", "<=", "<"),
	op("jsgt64_imm is jsge", "Jsgt64Imm", ") > ", ") >= "),
	op("jsge32_reg is jsgt", "Jsge32Reg", ") >= ", ") > "),
	op("jgt32_imm compares signed", "Jgt32Imm", "uint32(regs[in.dst]) > uint32(in.imm)", "int32(regs[in.dst]) > int32(in.imm)"),
	op("jslt32_reg compares unsigned", "Jslt32Reg", "int32(regs[in.dst]) < int32(regs[in.src])", "uint32(regs[in.dst]) < uint32(regs[in.src])"),
	op("jset32_imm tests all 64 bits", "Jset32Imm", "uint32(regs[in.dst])&uint32(in.imm)", "regs[in.dst]&in.imm"),
	op("jeq32_reg compares all 64 bits", "Jeq32Reg", "uint32(regs[in.dst]) == uint32(regs[in.src])", "regs[in.dst] == regs[in.src]"),
	op("jne64_imm does not extend the sign", "Jne64Imm", "in.imm", "uint64(uint32(in.imm))"),
	op("add32_imm keeps the carry", "Add32Imm", "uint64(uint32(regs[in.dst]) + uint32(in.imm))", "uint64(uint32(regs[in.dst])) + uint64(uint32(in.imm))"),
	op("neg32 extends the sign", "Neg32", "uint64(-uint32(regs[in.dst]))", "uint64(int64(int32(-uint32(regs[in.dst]))))"),
	op("mov32_reg keeps the upper half", "Mov32Reg", "uint64(uint32(regs[in.src]))", "regs[in.src]"),
	op("lsh64_reg masks the count to 5 bits", "Lsh64Reg", "& 63", "& 31"),
	op("arsh32_reg masks the count to 6 bits", "Arsh32Reg", "& 31", "& 63"),
	op("rsh32_imm is arithmetic", "Rsh32Imm", "uint64(uint32(regs[in.dst]) >> (in.imm & 31))", "uint64(uint32(int32(regs[in.dst]) >> (in.imm & 31)))"),
	op("arsh64_imm is logical", "Arsh64Imm", "uint64(int64(regs[in.dst]) >> (in.imm & 63))", "regs[in.dst] >> (in.imm & 63)"),
	op("div32_reg by zero keeps the dividend", "Div32Reg", "regs[in.dst] = 0", "regs[in.dst] = uint64(uint32(regs[in.dst]))"),
	op("mod64_reg by zero is zero", "Mod64Reg", "% v\n\t\t\t}", "% v\n\t\t\t} else {\n\t\t\t\tregs[in.dst] = 0\n\t\t\t}"),
	op("sdiv64_reg is unsigned", "SDiv64Reg", "uint64(int64(regs[in.dst]) / v)", "regs[in.dst] / uint64(v)"),
	op("smod32_reg is unsigned", "SMod32Reg", "uint64(uint32(int32(regs[in.dst]) % v))", "uint64(uint32(regs[in.dst]) % uint32(v))"),
	op("div64_imm does not extend the sign", "Div64Imm", "v := in.imm", "v := uint64(uint32(in.imm))"),
	op("movsx 8 to 32 fills the upper half", "MovSX8To32", "uint64(uint32(int32(int8(regs[in.src]))))", "uint64(int64(int8(regs[in.src])))"),
	op("movsx 16 to 64 extends with zeros", "MovSX16To64", "uint64(int64(int16(regs[in.src])))", "uint64(uint16(regs[in.src]))"),
	op("be16 keeps the upper bits", "BE16", "uint64(bits.ReverseBytes16(uint16(regs[in.dst])))", "regs[in.dst]&^0xffff | uint64(bits.ReverseBytes16(uint16(regs[in.dst])))"),
	op("le32 does not truncate", "LE32", "uint64(uint32(regs[in.dst]))", "regs[in.dst]"),
	op("ldxsb extends with zeros", "LdxSB", "uint64(int64(int8(*(*uint8)(unsafe.Add(data, o)))))", "uint64(*(*uint8)(unsafe.Add(data, o)))"),
	op("ldxsh extends to 32 bits", "LdxSH", "uint64(int64(int16(*(*uint16)(unsafe.Add(data, o)))))", "uint64(uint32(int32(int16(*(*uint16)(unsafe.Add(data, o))))))"),
	op("st_dw does not extend the sign", "StDW", "= in.imm", "= uint64(uint32(in.imm))"),
	slow("fetch_or gives the new value", "case op.fetch:", "regs[in.src] = old", "if regs[in.src] = old; op.kind == memOr {\n\t\t\tregs[in.src] = v\n\t\t}"),
	slow("cmpxchg_w compares all of r0", "case memCmpXchg:", "size == 4", "size == 9"),
	slow("cmpxchg keeps r0 when it fails", "case op.kind == memCmpXchg:", "regs[0] = old", "if v == src {\n\t\t\tregs[0] = old\n\t\t}"),
	slow("load_acquire of 2 bytes loads 1", "decode.OpLoadAcqB:", "{memLoadAcq, 2, false}", "{memLoadAcq, 1, false}"),
	slow("ld_ind ignores its immediate", "case decode.OpLdIndB", "off += int32(t.regs[in.src])", "off = int32(t.regs[in.src])"),
	slow("offsets from the network header start at the packet", "off >= -0x100000", "0x100000 + network", "0x100000"),
	put("exit does not restore r9", "vm/loop_gen.go", "// What pop does, without leaving the loop.", "regs[8], regs[9] = f.saved[0], f.saved[1], f.saved[2], f.saved[3]", "regs[8], _ = f.saved[0], f.saved[1], f.saved[2], f.saved[3]"),
	fused("fused: load w, add32 does not clear the upper half", "fLoadWAdd32", "uint64(uint32(regs[in.dst]) + uint32(v))", "uint64(uint32(regs[in.dst])) + v"),
	fused("fused: two moves read the registers first", "fMov64RegMov64Reg", "regs[in.dst] = regs[in.src]\n\t\t\tin = (*inst)(ip)\n\t\t\tip = unsafe.Add(ip, instSize)\n\t\t\tregs[in.dst] = regs[in.src]", "v := regs[(*inst)(ip).src]\n\t\t\tregs[in.dst] = regs[in.src]\n\t\t\tin = (*inst)(ip)\n\t\t\tip = unsafe.Add(ip, instSize)\n\t\t\tregs[in.dst] = v"),
	fused("fused: add, jgt is jge", "fAdd64Jgt64Imm", "v > in.imm", "v >= in.imm"),
	fused("fused: lsh, rsh is arithmetic", "fLshRsh", "v >> (in.imm & 63)", "uint64(int64(v) >> (in.imm & 63))"),
	fused("fused: the second of two stores stores the first's register", "fStoreDWStoreDW", "*(*uint64)(unsafe.Add(data, p)) = regs[in.src]", "*(*uint64)(unsafe.Add(data, p)) = *(*uint64)(unsafe.Add(data, o))"),
}
