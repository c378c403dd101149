package decode

// jmpTable lists the control flow instructions: RFC 9669 section 4.3, and the kernel's may_goto and
// gotox.
var jmpTable = []Info{
	// Jumps.
	{Op: OpJa, Name: "ja", Code: 0x5, Form: FormGoto, Text: "goto", Width: 64, Flags: FlagJump, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpJa32, Name: "ja32", Code: 0x6, Form: FormGotoL, Text: "gotol", Width: 64, Flags: FlagJump, Group: GroupBase32, ISA: 4, Since: v6_6},
	{Op: OpGotoX, Name: "gotox", Code: 0xd, Form: FormGotoX, Text: "gotox", Width: 64, Reads: RegDst, Flags: FlagJump, Group: GroupKernel, ISA: 4, Since: v6_19},
	{Op: OpMayGoto, Name: "may_goto", Code: 0xe5, Form: FormMayGoto, Text: "may_goto", Width: 64, Flags: FlagBranch, Group: GroupKernel, ISA: 4, Since: v6_9},
	// Jumps: jeq.
	{Op: OpJeq64Imm, Name: "jeq64_imm", Code: 0x15, Form: FormJumpImm, Text: "==", Width: 64, Reads: RegDst, Flags: FlagBranch, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJeq64Reg, Name: "jeq64_reg", Code: 0x1d, Form: FormJumpReg, Text: "==", Width: 64, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJeq32Imm, Name: "jeq32_imm", Code: 0x16, Form: FormJumpImm, Text: "==", Width: 32, Reads: RegDst, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	{Op: OpJeq32Reg, Name: "jeq32_reg", Code: 0x1e, Form: FormJumpReg, Text: "==", Width: 32, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	// Jumps: jgt.
	{Op: OpJgt64Imm, Name: "jgt64_imm", Code: 0x25, Form: FormJumpImm, Text: ">", Width: 64, Reads: RegDst, Flags: FlagBranch, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJgt64Reg, Name: "jgt64_reg", Code: 0x2d, Form: FormJumpReg, Text: ">", Width: 64, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJgt32Imm, Name: "jgt32_imm", Code: 0x26, Form: FormJumpImm, Text: ">", Width: 32, Reads: RegDst, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	{Op: OpJgt32Reg, Name: "jgt32_reg", Code: 0x2e, Form: FormJumpReg, Text: ">", Width: 32, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	// Jumps: jge.
	{Op: OpJge64Imm, Name: "jge64_imm", Code: 0x35, Form: FormJumpImm, Text: ">=", Width: 64, Reads: RegDst, Flags: FlagBranch, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJge64Reg, Name: "jge64_reg", Code: 0x3d, Form: FormJumpReg, Text: ">=", Width: 64, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJge32Imm, Name: "jge32_imm", Code: 0x36, Form: FormJumpImm, Text: ">=", Width: 32, Reads: RegDst, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	{Op: OpJge32Reg, Name: "jge32_reg", Code: 0x3e, Form: FormJumpReg, Text: ">=", Width: 32, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	// Jumps: jset.
	{Op: OpJset64Imm, Name: "jset64_imm", Code: 0x45, Form: FormJumpImm, Text: "&", Width: 64, Reads: RegDst, Flags: FlagBranch, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJset64Reg, Name: "jset64_reg", Code: 0x4d, Form: FormJumpReg, Text: "&", Width: 64, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJset32Imm, Name: "jset32_imm", Code: 0x46, Form: FormJumpImm, Text: "&", Width: 32, Reads: RegDst, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	{Op: OpJset32Reg, Name: "jset32_reg", Code: 0x4e, Form: FormJumpReg, Text: "&", Width: 32, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	// Jumps: jne.
	{Op: OpJne64Imm, Name: "jne64_imm", Code: 0x55, Form: FormJumpImm, Text: "!=", Width: 64, Reads: RegDst, Flags: FlagBranch, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJne64Reg, Name: "jne64_reg", Code: 0x5d, Form: FormJumpReg, Text: "!=", Width: 64, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJne32Imm, Name: "jne32_imm", Code: 0x56, Form: FormJumpImm, Text: "!=", Width: 32, Reads: RegDst, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	{Op: OpJne32Reg, Name: "jne32_reg", Code: 0x5e, Form: FormJumpReg, Text: "!=", Width: 32, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	// Jumps: jsgt.
	{Op: OpJsgt64Imm, Name: "jsgt64_imm", Code: 0x65, Form: FormJumpImm, Text: "s>", Width: 64, Reads: RegDst, Flags: FlagBranch | FlagSigned, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJsgt64Reg, Name: "jsgt64_reg", Code: 0x6d, Form: FormJumpReg, Text: "s>", Width: 64, Reads: RegDst | RegSrc, Flags: FlagBranch | FlagSigned, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJsgt32Imm, Name: "jsgt32_imm", Code: 0x66, Form: FormJumpImm, Text: "s>", Width: 32, Reads: RegDst, Flags: FlagBranch | FlagSigned, Group: GroupBase32, ISA: 3, Since: v5_1},
	{Op: OpJsgt32Reg, Name: "jsgt32_reg", Code: 0x6e, Form: FormJumpReg, Text: "s>", Width: 32, Reads: RegDst | RegSrc, Flags: FlagBranch | FlagSigned, Group: GroupBase32, ISA: 3, Since: v5_1},
	// Jumps: jsge.
	{Op: OpJsge64Imm, Name: "jsge64_imm", Code: 0x75, Form: FormJumpImm, Text: "s>=", Width: 64, Reads: RegDst, Flags: FlagBranch | FlagSigned, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJsge64Reg, Name: "jsge64_reg", Code: 0x7d, Form: FormJumpReg, Text: "s>=", Width: 64, Reads: RegDst | RegSrc, Flags: FlagBranch | FlagSigned, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpJsge32Imm, Name: "jsge32_imm", Code: 0x76, Form: FormJumpImm, Text: "s>=", Width: 32, Reads: RegDst, Flags: FlagBranch | FlagSigned, Group: GroupBase32, ISA: 3, Since: v5_1},
	{Op: OpJsge32Reg, Name: "jsge32_reg", Code: 0x7e, Form: FormJumpReg, Text: "s>=", Width: 32, Reads: RegDst | RegSrc, Flags: FlagBranch | FlagSigned, Group: GroupBase32, ISA: 3, Since: v5_1},
	// Jumps: jlt.
	{Op: OpJlt64Imm, Name: "jlt64_imm", Code: 0xa5, Form: FormJumpImm, Text: "<", Width: 64, Reads: RegDst, Flags: FlagBranch, Group: GroupBase64, ISA: 2, Since: v4_14},
	{Op: OpJlt64Reg, Name: "jlt64_reg", Code: 0xad, Form: FormJumpReg, Text: "<", Width: 64, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase64, ISA: 2, Since: v4_14},
	{Op: OpJlt32Imm, Name: "jlt32_imm", Code: 0xa6, Form: FormJumpImm, Text: "<", Width: 32, Reads: RegDst, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	{Op: OpJlt32Reg, Name: "jlt32_reg", Code: 0xae, Form: FormJumpReg, Text: "<", Width: 32, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	// Jumps: jle.
	{Op: OpJle64Imm, Name: "jle64_imm", Code: 0xb5, Form: FormJumpImm, Text: "<=", Width: 64, Reads: RegDst, Flags: FlagBranch, Group: GroupBase64, ISA: 2, Since: v4_14},
	{Op: OpJle64Reg, Name: "jle64_reg", Code: 0xbd, Form: FormJumpReg, Text: "<=", Width: 64, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase64, ISA: 2, Since: v4_14},
	{Op: OpJle32Imm, Name: "jle32_imm", Code: 0xb6, Form: FormJumpImm, Text: "<=", Width: 32, Reads: RegDst, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	{Op: OpJle32Reg, Name: "jle32_reg", Code: 0xbe, Form: FormJumpReg, Text: "<=", Width: 32, Reads: RegDst | RegSrc, Flags: FlagBranch, Group: GroupBase32, ISA: 3, Since: v5_1},
	// Jumps: jslt.
	{Op: OpJslt64Imm, Name: "jslt64_imm", Code: 0xc5, Form: FormJumpImm, Text: "s<", Width: 64, Reads: RegDst, Flags: FlagBranch | FlagSigned, Group: GroupBase64, ISA: 2, Since: v4_14},
	{Op: OpJslt64Reg, Name: "jslt64_reg", Code: 0xcd, Form: FormJumpReg, Text: "s<", Width: 64, Reads: RegDst | RegSrc, Flags: FlagBranch | FlagSigned, Group: GroupBase64, ISA: 2, Since: v4_14},
	{Op: OpJslt32Imm, Name: "jslt32_imm", Code: 0xc6, Form: FormJumpImm, Text: "s<", Width: 32, Reads: RegDst, Flags: FlagBranch | FlagSigned, Group: GroupBase32, ISA: 3, Since: v5_1},
	{Op: OpJslt32Reg, Name: "jslt32_reg", Code: 0xce, Form: FormJumpReg, Text: "s<", Width: 32, Reads: RegDst | RegSrc, Flags: FlagBranch | FlagSigned, Group: GroupBase32, ISA: 3, Since: v5_1},
	// Jumps: jsle.
	{Op: OpJsle64Imm, Name: "jsle64_imm", Code: 0xd5, Form: FormJumpImm, Text: "s<=", Width: 64, Reads: RegDst, Flags: FlagBranch | FlagSigned, Group: GroupBase64, ISA: 2, Since: v4_14},
	{Op: OpJsle64Reg, Name: "jsle64_reg", Code: 0xdd, Form: FormJumpReg, Text: "s<=", Width: 64, Reads: RegDst | RegSrc, Flags: FlagBranch | FlagSigned, Group: GroupBase64, ISA: 2, Since: v4_14},
	{Op: OpJsle32Imm, Name: "jsle32_imm", Code: 0xd6, Form: FormJumpImm, Text: "s<=", Width: 32, Reads: RegDst, Flags: FlagBranch | FlagSigned, Group: GroupBase32, ISA: 3, Since: v5_1},
	{Op: OpJsle32Reg, Name: "jsle32_reg", Code: 0xde, Form: FormJumpReg, Text: "s<=", Width: 32, Reads: RegDst | RegSrc, Flags: FlagBranch | FlagSigned, Group: GroupBase32, ISA: 3, Since: v5_1},
	// Calls.
	{Op: OpCallHelper, Name: "call_helper", Code: 0x85, Sub: SubSrc, SubValue: 0, Form: FormCall, Text: "call", Width: 64, Reads: RegArgs, Writes: RegR0 | RegArgs, Flags: FlagCall, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpCallLocal, Name: "call_local", Code: 0x85, Sub: SubSrc, SubValue: 1, Form: FormCall, Text: "call", Width: 64, Reads: RegArgs, Writes: RegR0 | RegArgs, Flags: FlagCall, Group: GroupBase32, ISA: 1, Since: v4_16},
	{Op: OpCallKfunc, Name: "call_kfunc", Code: 0x85, Sub: SubSrc, SubValue: 2, Form: FormCallKfunc, Text: "call", Width: 64, Reads: RegArgs, Writes: RegR0 | RegArgs, Flags: FlagCall, Group: GroupBase32, ISA: 1, Since: v5_13},
	{Op: OpCallX, Name: "callx", Code: 0x8d, Form: FormGotoX, Text: "callx", Width: 64, Reads: RegDst | RegArgs, Writes: RegR0 | RegArgs, Flags: FlagCall, Group: GroupNone, ISA: 1, Since: never},
	{Op: OpExit, Name: "exit", Code: 0x95, Form: FormExit, Text: "exit", Width: 64, Reads: RegR0, Flags: FlagExit, Group: GroupBase32, ISA: 1, Since: v3_18},
}
