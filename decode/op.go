package decode

// Op numbers the instructions densely: every encoding with a meaning of its own has one, even where
// several share the kernel's opcode byte (sdiv, movsx, atomics, bswap, kinds of call). In the
// comments, D, S and off are fields of the instruction; w is the low half of a register, and
// writing it clears the high half. The numbers are not part of any format and may change.
type Op uint8

// The instructions.
const (
	// OpInvalid stands for every undefined encoding.
	OpInvalid Op = iota

	// ALU: add.
	OpAdd64Imm // rD += imm
	OpAdd64Reg // rD += rS
	OpAdd32Imm // wD += imm
	OpAdd32Reg // wD += wS

	// ALU: sub.
	OpSub64Imm // rD -= imm
	OpSub64Reg // rD -= rS
	OpSub32Imm // wD -= imm
	OpSub32Reg // wD -= wS

	// ALU: mul.
	OpMul64Imm // rD *= imm
	OpMul64Reg // rD *= rS
	OpMul32Imm // wD *= imm
	OpMul32Reg // wD *= wS

	// ALU: div.
	OpDiv64Imm // rD /= imm
	OpDiv64Reg // rD /= rS
	OpDiv32Imm // wD /= imm
	OpDiv32Reg // wD /= wS

	// ALU: sdiv.
	OpSDiv64Imm // rD s/= imm
	OpSDiv64Reg // rD s/= rS
	OpSDiv32Imm // wD s/= imm
	OpSDiv32Reg // wD s/= wS

	// ALU: or.
	OpOr64Imm // rD |= imm
	OpOr64Reg // rD |= rS
	OpOr32Imm // wD |= imm
	OpOr32Reg // wD |= wS

	// ALU: and.
	OpAnd64Imm // rD &= imm
	OpAnd64Reg // rD &= rS
	OpAnd32Imm // wD &= imm
	OpAnd32Reg // wD &= wS

	// ALU: lsh.
	OpLsh64Imm // rD <<= imm
	OpLsh64Reg // rD <<= rS
	OpLsh32Imm // wD <<= imm
	OpLsh32Reg // wD <<= wS

	// ALU: rsh.
	OpRsh64Imm // rD >>= imm
	OpRsh64Reg // rD >>= rS
	OpRsh32Imm // wD >>= imm
	OpRsh32Reg // wD >>= wS

	// ALU: mod.
	OpMod64Imm // rD %= imm
	OpMod64Reg // rD %= rS
	OpMod32Imm // wD %= imm
	OpMod32Reg // wD %= wS

	// ALU: smod.
	OpSMod64Imm // rD s%= imm
	OpSMod64Reg // rD s%= rS
	OpSMod32Imm // wD s%= imm
	OpSMod32Reg // wD s%= wS

	// ALU: xor.
	OpXor64Imm // rD ^= imm
	OpXor64Reg // rD ^= rS
	OpXor32Imm // wD ^= imm
	OpXor32Reg // wD ^= wS

	// ALU: move.
	OpMov64Imm // rD = imm
	OpMov64Reg // rD = rS
	OpMov32Imm // wD = imm
	OpMov32Reg // wD = wS

	// ALU: arsh.
	OpArsh64Imm // rD s>>= imm
	OpArsh64Reg // rD s>>= rS
	OpArsh32Imm // wD s>>= imm
	OpArsh32Reg // wD s>>= wS

	// ALU: unary.
	OpNeg64 // dst = -dst
	OpNeg32 // dst = -dst

	// ALU: sign-extending moves.
	OpMovSX8To64  // dst = (s8)src
	OpMovSX16To64 // dst = (s16)src
	OpMovSX32To64 // dst = (s32)src
	OpMovSX8To32  // dst = (s8)src
	OpMovSX16To32 // dst = (s16)src

	// ALU: byte order; the result is zero-extended from its width.
	OpLE16    // dst = le16(dst)
	OpLE32    // dst = le32(dst)
	OpLE64    // dst = le64(dst)
	OpBE16    // dst = be16(dst)
	OpBE32    // dst = be32(dst)
	OpBE64    // dst = be64(dst)
	OpBswap16 // dst = bswap16(dst)
	OpBswap32 // dst = bswap32(dst)
	OpBswap64 // dst = bswap64(dst)

	// ALU: arenas.
	OpAddrSpaceCast // dst = addr_space_cast(src): imm 1 user to kernel, 1<<16 kernel to user

	// Memory: loads, zero-extending.
	OpLdxB  // dst = *(u8 *)(src + off)
	OpLdxH  // dst = *(u16 *)(src + off)
	OpLdxW  // dst = *(u32 *)(src + off)
	OpLdxDW // dst = *(u64 *)(src + off)

	// Memory: loads, sign-extending to 64 bits.
	OpLdxSB // dst = *(s8 *)(src + off)
	OpLdxSH // dst = *(s16 *)(src + off)
	OpLdxSW // dst = *(s32 *)(src + off)

	// Memory: stores of an immediate (sign-extended to 64 bits, then truncated).
	OpStB  // *(u8 *)(dst + off) = imm
	OpStH  // *(u16 *)(dst + off) = imm
	OpStW  // *(u32 *)(dst + off) = imm
	OpStDW // *(u64 *)(dst + off) = imm

	// Memory: stores of a register.
	OpStxB  // *(u8 *)(dst + off) = src
	OpStxH  // *(u16 *)(dst + off) = src
	OpStxW  // *(u32 *)(dst + off) = src
	OpStxDW // *(u64 *)(dst + off) = src

	// Atomics: read-modify-write without a result.
	OpAtomicAddW  // *(u32 *)(dst + off) += src
	OpAtomicAddDW // *(u64 *)(dst + off) += src
	OpAtomicOrW   // *(u32 *)(dst + off) |= src
	OpAtomicOrDW  // *(u64 *)(dst + off) |= src
	OpAtomicAndW  // *(u32 *)(dst + off) &= src
	OpAtomicAndDW // *(u64 *)(dst + off) &= src
	OpAtomicXorW  // *(u32 *)(dst + off) ^= src
	OpAtomicXorDW // *(u64 *)(dst + off) ^= src

	// Atomics: src receives the old value.
	OpAtomicFetchAddW  // src = fetch_add((u32 *)(dst + off), src)
	OpAtomicFetchAddDW // src = fetch_add((u64 *)(dst + off), src)
	OpAtomicFetchOrW   // src = fetch_or((u32 *)(dst + off), src)
	OpAtomicFetchOrDW  // src = fetch_or((u64 *)(dst + off), src)
	OpAtomicFetchAndW  // src = fetch_and((u32 *)(dst + off), src)
	OpAtomicFetchAndDW // src = fetch_and((u64 *)(dst + off), src)
	OpAtomicFetchXorW  // src = fetch_xor((u32 *)(dst + off), src)
	OpAtomicFetchXorDW // src = fetch_xor((u64 *)(dst + off), src)
	OpXchgW            // src = xchg((u32 *)(dst + off), src)
	OpXchgDW           // src = xchg((u64 *)(dst + off), src)

	// Atomics: r0 is compared and receives the old value.
	OpCmpXchgW  // r0 = cmpxchg((u32 *)(dst + off), r0, src)
	OpCmpXchgDW // r0 = cmpxchg((u64 *)(dst + off), r0, src)

	// Atomics: load-acquire (zero-extending) and store-release.
	OpLoadAcqB   // dst = load_acquire((u8 *)(src + off))
	OpLoadAcqH   // dst = load_acquire((u16 *)(src + off))
	OpLoadAcqW   // dst = load_acquire((u32 *)(src + off))
	OpLoadAcqDW  // dst = load_acquire((u64 *)(src + off))
	OpStoreRelB  // store_release((u8 *)(dst + off), src)
	OpStoreRelH  // store_release((u16 *)(dst + off), src)
	OpStoreRelW  // store_release((u32 *)(dst + off), src)
	OpStoreRelDW // store_release((u64 *)(dst + off), src)

	// Legacy packet loads: big endian, r6 is the context, out of bounds ends the program with 0.
	OpLdAbsB // r0 = ntoh(*(u8 *)(packet + imm))
	OpLdAbsH // r0 = ntoh(*(u16 *)(packet + imm))
	OpLdAbsW // r0 = ntoh(*(u32 *)(packet + imm))
	OpLdIndB // r0 = ntoh(*(u8 *)(packet + src + imm))
	OpLdIndH // r0 = ntoh(*(u16 *)(packet + src + imm))
	OpLdIndW // r0 = ntoh(*(u32 *)(packet + src + imm))

	// 64-bit immediates (two slots).
	OpLdImm64       // dst = imm64
	OpLdMapFD       // dst = map of file descriptor imm
	OpLdMapValue    // dst = value of the map of file descriptor imm, plus next imm
	OpLdBTFID       // dst = address of kernel variable, BTF id imm of BTF object next imm
	OpLdFunc        // dst = address of the subprogram at pc + imm + 1
	OpLdMapIdx      // dst = map number imm of fd_array
	OpLdMapIdxValue // dst = value of map number imm of fd_array, plus next imm

	// Jumps.
	OpJa      // goto off
	OpJa32    // goto imm
	OpGotoX   // goto address in dst
	OpMayGoto // goto off when the loop budget is used up

	// Jumps: jeq.
	OpJeq64Imm // if rD == imm goto off
	OpJeq64Reg // if rD == rS goto off
	OpJeq32Imm // if wD == imm goto off
	OpJeq32Reg // if wD == wS goto off

	// Jumps: jgt.
	OpJgt64Imm // if rD > imm goto off
	OpJgt64Reg // if rD > rS goto off
	OpJgt32Imm // if wD > imm goto off
	OpJgt32Reg // if wD > wS goto off

	// Jumps: jge.
	OpJge64Imm // if rD >= imm goto off
	OpJge64Reg // if rD >= rS goto off
	OpJge32Imm // if wD >= imm goto off
	OpJge32Reg // if wD >= wS goto off

	// Jumps: jset.
	OpJset64Imm // if rD & imm goto off
	OpJset64Reg // if rD & rS goto off
	OpJset32Imm // if wD & imm goto off
	OpJset32Reg // if wD & wS goto off

	// Jumps: jne.
	OpJne64Imm // if rD != imm goto off
	OpJne64Reg // if rD != rS goto off
	OpJne32Imm // if wD != imm goto off
	OpJne32Reg // if wD != wS goto off

	// Jumps: jsgt.
	OpJsgt64Imm // if rD s> imm goto off
	OpJsgt64Reg // if rD s> rS goto off
	OpJsgt32Imm // if wD s> imm goto off
	OpJsgt32Reg // if wD s> wS goto off

	// Jumps: jsge.
	OpJsge64Imm // if rD s>= imm goto off
	OpJsge64Reg // if rD s>= rS goto off
	OpJsge32Imm // if wD s>= imm goto off
	OpJsge32Reg // if wD s>= wS goto off

	// Jumps: jlt.
	OpJlt64Imm // if rD < imm goto off
	OpJlt64Reg // if rD < rS goto off
	OpJlt32Imm // if wD < imm goto off
	OpJlt32Reg // if wD < wS goto off

	// Jumps: jle.
	OpJle64Imm // if rD <= imm goto off
	OpJle64Reg // if rD <= rS goto off
	OpJle32Imm // if wD <= imm goto off
	OpJle32Reg // if wD <= wS goto off

	// Jumps: jslt.
	OpJslt64Imm // if rD s< imm goto off
	OpJslt64Reg // if rD s< rS goto off
	OpJslt32Imm // if wD s< imm goto off
	OpJslt32Reg // if wD s< wS goto off

	// Jumps: jsle.
	OpJsle64Imm // if rD s<= imm goto off
	OpJsle64Reg // if rD s<= rS goto off
	OpJsle32Imm // if wD s<= imm goto off
	OpJsle32Reg // if wD s<= wS goto off

	// Calls.
	OpCallHelper // r0 = helper imm (r1..r5)
	OpCallLocal  // call the subprogram at pc + imm + 1
	OpCallKfunc  // r0 = kernel function with BTF id imm of BTF object off (r1..r5)
	OpCallX      // r0 = helper whose number is in dst (r1..r5); LLVM emits it, no kernel accepts it
	OpExit       // return r0

	// NumOps is the number of Ops, including OpInvalid.
	NumOps
)
