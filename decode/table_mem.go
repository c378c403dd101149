package decode

// memTable lists the instructions that access memory or load 64-bit immediates: RFC 9669 section 5,
// and the kernel's load-acquire and store-release.
var memTable = []Info{
	// Memory: loads, zero-extending.
	{Op: OpLdxB, Name: "ldx_b", Code: 0x71, Form: FormLoad, Text: "u8", Width: 64, Size: 1, Reads: RegSrc, Writes: RegDst, Flags: FlagLoad, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpLdxH, Name: "ldx_h", Code: 0x69, Form: FormLoad, Text: "u16", Width: 64, Size: 2, Reads: RegSrc, Writes: RegDst, Flags: FlagLoad, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpLdxW, Name: "ldx_w", Code: 0x61, Form: FormLoad, Text: "u32", Width: 64, Size: 4, Reads: RegSrc, Writes: RegDst, Flags: FlagLoad, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpLdxDW, Name: "ldx_dw", Code: 0x79, Form: FormLoad, Text: "u64", Width: 64, Size: 8, Reads: RegSrc, Writes: RegDst, Flags: FlagLoad, Group: GroupBase64, ISA: 1, Since: v3_18},
	// Memory: loads, sign-extending to 64 bits.
	{Op: OpLdxSB, Name: "ldx_sb", Code: 0x91, Form: FormLoad, Text: "s8", Width: 64, Size: 1, Reads: RegSrc, Writes: RegDst, Flags: FlagLoad | FlagSigned, Group: GroupBase64, ISA: 4, Since: v6_6},
	{Op: OpLdxSH, Name: "ldx_sh", Code: 0x89, Form: FormLoad, Text: "s16", Width: 64, Size: 2, Reads: RegSrc, Writes: RegDst, Flags: FlagLoad | FlagSigned, Group: GroupBase64, ISA: 4, Since: v6_6},
	{Op: OpLdxSW, Name: "ldx_sw", Code: 0x81, Form: FormLoad, Text: "s32", Width: 64, Size: 4, Reads: RegSrc, Writes: RegDst, Flags: FlagLoad | FlagSigned, Group: GroupBase64, ISA: 4, Since: v6_6},
	// Memory: stores of an immediate (sign-extended to 64 bits, then truncated).
	{Op: OpStB, Name: "st_b", Code: 0x72, Form: FormStoreImm, Text: "u8", Width: 64, Size: 1, Reads: RegDst, Flags: FlagStore, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpStH, Name: "st_h", Code: 0x6a, Form: FormStoreImm, Text: "u16", Width: 64, Size: 2, Reads: RegDst, Flags: FlagStore, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpStW, Name: "st_w", Code: 0x62, Form: FormStoreImm, Text: "u32", Width: 64, Size: 4, Reads: RegDst, Flags: FlagStore, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpStDW, Name: "st_dw", Code: 0x7a, Form: FormStoreImm, Text: "u64", Width: 64, Size: 8, Reads: RegDst, Flags: FlagStore, Group: GroupBase64, ISA: 1, Since: v3_18},
	// Memory: stores of a register.
	{Op: OpStxB, Name: "stx_b", Code: 0x73, Form: FormStoreReg, Text: "u8", Width: 64, Size: 1, Reads: RegDst | RegSrc, Flags: FlagStore, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpStxH, Name: "stx_h", Code: 0x6b, Form: FormStoreReg, Text: "u16", Width: 64, Size: 2, Reads: RegDst | RegSrc, Flags: FlagStore, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpStxW, Name: "stx_w", Code: 0x63, Form: FormStoreReg, Text: "u32", Width: 64, Size: 4, Reads: RegDst | RegSrc, Flags: FlagStore, Group: GroupBase32, ISA: 1, Since: v3_18},
	{Op: OpStxDW, Name: "stx_dw", Code: 0x7b, Form: FormStoreReg, Text: "u64", Width: 64, Size: 8, Reads: RegDst | RegSrc, Flags: FlagStore, Group: GroupBase64, ISA: 1, Since: v3_18},
	// Atomics: read-modify-write without a result.
	{Op: OpAtomicAddW, Name: "atomic_add_w", Code: 0xc3, Sub: SubImm, SubValue: 0x0, Form: FormAtomic, Text: "+=", Width: 32, Size: 4, Reads: RegDst | RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic, Group: GroupAtomic32, ISA: 1, Since: v3_18},
	{Op: OpAtomicAddDW, Name: "atomic_add_dw", Code: 0xdb, Sub: SubImm, SubValue: 0x0, Form: FormAtomic, Text: "+=", Width: 64, Size: 8, Reads: RegDst | RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic, Group: GroupAtomic64, ISA: 1, Since: v3_18},
	{Op: OpAtomicOrW, Name: "atomic_or_w", Code: 0xc3, Sub: SubImm, SubValue: 0x40, Form: FormAtomic, Text: "|=", Width: 32, Size: 4, Reads: RegDst | RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic, Group: GroupAtomic32, ISA: 3, Since: v5_12},
	{Op: OpAtomicOrDW, Name: "atomic_or_dw", Code: 0xdb, Sub: SubImm, SubValue: 0x40, Form: FormAtomic, Text: "|=", Width: 64, Size: 8, Reads: RegDst | RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic, Group: GroupAtomic64, ISA: 3, Since: v5_12},
	{Op: OpAtomicAndW, Name: "atomic_and_w", Code: 0xc3, Sub: SubImm, SubValue: 0x50, Form: FormAtomic, Text: "&=", Width: 32, Size: 4, Reads: RegDst | RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic, Group: GroupAtomic32, ISA: 3, Since: v5_12},
	{Op: OpAtomicAndDW, Name: "atomic_and_dw", Code: 0xdb, Sub: SubImm, SubValue: 0x50, Form: FormAtomic, Text: "&=", Width: 64, Size: 8, Reads: RegDst | RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic, Group: GroupAtomic64, ISA: 3, Since: v5_12},
	{Op: OpAtomicXorW, Name: "atomic_xor_w", Code: 0xc3, Sub: SubImm, SubValue: 0xa0, Form: FormAtomic, Text: "^=", Width: 32, Size: 4, Reads: RegDst | RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic, Group: GroupAtomic32, ISA: 3, Since: v5_12},
	{Op: OpAtomicXorDW, Name: "atomic_xor_dw", Code: 0xdb, Sub: SubImm, SubValue: 0xa0, Form: FormAtomic, Text: "^=", Width: 64, Size: 8, Reads: RegDst | RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic, Group: GroupAtomic64, ISA: 3, Since: v5_12},
	// Atomics: src receives the old value.
	{Op: OpAtomicFetchAddW, Name: "atomic_fetch_add_w", Code: 0xc3, Sub: SubImm, SubValue: 0x1, Form: FormFetch, Text: "atomic_fetch_add", Width: 32, Size: 4, Reads: RegDst | RegSrc, Writes: RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic | FlagFetch, Group: GroupAtomic32, ISA: 3, Since: v5_12},
	{Op: OpAtomicFetchAddDW, Name: "atomic_fetch_add_dw", Code: 0xdb, Sub: SubImm, SubValue: 0x1, Form: FormFetch, Text: "atomic_fetch_add", Width: 64, Size: 8, Reads: RegDst | RegSrc, Writes: RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic | FlagFetch, Group: GroupAtomic64, ISA: 3, Since: v5_12},
	{Op: OpAtomicFetchOrW, Name: "atomic_fetch_or_w", Code: 0xc3, Sub: SubImm, SubValue: 0x41, Form: FormFetch, Text: "atomic_fetch_or", Width: 32, Size: 4, Reads: RegDst | RegSrc, Writes: RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic | FlagFetch, Group: GroupAtomic32, ISA: 3, Since: v5_12},
	{Op: OpAtomicFetchOrDW, Name: "atomic_fetch_or_dw", Code: 0xdb, Sub: SubImm, SubValue: 0x41, Form: FormFetch, Text: "atomic_fetch_or", Width: 64, Size: 8, Reads: RegDst | RegSrc, Writes: RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic | FlagFetch, Group: GroupAtomic64, ISA: 3, Since: v5_12},
	{Op: OpAtomicFetchAndW, Name: "atomic_fetch_and_w", Code: 0xc3, Sub: SubImm, SubValue: 0x51, Form: FormFetch, Text: "atomic_fetch_and", Width: 32, Size: 4, Reads: RegDst | RegSrc, Writes: RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic | FlagFetch, Group: GroupAtomic32, ISA: 3, Since: v5_12},
	{Op: OpAtomicFetchAndDW, Name: "atomic_fetch_and_dw", Code: 0xdb, Sub: SubImm, SubValue: 0x51, Form: FormFetch, Text: "atomic_fetch_and", Width: 64, Size: 8, Reads: RegDst | RegSrc, Writes: RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic | FlagFetch, Group: GroupAtomic64, ISA: 3, Since: v5_12},
	{Op: OpAtomicFetchXorW, Name: "atomic_fetch_xor_w", Code: 0xc3, Sub: SubImm, SubValue: 0xa1, Form: FormFetch, Text: "atomic_fetch_xor", Width: 32, Size: 4, Reads: RegDst | RegSrc, Writes: RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic | FlagFetch, Group: GroupAtomic32, ISA: 3, Since: v5_12},
	{Op: OpAtomicFetchXorDW, Name: "atomic_fetch_xor_dw", Code: 0xdb, Sub: SubImm, SubValue: 0xa1, Form: FormFetch, Text: "atomic_fetch_xor", Width: 64, Size: 8, Reads: RegDst | RegSrc, Writes: RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic | FlagFetch, Group: GroupAtomic64, ISA: 3, Since: v5_12},
	{Op: OpXchgW, Name: "xchg_w", Code: 0xc3, Sub: SubImm, SubValue: 0xe1, Form: FormXchg, Text: "xchg32_32", Width: 32, Size: 4, Reads: RegDst | RegSrc, Writes: RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic | FlagFetch, Group: GroupAtomic32, ISA: 3, Since: v5_12},
	{Op: OpXchgDW, Name: "xchg_dw", Code: 0xdb, Sub: SubImm, SubValue: 0xe1, Form: FormXchg, Text: "xchg_64", Width: 64, Size: 8, Reads: RegDst | RegSrc, Writes: RegSrc, Flags: FlagLoad | FlagStore | FlagAtomic | FlagFetch, Group: GroupAtomic64, ISA: 3, Since: v5_12},
	// Atomics: r0 is compared and receives the old value.
	{Op: OpCmpXchgW, Name: "cmpxchg_w", Code: 0xc3, Sub: SubImm, SubValue: 0xf1, Form: FormCmpXchg, Text: "cmpxchg32_32", Width: 32, Size: 4, Reads: RegDst | RegSrc | RegR0, Writes: RegR0, Flags: FlagLoad | FlagStore | FlagAtomic | FlagFetch, Group: GroupAtomic32, ISA: 3, Since: v5_12},
	{Op: OpCmpXchgDW, Name: "cmpxchg_dw", Code: 0xdb, Sub: SubImm, SubValue: 0xf1, Form: FormCmpXchg, Text: "cmpxchg_64", Width: 64, Size: 8, Reads: RegDst | RegSrc | RegR0, Writes: RegR0, Flags: FlagLoad | FlagStore | FlagAtomic | FlagFetch, Group: GroupAtomic64, ISA: 3, Since: v5_12},
	// Atomics: load-acquire (zero-extending) and store-release.
	{Op: OpLoadAcqB, Name: "load_acq_b", Code: 0xd3, Sub: SubImm, SubValue: 0x100, Form: FormLoadAcq, Text: "u8", Width: 32, Size: 1, Reads: RegSrc, Writes: RegDst, Flags: FlagLoad | FlagAtomic, Group: GroupKernel, ISA: 4, Since: v6_15},
	{Op: OpLoadAcqH, Name: "load_acq_h", Code: 0xcb, Sub: SubImm, SubValue: 0x100, Form: FormLoadAcq, Text: "u16", Width: 32, Size: 2, Reads: RegSrc, Writes: RegDst, Flags: FlagLoad | FlagAtomic, Group: GroupKernel, ISA: 4, Since: v6_15},
	{Op: OpLoadAcqW, Name: "load_acq_w", Code: 0xc3, Sub: SubImm, SubValue: 0x100, Form: FormLoadAcq, Text: "u32", Width: 32, Size: 4, Reads: RegSrc, Writes: RegDst, Flags: FlagLoad | FlagAtomic, Group: GroupKernel, ISA: 4, Since: v6_15},
	{Op: OpLoadAcqDW, Name: "load_acq_dw", Code: 0xdb, Sub: SubImm, SubValue: 0x100, Form: FormLoadAcq, Text: "u64", Width: 64, Size: 8, Reads: RegSrc, Writes: RegDst, Flags: FlagLoad | FlagAtomic, Group: GroupKernel, ISA: 4, Since: v6_15},
	{Op: OpStoreRelB, Name: "store_rel_b", Code: 0xd3, Sub: SubImm, SubValue: 0x110, Form: FormStoreRel, Text: "u8", Width: 32, Size: 1, Reads: RegDst | RegSrc, Flags: FlagStore | FlagAtomic, Group: GroupKernel, ISA: 4, Since: v6_15},
	{Op: OpStoreRelH, Name: "store_rel_h", Code: 0xcb, Sub: SubImm, SubValue: 0x110, Form: FormStoreRel, Text: "u16", Width: 32, Size: 2, Reads: RegDst | RegSrc, Flags: FlagStore | FlagAtomic, Group: GroupKernel, ISA: 4, Since: v6_15},
	{Op: OpStoreRelW, Name: "store_rel_w", Code: 0xc3, Sub: SubImm, SubValue: 0x110, Form: FormStoreRel, Text: "u32", Width: 32, Size: 4, Reads: RegDst | RegSrc, Flags: FlagStore | FlagAtomic, Group: GroupKernel, ISA: 4, Since: v6_15},
	{Op: OpStoreRelDW, Name: "store_rel_dw", Code: 0xdb, Sub: SubImm, SubValue: 0x110, Form: FormStoreRel, Text: "u64", Width: 64, Size: 8, Reads: RegDst | RegSrc, Flags: FlagStore | FlagAtomic, Group: GroupKernel, ISA: 4, Since: v6_15},
	// Legacy packet loads: big endian, r6 is the context, out of bounds ends the program with 0.
	{Op: OpLdAbsB, Name: "ld_abs_b", Code: 0x30, Form: FormLdAbs, Text: "u8", Width: 64, Size: 1, Reads: RegR6, Writes: RegR0 | RegArgs, Flags: FlagLoad | FlagPacket, Group: GroupPacket, ISA: 1, Since: v3_18},
	{Op: OpLdAbsH, Name: "ld_abs_h", Code: 0x28, Form: FormLdAbs, Text: "u16", Width: 64, Size: 2, Reads: RegR6, Writes: RegR0 | RegArgs, Flags: FlagLoad | FlagPacket, Group: GroupPacket, ISA: 1, Since: v3_18},
	{Op: OpLdAbsW, Name: "ld_abs_w", Code: 0x20, Form: FormLdAbs, Text: "u32", Width: 64, Size: 4, Reads: RegR6, Writes: RegR0 | RegArgs, Flags: FlagLoad | FlagPacket, Group: GroupPacket, ISA: 1, Since: v3_18},
	{Op: OpLdIndB, Name: "ld_ind_b", Code: 0x50, Form: FormLdInd, Text: "u8", Width: 64, Size: 1, Reads: RegR6 | RegSrc, Writes: RegR0 | RegArgs, Flags: FlagLoad | FlagPacket, Group: GroupPacket, ISA: 1, Since: v3_18},
	{Op: OpLdIndH, Name: "ld_ind_h", Code: 0x48, Form: FormLdInd, Text: "u16", Width: 64, Size: 2, Reads: RegR6 | RegSrc, Writes: RegR0 | RegArgs, Flags: FlagLoad | FlagPacket, Group: GroupPacket, ISA: 1, Since: v3_18},
	{Op: OpLdIndW, Name: "ld_ind_w", Code: 0x40, Form: FormLdInd, Text: "u32", Width: 64, Size: 4, Reads: RegR6 | RegSrc, Writes: RegR0 | RegArgs, Flags: FlagLoad | FlagPacket, Group: GroupPacket, ISA: 1, Since: v3_18},
	// 64-bit immediates (two slots).
	{Op: OpLdImm64, Name: "ld_imm64", Code: 0x18, Sub: SubSrc, SubValue: 0, Form: FormImm64, Text: "", Width: 64, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpLdMapFD, Name: "ld_map_fd", Code: 0x18, Sub: SubSrc, SubValue: 1, Form: FormImm64, Text: "map_fd", Width: 64, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v3_18},
	{Op: OpLdMapValue, Name: "ld_map_value", Code: 0x18, Sub: SubSrc, SubValue: 2, Form: FormImm64, Text: "map_value", Width: 64, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v5_2},
	{Op: OpLdBTFID, Name: "ld_btf_id", Code: 0x18, Sub: SubSrc, SubValue: 3, Form: FormImm64, Text: "btf_id", Width: 64, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v5_10},
	{Op: OpLdFunc, Name: "ld_func", Code: 0x18, Sub: SubSrc, SubValue: 4, Form: FormImm64, Text: "func", Width: 64, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v5_13},
	{Op: OpLdMapIdx, Name: "ld_map_idx", Code: 0x18, Sub: SubSrc, SubValue: 5, Form: FormImm64, Text: "map_idx", Width: 64, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v5_14},
	{Op: OpLdMapIdxValue, Name: "ld_map_idx_value", Code: 0x18, Sub: SubSrc, SubValue: 6, Form: FormImm64, Text: "map_idx_value", Width: 64, Writes: RegDst, Group: GroupBase64, ISA: 1, Since: v5_14},
}
