package decode

// aluTable lists the instructions that compute: RFC 9669 sections 4.1 and 4.2, and addr_space_cast
// (kernel/bpf/arena.c).
var aluTable = []Info{
	// ALU: add.
	{Op: OpAdd64Imm, Name: "add64_imm", Code: 0x7, Form: FormALUImm, Text: "+=", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpAdd64Reg, Name: "add64_reg", Code: 0xf, Form: FormALUReg, Text: "+=", Width: 64, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpAdd32Imm, Name: "add32_imm", Code: 0x4, Form: FormALUImm, Text: "+=", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpAdd32Reg, Name: "add32_reg", Code: 0xc, Form: FormALUReg, Text: "+=", Width: 32, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	// ALU: sub.
	{Op: OpSub64Imm, Name: "sub64_imm", Code: 0x17, Form: FormALUImm, Text: "-=", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpSub64Reg, Name: "sub64_reg", Code: 0x1f, Form: FormALUReg, Text: "-=", Width: 64, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpSub32Imm, Name: "sub32_imm", Code: 0x14, Form: FormALUImm, Text: "-=", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpSub32Reg, Name: "sub32_reg", Code: 0x1c, Form: FormALUReg, Text: "-=", Width: 32, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	// ALU: mul.
	{Op: OpMul64Imm, Name: "mul64_imm", Code: 0x27, Form: FormALUImm, Text: "*=", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupDivMul64, ISA: 1, Since: v3_18},
	{Op: OpMul64Reg, Name: "mul64_reg", Code: 0x2f, Form: FormALUReg, Text: "*=", Width: 64, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupDivMul64, ISA: 1, Since: v3_18},
	{Op: OpMul32Imm, Name: "mul32_imm", Code: 0x24, Form: FormALUImm, Text: "*=", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupDivMul32, ISA: 1, Since: v3_18},
	{Op: OpMul32Reg, Name: "mul32_reg", Code: 0x2c, Form: FormALUReg, Text: "*=", Width: 32, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupDivMul32, ISA: 1, Since: v3_18},
	// ALU: div.
	{Op: OpDiv64Imm, Name: "div64_imm", Code: 0x37, Sub: SubOff, SubValue: 0, Form: FormALUImm, Text: "/=", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupDivMul64, ISA: 1, Since: v3_18},
	{Op: OpDiv64Reg, Name: "div64_reg", Code: 0x3f, Sub: SubOff, SubValue: 0, Form: FormALUReg, Text: "/=", Width: 64, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupDivMul64, ISA: 1, Since: v3_18},
	{Op: OpDiv32Imm, Name: "div32_imm", Code: 0x34, Sub: SubOff, SubValue: 0, Form: FormALUImm, Text: "/=", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupDivMul32, ISA: 1, Since: v3_18},
	{Op: OpDiv32Reg, Name: "div32_reg", Code: 0x3c, Sub: SubOff, SubValue: 0, Form: FormALUReg, Text: "/=", Width: 32, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupDivMul32, ISA: 1, Since: v3_18},
	// ALU: sdiv.
	{Op: OpSDiv64Imm, Name: "sdiv64_imm", Code: 0x37, Sub: SubOff, SubValue: 1, Form: FormALUImm, Text: "s/=", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupDivMul64, ISA: 4, Since: v6_6},
	{Op: OpSDiv64Reg, Name: "sdiv64_reg", Code: 0x3f, Sub: SubOff, SubValue: 1, Form: FormALUReg, Text: "s/=", Width: 64, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupDivMul64, ISA: 4, Since: v6_6},
	{Op: OpSDiv32Imm, Name: "sdiv32_imm", Code: 0x34, Sub: SubOff, SubValue: 1, Form: FormALUImm, Text: "s/=", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupDivMul32, ISA: 4, Since: v6_6},
	{Op: OpSDiv32Reg, Name: "sdiv32_reg", Code: 0x3c, Sub: SubOff, SubValue: 1, Form: FormALUReg, Text: "s/=", Width: 32, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupDivMul32, ISA: 4, Since: v6_6},
	// ALU: or.
	{Op: OpOr64Imm, Name: "or64_imm", Code: 0x47, Form: FormALUImm, Text: "|=", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpOr64Reg, Name: "or64_reg", Code: 0x4f, Form: FormALUReg, Text: "|=", Width: 64, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpOr32Imm, Name: "or32_imm", Code: 0x44, Form: FormALUImm, Text: "|=", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpOr32Reg, Name: "or32_reg", Code: 0x4c, Form: FormALUReg, Text: "|=", Width: 32, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	// ALU: and.
	{Op: OpAnd64Imm, Name: "and64_imm", Code: 0x57, Form: FormALUImm, Text: "&=", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpAnd64Reg, Name: "and64_reg", Code: 0x5f, Form: FormALUReg, Text: "&=", Width: 64, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpAnd32Imm, Name: "and32_imm", Code: 0x54, Form: FormALUImm, Text: "&=", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpAnd32Reg, Name: "and32_reg", Code: 0x5c, Form: FormALUReg, Text: "&=", Width: 32, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	// ALU: lsh.
	{Op: OpLsh64Imm, Name: "lsh64_imm", Code: 0x67, Form: FormALUImm, Text: "<<=", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpLsh64Reg, Name: "lsh64_reg", Code: 0x6f, Form: FormALUReg, Text: "<<=", Width: 64, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpLsh32Imm, Name: "lsh32_imm", Code: 0x64, Form: FormALUImm, Text: "<<=", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpLsh32Reg, Name: "lsh32_reg", Code: 0x6c, Form: FormALUReg, Text: "<<=", Width: 32, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	// ALU: rsh.
	{Op: OpRsh64Imm, Name: "rsh64_imm", Code: 0x77, Form: FormALUImm, Text: ">>=", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpRsh64Reg, Name: "rsh64_reg", Code: 0x7f, Form: FormALUReg, Text: ">>=", Width: 64, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpRsh32Imm, Name: "rsh32_imm", Code: 0x74, Form: FormALUImm, Text: ">>=", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpRsh32Reg, Name: "rsh32_reg", Code: 0x7c, Form: FormALUReg, Text: ">>=", Width: 32, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	// ALU: mod.
	{Op: OpMod64Imm, Name: "mod64_imm", Code: 0x97, Sub: SubOff, SubValue: 0, Form: FormALUImm, Text: "%=", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupDivMul64, ISA: 1, Since: v3_18},
	{Op: OpMod64Reg, Name: "mod64_reg", Code: 0x9f, Sub: SubOff, SubValue: 0, Form: FormALUReg, Text: "%=", Width: 64, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupDivMul64, ISA: 1, Since: v3_18},
	{Op: OpMod32Imm, Name: "mod32_imm", Code: 0x94, Sub: SubOff, SubValue: 0, Form: FormALUImm, Text: "%=", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupDivMul32, ISA: 1, Since: v3_18},
	{Op: OpMod32Reg, Name: "mod32_reg", Code: 0x9c, Sub: SubOff, SubValue: 0, Form: FormALUReg, Text: "%=", Width: 32, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupDivMul32, ISA: 1, Since: v3_18},
	// ALU: smod.
	{Op: OpSMod64Imm, Name: "smod64_imm", Code: 0x97, Sub: SubOff, SubValue: 1, Form: FormALUImm, Text: "s%=", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupDivMul64, ISA: 4, Since: v6_6},
	{Op: OpSMod64Reg, Name: "smod64_reg", Code: 0x9f, Sub: SubOff, SubValue: 1, Form: FormALUReg, Text: "s%=", Width: 64, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupDivMul64, ISA: 4, Since: v6_6},
	{Op: OpSMod32Imm, Name: "smod32_imm", Code: 0x94, Sub: SubOff, SubValue: 1, Form: FormALUImm, Text: "s%=", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupDivMul32, ISA: 4, Since: v6_6},
	{Op: OpSMod32Reg, Name: "smod32_reg", Code: 0x9c, Sub: SubOff, SubValue: 1, Form: FormALUReg, Text: "s%=", Width: 32, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupDivMul32, ISA: 4, Since: v6_6},
	// ALU: xor.
	{Op: OpXor64Imm, Name: "xor64_imm", Code: 0xa7, Form: FormALUImm, Text: "^=", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpXor64Reg, Name: "xor64_reg", Code: 0xaf, Form: FormALUReg, Text: "^=", Width: 64, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpXor32Imm, Name: "xor32_imm", Code: 0xa4, Form: FormALUImm, Text: "^=", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpXor32Reg, Name: "xor32_reg", Code: 0xac, Form: FormALUReg, Text: "^=", Width: 32, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	// ALU: move.
	{Op: OpMov64Imm, Name: "mov64_imm", Code: 0xb7, Form: FormALUImm, Text: "=", Width: 64, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpMov64Reg, Name: "mov64_reg", Code: 0xbf, Sub: SubOff, SubValue: 0, Form: FormALUReg, Text: "=", Width: 64, Reads: RegSrc, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpMov32Imm, Name: "mov32_imm", Code: 0xb4, Form: FormALUImm, Text: "=", Width: 32, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpMov32Reg, Name: "mov32_reg", Code: 0xbc, Sub: SubOff, SubValue: 0, Form: FormALUReg, Text: "=", Width: 32, Reads: RegSrc, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	// ALU: arsh.
	{Op: OpArsh64Imm, Name: "arsh64_imm", Code: 0xc7, Form: FormALUImm, Text: "s>>=", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpArsh64Reg, Name: "arsh64_reg", Code: 0xcf, Form: FormALUReg, Text: "s>>=", Width: 64, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpArsh32Imm, Name: "arsh32_imm", Code: 0xc4, Form: FormALUImm, Text: "s>>=", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v5_0},
	{Op: OpArsh32Reg, Name: "arsh32_reg", Code: 0xcc, Form: FormALUReg, Text: "s>>=", Width: 32, Reads: RegDst | RegSrc, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v5_0},
	// ALU: unary.
	{Op: OpNeg64, Name: "neg64", Code: 0x87, Form: FormNeg, Text: "-", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpNeg32, Name: "neg32", Code: 0x84, Form: FormNeg, Text: "-", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	// ALU: sign-extending moves.
	{Op: OpMovSX8To64, Name: "movsx8_64", Code: 0xbf, Sub: SubOff, SubValue: 8, Form: FormMovSX, Text: "s8", Width: 64, Reads: RegSrc, Writes: RegDst, Group: GroupBase64, ISA: 4, Since: v6_6},
	{Op: OpMovSX16To64, Name: "movsx16_64", Code: 0xbf, Sub: SubOff, SubValue: 16, Form: FormMovSX, Text: "s16", Width: 64, Reads: RegSrc, Writes: RegDst, Group: GroupBase64, ISA: 4, Since: v6_6},
	{Op: OpMovSX32To64, Name: "movsx32_64", Code: 0xbf, Sub: SubOff, SubValue: 32, Form: FormMovSX, Text: "s32", Width: 64, Reads: RegSrc, Writes: RegDst, Group: GroupBase64, ISA: 4, Since: v6_6},
	{Op: OpMovSX8To32, Name: "movsx8_32", Code: 0xbc, Sub: SubOff, SubValue: 8, Form: FormMovSX, Text: "s8", Width: 32, Reads: RegSrc, Writes: RegDst, Group: GroupBase32, ISA: 4, Since: v6_6},
	{Op: OpMovSX16To32, Name: "movsx16_32", Code: 0xbc, Sub: SubOff, SubValue: 16, Form: FormMovSX, Text: "s16", Width: 32, Reads: RegSrc, Writes: RegDst, Group: GroupBase32, ISA: 4, Since: v6_6},
	// ALU: byte order; the result is zero-extended from its width.
	{Op: OpLE16, Name: "le16", Code: 0xd4, Sub: SubImm, SubValue: 16, Form: FormEnd, Text: "le16", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpLE32, Name: "le32", Code: 0xd4, Sub: SubImm, SubValue: 32, Form: FormEnd, Text: "le32", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpLE64, Name: "le64", Code: 0xd4, Sub: SubImm, SubValue: 64, Form: FormEnd, Text: "le64", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpBE16, Name: "be16", Code: 0xdc, Sub: SubImm, SubValue: 16, Form: FormEnd, Text: "be16", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpBE32, Name: "be32", Code: 0xdc, Sub: SubImm, SubValue: 32, Form: FormEnd, Text: "be32", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpBE64, Name: "be64", Code: 0xdc, Sub: SubImm, SubValue: 64, Form: FormEnd, Text: "be64", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpBswap16, Name: "bswap16", Code: 0xd7, Sub: SubImm, SubValue: 16, Form: FormEnd, Text: "bswap16", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 4, Since: v6_6},
	{Op: OpBswap32, Name: "bswap32", Code: 0xd7, Sub: SubImm, SubValue: 32, Form: FormEnd, Text: "bswap32", Width: 32, Reads: RegDst, Writes: RegDst, Group: GroupBase32, ISA: 4, Since: v6_6},
	{Op: OpBswap64, Name: "bswap64", Code: 0xd7, Sub: SubImm, SubValue: 64, Form: FormEnd, Text: "bswap64", Width: 64, Reads: RegDst, Writes: RegDst, Group: GroupBase64, ISA: 4, Since: v6_6},
	// ALU: arenas.
	{Op: OpAddrSpaceCast, Name: "addr_space_cast", Code: 0xbf, Sub: SubOff, SubValue: 1, Form: FormAddrCast, Text: "addr_space_cast", Width: 64, Reads: RegSrc, Writes: RegDst, Group: GroupKernel, ISA: 4, Since: v6_9},
}
