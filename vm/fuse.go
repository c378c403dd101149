package vm

import "github.com/bpfrun/bpfrun/decode"

// Superinstructions. A sequence of instructions is executed by the handler of one op, which stands in
// the first slot; all other fields and slots stay as they are. Jumps into the middle work, because every slot
// keeps an op that stands for the rest of the program from there.
const (
	opFirstFused      = opFused + iota - 1
	fMovAdd           // a = b; a += c
	fMovAddImm        // a = b; a += imm
	fIndexLoadB       // a = b; a += c; d = *(a + off), 1 bytes
	fIndexStoreB      // a = b; a += c; *(a + off) = d, 1 bytes
	fIndexLoadH       // a = b; a += c; d = *(a + off), 2 bytes
	fIndexStoreH      // a = b; a += c; *(a + off) = d, 2 bytes
	fIndexLoadW       // a = b; a += c; d = *(a + off), 4 bytes
	fIndexStoreW      // a = b; a += c; *(a + off) = d, 4 bytes
	fIndexLoadDW      // a = b; a += c; d = *(a + off), 8 bytes
	fIndexStoreDW     // a = b; a += c; *(a + off) = d, 8 bytes
	fAdd64Jeq64Imm    // a += imm; if a eq imm goto (64 bits)
	fAdd64Jeq64Reg    // a += imm; if a eq b goto (64 bits)
	fAdd64Jne64Imm    // a += imm; if a ne imm goto (64 bits)
	fAdd64Jne64Reg    // a += imm; if a ne b goto (64 bits)
	fAdd64Jgt64Imm    // a += imm; if a gt imm goto (64 bits)
	fAdd64Jgt64Reg    // a += imm; if a gt b goto (64 bits)
	fAdd64Jlt64Imm    // a += imm; if a lt imm goto (64 bits)
	fAdd64Jlt64Reg    // a += imm; if a lt b goto (64 bits)
	fAdd64Jge64Imm    // a += imm; if a ge imm goto (64 bits)
	fAdd64Jle64Imm    // a += imm; if a le imm goto (64 bits)
	fAdd64Jsgt64Imm   // a += imm; if a sgt imm goto (64 bits)
	fAdd64Jslt64Imm   // a += imm; if a slt imm goto (64 bits)
	fAdd32Jeq32Imm    // a += imm; if a eq imm goto (32 bits)
	fAdd32Jeq32Reg    // a += imm; if a eq b goto (32 bits)
	fAdd32Jne32Imm    // a += imm; if a ne imm goto (32 bits)
	fAdd32Jne32Reg    // a += imm; if a ne b goto (32 bits)
	fAdd32Jgt32Imm    // a += imm; if a gt imm goto (32 bits)
	fAdd32Jgt32Reg    // a += imm; if a gt b goto (32 bits)
	fAdd32Jlt32Imm    // a += imm; if a lt imm goto (32 bits)
	fAdd32Jlt32Reg    // a += imm; if a lt b goto (32 bits)
	fAdd64Jeq32Imm    // a += imm; if a eq imm goto (32 bits)
	fAdd64Jne32Imm    // a += imm; if a ne imm goto (32 bits)
	fAdd64JeqImmJa    // a += imm; if a eq imm goto; goto
	fAdd64JgtImmJa    // a += imm; if a gt imm goto; goto
	fAdd32JeqImmJa    // a += imm; if a eq imm goto; goto
	fAdd32JgtImmJa    // a += imm; if a gt imm goto; goto
	fJeq64ImmJa       // if a eq goto; goto (64 bits)
	fJeq64RegJa       // if a eq goto; goto (64 bits)
	fJeq32ImmJa       // if a eq goto; goto (32 bits)
	fJne64ImmJa       // if a ne goto; goto (64 bits)
	fJne64RegJa       // if a ne goto; goto (64 bits)
	fJne32ImmJa       // if a ne goto; goto (32 bits)
	fJgt64ImmJa       // if a gt goto; goto (64 bits)
	fJgt64RegJa       // if a gt goto; goto (64 bits)
	fJgt32ImmJa       // if a gt goto; goto (32 bits)
	fJlt64ImmJa       // if a lt goto; goto (64 bits)
	fJlt64RegJa       // if a lt goto; goto (64 bits)
	fJlt32ImmJa       // if a lt goto; goto (32 bits)
	fJsgt64ImmJa      // if a sgt goto; goto (64 bits)
	fJsgt64RegJa      // if a sgt goto; goto (64 bits)
	fJsgt32ImmJa      // if a sgt goto; goto (32 bits)
	fJslt64ImmJa      // if a slt goto; goto (64 bits)
	fJslt64RegJa      // if a slt goto; goto (64 bits)
	fJslt32ImmJa      // if a slt goto; goto (32 bits)
	fLoadBAdd64       // a = *(b + off), 1 bytes; c += a (64 bits)
	fLoadBAdd32       // a = *(b + off), 1 bytes; c += a (32 bits)
	fLoadBOr64        // a = *(b + off), 1 bytes; c |= a (64 bits)
	fLoadBOr32        // a = *(b + off), 1 bytes; c |= a (32 bits)
	fLoadBXor64       // a = *(b + off), 1 bytes; c ^= a (64 bits)
	fLoadBXor32       // a = *(b + off), 1 bytes; c ^= a (32 bits)
	fLoadBJeq64       // a = *(b + off), 1 bytes; if a eq imm goto (64 bits)
	fLoadBJeq32       // a = *(b + off), 1 bytes; if a eq imm goto (32 bits)
	fLoadBJne64       // a = *(b + off), 1 bytes; if a ne imm goto (64 bits)
	fLoadBJne32       // a = *(b + off), 1 bytes; if a ne imm goto (32 bits)
	fLoadHAdd64       // a = *(b + off), 2 bytes; c += a (64 bits)
	fLoadHAdd32       // a = *(b + off), 2 bytes; c += a (32 bits)
	fLoadHOr64        // a = *(b + off), 2 bytes; c |= a (64 bits)
	fLoadHOr32        // a = *(b + off), 2 bytes; c |= a (32 bits)
	fLoadHXor64       // a = *(b + off), 2 bytes; c ^= a (64 bits)
	fLoadHXor32       // a = *(b + off), 2 bytes; c ^= a (32 bits)
	fLoadHJeq64       // a = *(b + off), 2 bytes; if a eq imm goto (64 bits)
	fLoadHJeq32       // a = *(b + off), 2 bytes; if a eq imm goto (32 bits)
	fLoadHJne64       // a = *(b + off), 2 bytes; if a ne imm goto (64 bits)
	fLoadHJne32       // a = *(b + off), 2 bytes; if a ne imm goto (32 bits)
	fLoadWAdd64       // a = *(b + off), 4 bytes; c += a (64 bits)
	fLoadWAdd32       // a = *(b + off), 4 bytes; c += a (32 bits)
	fLoadWOr64        // a = *(b + off), 4 bytes; c |= a (64 bits)
	fLoadWOr32        // a = *(b + off), 4 bytes; c |= a (32 bits)
	fLoadWXor64       // a = *(b + off), 4 bytes; c ^= a (64 bits)
	fLoadWXor32       // a = *(b + off), 4 bytes; c ^= a (32 bits)
	fLoadWJeq64       // a = *(b + off), 4 bytes; if a eq imm goto (64 bits)
	fLoadWJeq32       // a = *(b + off), 4 bytes; if a eq imm goto (32 bits)
	fLoadWJne64       // a = *(b + off), 4 bytes; if a ne imm goto (64 bits)
	fLoadWJne32       // a = *(b + off), 4 bytes; if a ne imm goto (32 bits)
	fLoadDWAdd64      // a = *(b + off), 8 bytes; c += a (64 bits)
	fLoadDWOr64       // a = *(b + off), 8 bytes; c |= a (64 bits)
	fLoadDWXor64      // a = *(b + off), 8 bytes; c ^= a (64 bits)
	fLoadDWAnd64      // a = *(b + off), 8 bytes; c &= a (64 bits)
	fLoadDWJeq64      // a = *(b + off), 8 bytes; if a eq imm goto (64 bits)
	fLoadDWJne64      // a = *(b + off), 8 bytes; if a ne imm goto (64 bits)
	fMov64RegMov64Reg // two moves: Mov64Reg, Mov64Reg
	fMov64RegMov64Imm // two moves: Mov64Reg, Mov64Imm
	fMov64RegMov32Imm // two moves: Mov64Reg, Mov32Imm
	fMov64ImmMov64Reg // two moves: Mov64Imm, Mov64Reg
	fMov64ImmMov64Imm // two moves: Mov64Imm, Mov64Imm
	fMov64ImmMov32Imm // two moves: Mov64Imm, Mov32Imm
	fMov64ImmJa       // a = imm; goto
	fMov64And         // a = b; a And imm (64 bits)
	fMov64Lsh         // a = b; a Lsh imm (64 bits)
	fMov64Rsh         // a = b; a Rsh imm (64 bits)
	fMov32And         // a = b; a And imm (32 bits)
	fMov32Lsh         // a = b; a Lsh imm (32 bits)
	fMov32Rsh         // a = b; a Rsh imm (32 bits)
	fLshRsh           // a <<= imm; a >>= imm
	fLshArsh          // a <<= imm; a s>>= imm
	fMul64ImmAdd64Imm // two operations on one register: Mul64Imm, Add64Imm
	fMul64RegXor64Reg // two operations on one register: Mul64Reg, Xor64Reg
	fXor64RegMul64Reg // two operations on one register: Xor64Reg, Mul64Reg
	fLsh64ImmOr64Reg  // two operations on one register: Lsh64Imm, Or64Reg
	fLsh64ImmAdd64Reg // two operations on one register: Lsh64Imm, Add64Reg
	fRsh64ImmOr64Reg  // two operations on one register: Rsh64Imm, Or64Reg
	fRsh64ImmAnd64Imm // two operations on one register: Rsh64Imm, And64Imm
	fRsh64ImmXor64Reg // two operations on one register: Rsh64Imm, Xor64Reg
	fMul64RegAdd64Reg // two operations on one register: Mul64Reg, Add64Reg
	fMul64ImmAdd64Reg // two operations on one register: Mul64Imm, Add64Reg
	fAnd64ImmAdd64Reg // two operations on one register: And64Imm, Add64Reg
	fMul32RegAdd32Reg // two operations on one register: Mul32Reg, Add32Reg
	fXor32RegMul32Imm // two operations on one register: Xor32Reg, Mul32Imm
	fLsh32ImmOr32Reg  // two operations on one register: Lsh32Imm, Or32Reg
	fRsh32ImmAnd32Imm // two operations on one register: Rsh32Imm, And32Imm
	fLsh32ImmAdd32Reg // two operations on one register: Lsh32Imm, Add32Reg
	fRsh32ImmXor32Reg // two operations on one register: Rsh32Imm, Xor32Reg
	fAnd32ImmAdd32Reg // two operations on one register: And32Imm, Add32Reg
	fAnd32ImmOr32Reg  // two operations on one register: And32Imm, Or32Reg
	fXor64RegAdd64Reg // two operations on one register: Xor64Reg, Add64Reg
	fAdd64RegXor64Reg // two operations on one register: Add64Reg, Xor64Reg
	fAdd64ImmAdd64Reg // two operations on one register: Add64Imm, Add64Reg
	fAdd64RegAdd64Reg // two operations on one register: Add64Reg, Add64Reg
	fAddImmAddImm     // a += imm; b += imm
	fLoadDWLoadDW     // two loads of 8 bytes
	fStoreDWStoreDW   // two stores of 8 bytes
	fLoadWLoadW       // two loads of 4 bytes
	fStoreWStoreW     // two stores of 4 bytes
	fMovMul           // a = b; a *= c
	fMovSub           // a = b; a -= c
	fMovXor           // a = b; a ^= c
	fMovOr            // a = b; a |= c
	fMovAnd           // a = b; a &= c
	fLoadWAddImm      // a = *(b + off), 4 bytes; a += imm
	fAddLoadW         // a += b; c = *(a + off), 4 bytes
	fJeqLoadW         // if a == imm goto; b = *(c + off), 4 bytes
	fLoadDWAddImm     // a = *(b + off), 8 bytes; a += imm
	fAddLoadDW        // a += b; c = *(a + off), 8 bytes
	fJeqLoadDW        // if a == imm goto; b = *(c + off), 8 bytes
	fMov64ImmExit     // a = imm; exit
	fJeqMov64Imm      // if a == imm goto; b = imm
	fAddImmMov        // a += imm; b = c
	fMovLshRsh        // a = b; a <<= imm; a >>= imm
	fMov32RegJeqJa    // a = b; if c eq imm goto; goto
	fMov32RegJgtJa    // a = b; if c gt imm goto; goto
	fMov64RegJeqJa    // a = b; if c eq imm goto; goto
	fMov64RegJgtJa    // a = b; if c gt imm goto; goto
)

// fuseCond says which registers of a sequence must be equal or must differ.
type fuseCond uint8

const (
	sameDst       fuseCond = 1 << iota // the second writes the first's register
	otherSrc                           // the second's source is not the first's register
	srcIsDst                           // the second's source is the first's register
	otherDst                           // the second's register is not the first's
	thirdSrcIsDst                      // the third's address is the first's register
	thirdDstIsDst                      // the third's base is the first's register, its source is not
	thirdSameDst                       // the third writes the first's register
)

// fuseRule is one sequence.
type fuseRule struct {
	op   uint16
	seq  [3]decode.Op // the third is OpInvalid for pairs
	cond fuseCond
}

// fuseRules lists all sequences, longer ones before the pairs they start with.
var fuseRules = []fuseRule{
	{fIndexLoadB, [3]decode.Op{decode.OpMov64Reg, decode.OpAdd64Reg, decode.OpLdxB}, sameDst | otherSrc | thirdSrcIsDst},
	{fIndexStoreB, [3]decode.Op{decode.OpMov64Reg, decode.OpAdd64Reg, decode.OpStxB}, sameDst | otherSrc | thirdDstIsDst},
	{fIndexLoadH, [3]decode.Op{decode.OpMov64Reg, decode.OpAdd64Reg, decode.OpLdxH}, sameDst | otherSrc | thirdSrcIsDst},
	{fIndexStoreH, [3]decode.Op{decode.OpMov64Reg, decode.OpAdd64Reg, decode.OpStxH}, sameDst | otherSrc | thirdDstIsDst},
	{fIndexLoadW, [3]decode.Op{decode.OpMov64Reg, decode.OpAdd64Reg, decode.OpLdxW}, sameDst | otherSrc | thirdSrcIsDst},
	{fIndexStoreW, [3]decode.Op{decode.OpMov64Reg, decode.OpAdd64Reg, decode.OpStxW}, sameDst | otherSrc | thirdDstIsDst},
	{fIndexLoadDW, [3]decode.Op{decode.OpMov64Reg, decode.OpAdd64Reg, decode.OpLdxDW}, sameDst | otherSrc | thirdSrcIsDst},
	{fIndexStoreDW, [3]decode.Op{decode.OpMov64Reg, decode.OpAdd64Reg, decode.OpStxDW}, sameDst | otherSrc | thirdDstIsDst},
	{fAdd64JeqImmJa, [3]decode.Op{decode.OpAdd64Imm, decode.OpJeq64Imm, decode.OpJa}, sameDst},
	{fAdd64JgtImmJa, [3]decode.Op{decode.OpAdd64Imm, decode.OpJgt64Imm, decode.OpJa}, sameDst},
	{fAdd32JeqImmJa, [3]decode.Op{decode.OpAdd32Imm, decode.OpJeq32Imm, decode.OpJa}, sameDst},
	{fAdd32JgtImmJa, [3]decode.Op{decode.OpAdd32Imm, decode.OpJgt32Imm, decode.OpJa}, sameDst},
	{fMovLshRsh, [3]decode.Op{decode.OpMov64Reg, decode.OpLsh64Imm, decode.OpRsh64Imm}, sameDst | thirdSameDst},
	{fMov32RegJeqJa, [3]decode.Op{decode.OpMov32Reg, decode.OpJeq64Imm, decode.OpJa}, 0},
	{fMov32RegJgtJa, [3]decode.Op{decode.OpMov32Reg, decode.OpJgt64Imm, decode.OpJa}, 0},
	{fMov64RegJeqJa, [3]decode.Op{decode.OpMov64Reg, decode.OpJeq64Imm, decode.OpJa}, 0},
	{fMov64RegJgtJa, [3]decode.Op{decode.OpMov64Reg, decode.OpJgt64Imm, decode.OpJa}, 0},
	{fMovAdd, [3]decode.Op{decode.OpMov64Reg, decode.OpAdd64Reg}, sameDst | otherSrc},
	{fMovAddImm, [3]decode.Op{decode.OpMov64Reg, decode.OpAdd64Imm}, sameDst},
	{fAdd64Jeq64Imm, [3]decode.Op{decode.OpAdd64Imm, decode.OpJeq64Imm}, sameDst},
	{fAdd64Jeq64Reg, [3]decode.Op{decode.OpAdd64Imm, decode.OpJeq64Reg}, sameDst},
	{fAdd64Jne64Imm, [3]decode.Op{decode.OpAdd64Imm, decode.OpJne64Imm}, sameDst},
	{fAdd64Jne64Reg, [3]decode.Op{decode.OpAdd64Imm, decode.OpJne64Reg}, sameDst},
	{fAdd64Jgt64Imm, [3]decode.Op{decode.OpAdd64Imm, decode.OpJgt64Imm}, sameDst},
	{fAdd64Jgt64Reg, [3]decode.Op{decode.OpAdd64Imm, decode.OpJgt64Reg}, sameDst},
	{fAdd64Jlt64Imm, [3]decode.Op{decode.OpAdd64Imm, decode.OpJlt64Imm}, sameDst},
	{fAdd64Jlt64Reg, [3]decode.Op{decode.OpAdd64Imm, decode.OpJlt64Reg}, sameDst},
	{fAdd64Jge64Imm, [3]decode.Op{decode.OpAdd64Imm, decode.OpJge64Imm}, sameDst},
	{fAdd64Jle64Imm, [3]decode.Op{decode.OpAdd64Imm, decode.OpJle64Imm}, sameDst},
	{fAdd64Jsgt64Imm, [3]decode.Op{decode.OpAdd64Imm, decode.OpJsgt64Imm}, sameDst},
	{fAdd64Jslt64Imm, [3]decode.Op{decode.OpAdd64Imm, decode.OpJslt64Imm}, sameDst},
	{fAdd32Jeq32Imm, [3]decode.Op{decode.OpAdd32Imm, decode.OpJeq32Imm}, sameDst},
	{fAdd32Jeq32Reg, [3]decode.Op{decode.OpAdd32Imm, decode.OpJeq32Reg}, sameDst},
	{fAdd32Jne32Imm, [3]decode.Op{decode.OpAdd32Imm, decode.OpJne32Imm}, sameDst},
	{fAdd32Jne32Reg, [3]decode.Op{decode.OpAdd32Imm, decode.OpJne32Reg}, sameDst},
	{fAdd32Jgt32Imm, [3]decode.Op{decode.OpAdd32Imm, decode.OpJgt32Imm}, sameDst},
	{fAdd32Jgt32Reg, [3]decode.Op{decode.OpAdd32Imm, decode.OpJgt32Reg}, sameDst},
	{fAdd32Jlt32Imm, [3]decode.Op{decode.OpAdd32Imm, decode.OpJlt32Imm}, sameDst},
	{fAdd32Jlt32Reg, [3]decode.Op{decode.OpAdd32Imm, decode.OpJlt32Reg}, sameDst},
	{fAdd64Jeq32Imm, [3]decode.Op{decode.OpAdd64Imm, decode.OpJeq32Imm}, sameDst},
	{fAdd64Jne32Imm, [3]decode.Op{decode.OpAdd64Imm, decode.OpJne32Imm}, sameDst},
	{fJeq64ImmJa, [3]decode.Op{decode.OpJeq64Imm, decode.OpJa}, 0},
	{fJeq64RegJa, [3]decode.Op{decode.OpJeq64Reg, decode.OpJa}, 0},
	{fJeq32ImmJa, [3]decode.Op{decode.OpJeq32Imm, decode.OpJa}, 0},
	{fJne64ImmJa, [3]decode.Op{decode.OpJne64Imm, decode.OpJa}, 0},
	{fJne64RegJa, [3]decode.Op{decode.OpJne64Reg, decode.OpJa}, 0},
	{fJne32ImmJa, [3]decode.Op{decode.OpJne32Imm, decode.OpJa}, 0},
	{fJgt64ImmJa, [3]decode.Op{decode.OpJgt64Imm, decode.OpJa}, 0},
	{fJgt64RegJa, [3]decode.Op{decode.OpJgt64Reg, decode.OpJa}, 0},
	{fJgt32ImmJa, [3]decode.Op{decode.OpJgt32Imm, decode.OpJa}, 0},
	{fJlt64ImmJa, [3]decode.Op{decode.OpJlt64Imm, decode.OpJa}, 0},
	{fJlt64RegJa, [3]decode.Op{decode.OpJlt64Reg, decode.OpJa}, 0},
	{fJlt32ImmJa, [3]decode.Op{decode.OpJlt32Imm, decode.OpJa}, 0},
	{fJsgt64ImmJa, [3]decode.Op{decode.OpJsgt64Imm, decode.OpJa}, 0},
	{fJsgt64RegJa, [3]decode.Op{decode.OpJsgt64Reg, decode.OpJa}, 0},
	{fJsgt32ImmJa, [3]decode.Op{decode.OpJsgt32Imm, decode.OpJa}, 0},
	{fJslt64ImmJa, [3]decode.Op{decode.OpJslt64Imm, decode.OpJa}, 0},
	{fJslt64RegJa, [3]decode.Op{decode.OpJslt64Reg, decode.OpJa}, 0},
	{fJslt32ImmJa, [3]decode.Op{decode.OpJslt32Imm, decode.OpJa}, 0},
	{fLoadBAdd64, [3]decode.Op{decode.OpLdxB, decode.OpAdd64Reg}, srcIsDst | otherDst},
	{fLoadBAdd32, [3]decode.Op{decode.OpLdxB, decode.OpAdd32Reg}, srcIsDst | otherDst},
	{fLoadBOr64, [3]decode.Op{decode.OpLdxB, decode.OpOr64Reg}, srcIsDst | otherDst},
	{fLoadBOr32, [3]decode.Op{decode.OpLdxB, decode.OpOr32Reg}, srcIsDst | otherDst},
	{fLoadBXor64, [3]decode.Op{decode.OpLdxB, decode.OpXor64Reg}, srcIsDst | otherDst},
	{fLoadBXor32, [3]decode.Op{decode.OpLdxB, decode.OpXor32Reg}, srcIsDst | otherDst},
	{fLoadBJeq64, [3]decode.Op{decode.OpLdxB, decode.OpJeq64Imm}, sameDst},
	{fLoadBJeq32, [3]decode.Op{decode.OpLdxB, decode.OpJeq32Imm}, sameDst},
	{fLoadBJne64, [3]decode.Op{decode.OpLdxB, decode.OpJne64Imm}, sameDst},
	{fLoadBJne32, [3]decode.Op{decode.OpLdxB, decode.OpJne32Imm}, sameDst},
	{fLoadHAdd64, [3]decode.Op{decode.OpLdxH, decode.OpAdd64Reg}, srcIsDst | otherDst},
	{fLoadHAdd32, [3]decode.Op{decode.OpLdxH, decode.OpAdd32Reg}, srcIsDst | otherDst},
	{fLoadHOr64, [3]decode.Op{decode.OpLdxH, decode.OpOr64Reg}, srcIsDst | otherDst},
	{fLoadHOr32, [3]decode.Op{decode.OpLdxH, decode.OpOr32Reg}, srcIsDst | otherDst},
	{fLoadHXor64, [3]decode.Op{decode.OpLdxH, decode.OpXor64Reg}, srcIsDst | otherDst},
	{fLoadHXor32, [3]decode.Op{decode.OpLdxH, decode.OpXor32Reg}, srcIsDst | otherDst},
	{fLoadHJeq64, [3]decode.Op{decode.OpLdxH, decode.OpJeq64Imm}, sameDst},
	{fLoadHJeq32, [3]decode.Op{decode.OpLdxH, decode.OpJeq32Imm}, sameDst},
	{fLoadHJne64, [3]decode.Op{decode.OpLdxH, decode.OpJne64Imm}, sameDst},
	{fLoadHJne32, [3]decode.Op{decode.OpLdxH, decode.OpJne32Imm}, sameDst},
	{fLoadWAdd64, [3]decode.Op{decode.OpLdxW, decode.OpAdd64Reg}, srcIsDst | otherDst},
	{fLoadWAdd32, [3]decode.Op{decode.OpLdxW, decode.OpAdd32Reg}, srcIsDst | otherDst},
	{fLoadWOr64, [3]decode.Op{decode.OpLdxW, decode.OpOr64Reg}, srcIsDst | otherDst},
	{fLoadWOr32, [3]decode.Op{decode.OpLdxW, decode.OpOr32Reg}, srcIsDst | otherDst},
	{fLoadWXor64, [3]decode.Op{decode.OpLdxW, decode.OpXor64Reg}, srcIsDst | otherDst},
	{fLoadWXor32, [3]decode.Op{decode.OpLdxW, decode.OpXor32Reg}, srcIsDst | otherDst},
	{fLoadWJeq64, [3]decode.Op{decode.OpLdxW, decode.OpJeq64Imm}, sameDst},
	{fLoadWJeq32, [3]decode.Op{decode.OpLdxW, decode.OpJeq32Imm}, sameDst},
	{fLoadWJne64, [3]decode.Op{decode.OpLdxW, decode.OpJne64Imm}, sameDst},
	{fLoadWJne32, [3]decode.Op{decode.OpLdxW, decode.OpJne32Imm}, sameDst},
	{fLoadDWAdd64, [3]decode.Op{decode.OpLdxDW, decode.OpAdd64Reg}, srcIsDst | otherDst},
	{fLoadDWOr64, [3]decode.Op{decode.OpLdxDW, decode.OpOr64Reg}, srcIsDst | otherDst},
	{fLoadDWXor64, [3]decode.Op{decode.OpLdxDW, decode.OpXor64Reg}, srcIsDst | otherDst},
	{fLoadDWAnd64, [3]decode.Op{decode.OpLdxDW, decode.OpAnd64Reg}, srcIsDst | otherDst},
	{fLoadDWJeq64, [3]decode.Op{decode.OpLdxDW, decode.OpJeq64Imm}, sameDst},
	{fLoadDWJne64, [3]decode.Op{decode.OpLdxDW, decode.OpJne64Imm}, sameDst},
	{fMov64RegMov64Reg, [3]decode.Op{decode.OpMov64Reg, decode.OpMov64Reg}, 0},
	{fMov64RegMov64Imm, [3]decode.Op{decode.OpMov64Reg, decode.OpMov64Imm}, 0},
	{fMov64RegMov32Imm, [3]decode.Op{decode.OpMov64Reg, decode.OpMov32Imm}, 0},
	{fMov64ImmMov64Reg, [3]decode.Op{decode.OpMov64Imm, decode.OpMov64Reg}, 0},
	{fMov64ImmMov64Imm, [3]decode.Op{decode.OpMov64Imm, decode.OpMov64Imm}, 0},
	{fMov64ImmMov32Imm, [3]decode.Op{decode.OpMov64Imm, decode.OpMov32Imm}, 0},
	{fMov64ImmJa, [3]decode.Op{decode.OpMov64Imm, decode.OpJa}, 0},
	{fMov64And, [3]decode.Op{decode.OpMov64Reg, decode.OpAnd64Imm}, sameDst},
	{fMov64Lsh, [3]decode.Op{decode.OpMov64Reg, decode.OpLsh64Imm}, sameDst},
	{fMov64Rsh, [3]decode.Op{decode.OpMov64Reg, decode.OpRsh64Imm}, sameDst},
	{fMov32And, [3]decode.Op{decode.OpMov32Reg, decode.OpAnd32Imm}, sameDst},
	{fMov32Lsh, [3]decode.Op{decode.OpMov32Reg, decode.OpLsh32Imm}, sameDst},
	{fMov32Rsh, [3]decode.Op{decode.OpMov32Reg, decode.OpRsh32Imm}, sameDst},
	{fLshRsh, [3]decode.Op{decode.OpLsh64Imm, decode.OpRsh64Imm}, sameDst},
	{fLshArsh, [3]decode.Op{decode.OpLsh64Imm, decode.OpArsh64Imm}, sameDst},
	{fMul64ImmAdd64Imm, [3]decode.Op{decode.OpMul64Imm, decode.OpAdd64Imm}, sameDst},
	{fMul64RegXor64Reg, [3]decode.Op{decode.OpMul64Reg, decode.OpXor64Reg}, sameDst | otherSrc},
	{fXor64RegMul64Reg, [3]decode.Op{decode.OpXor64Reg, decode.OpMul64Reg}, sameDst | otherSrc},
	{fLsh64ImmOr64Reg, [3]decode.Op{decode.OpLsh64Imm, decode.OpOr64Reg}, sameDst | otherSrc},
	{fLsh64ImmAdd64Reg, [3]decode.Op{decode.OpLsh64Imm, decode.OpAdd64Reg}, sameDst | otherSrc},
	{fRsh64ImmOr64Reg, [3]decode.Op{decode.OpRsh64Imm, decode.OpOr64Reg}, sameDst | otherSrc},
	{fRsh64ImmAnd64Imm, [3]decode.Op{decode.OpRsh64Imm, decode.OpAnd64Imm}, sameDst},
	{fRsh64ImmXor64Reg, [3]decode.Op{decode.OpRsh64Imm, decode.OpXor64Reg}, sameDst | otherSrc},
	{fMul64RegAdd64Reg, [3]decode.Op{decode.OpMul64Reg, decode.OpAdd64Reg}, sameDst | otherSrc},
	{fMul64ImmAdd64Reg, [3]decode.Op{decode.OpMul64Imm, decode.OpAdd64Reg}, sameDst | otherSrc},
	{fAnd64ImmAdd64Reg, [3]decode.Op{decode.OpAnd64Imm, decode.OpAdd64Reg}, sameDst | otherSrc},
	{fMul32RegAdd32Reg, [3]decode.Op{decode.OpMul32Reg, decode.OpAdd32Reg}, sameDst | otherSrc},
	{fXor32RegMul32Imm, [3]decode.Op{decode.OpXor32Reg, decode.OpMul32Imm}, sameDst},
	{fLsh32ImmOr32Reg, [3]decode.Op{decode.OpLsh32Imm, decode.OpOr32Reg}, sameDst | otherSrc},
	{fRsh32ImmAnd32Imm, [3]decode.Op{decode.OpRsh32Imm, decode.OpAnd32Imm}, sameDst},
	{fLsh32ImmAdd32Reg, [3]decode.Op{decode.OpLsh32Imm, decode.OpAdd32Reg}, sameDst | otherSrc},
	{fRsh32ImmXor32Reg, [3]decode.Op{decode.OpRsh32Imm, decode.OpXor32Reg}, sameDst | otherSrc},
	{fAnd32ImmAdd32Reg, [3]decode.Op{decode.OpAnd32Imm, decode.OpAdd32Reg}, sameDst | otherSrc},
	{fAnd32ImmOr32Reg, [3]decode.Op{decode.OpAnd32Imm, decode.OpOr32Reg}, sameDst | otherSrc},
	{fXor64RegAdd64Reg, [3]decode.Op{decode.OpXor64Reg, decode.OpAdd64Reg}, sameDst | otherSrc},
	{fAdd64RegXor64Reg, [3]decode.Op{decode.OpAdd64Reg, decode.OpXor64Reg}, sameDst | otherSrc},
	{fAdd64ImmAdd64Reg, [3]decode.Op{decode.OpAdd64Imm, decode.OpAdd64Reg}, sameDst | otherSrc},
	{fAdd64RegAdd64Reg, [3]decode.Op{decode.OpAdd64Reg, decode.OpAdd64Reg}, sameDst | otherSrc},
	{fAddImmAddImm, [3]decode.Op{decode.OpAdd64Imm, decode.OpAdd64Imm}, 0},
	{fLoadDWLoadDW, [3]decode.Op{decode.OpLdxDW, decode.OpLdxDW}, 0},
	{fStoreDWStoreDW, [3]decode.Op{decode.OpStxDW, decode.OpStxDW}, 0},
	{fLoadWLoadW, [3]decode.Op{decode.OpLdxW, decode.OpLdxW}, 0},
	{fStoreWStoreW, [3]decode.Op{decode.OpStxW, decode.OpStxW}, 0},
	{fMovMul, [3]decode.Op{decode.OpMov64Reg, decode.OpMul64Reg}, sameDst | otherSrc},
	{fMovSub, [3]decode.Op{decode.OpMov64Reg, decode.OpSub64Reg}, sameDst | otherSrc},
	{fMovXor, [3]decode.Op{decode.OpMov64Reg, decode.OpXor64Reg}, sameDst | otherSrc},
	{fMovOr, [3]decode.Op{decode.OpMov64Reg, decode.OpOr64Reg}, sameDst | otherSrc},
	{fMovAnd, [3]decode.Op{decode.OpMov64Reg, decode.OpAnd64Reg}, sameDst | otherSrc},
	{fLoadWAddImm, [3]decode.Op{decode.OpLdxW, decode.OpAdd64Imm}, sameDst},
	{fAddLoadW, [3]decode.Op{decode.OpAdd64Reg, decode.OpLdxW}, srcIsDst},
	{fJeqLoadW, [3]decode.Op{decode.OpJeq64Imm, decode.OpLdxW}, 0},
	{fLoadDWAddImm, [3]decode.Op{decode.OpLdxDW, decode.OpAdd64Imm}, sameDst},
	{fAddLoadDW, [3]decode.Op{decode.OpAdd64Reg, decode.OpLdxDW}, srcIsDst},
	{fJeqLoadDW, [3]decode.Op{decode.OpJeq64Imm, decode.OpLdxDW}, 0},
	{fMov64ImmExit, [3]decode.Op{decode.OpMov64Imm, decode.OpExit}, 0},
	{fJeqMov64Imm, [3]decode.Op{decode.OpJeq64Imm, decode.OpMov64Imm}, 0},
	{fAddImmMov, [3]decode.Op{decode.OpAdd64Imm, decode.OpMov64Reg}, 0},
}

// fuseIndex finds rules by the first two ops.
var fuseIndex = func() map[[2]decode.Op][]*fuseRule {
	m := make(map[[2]decode.Op][]*fuseRule, len(fuseRules))
	for i := range fuseRules {
		r := &fuseRules[i]
		k := [2]decode.Op{r.seq[0], r.seq[1]}
		m[k] = append(m[k], r)
	}
	return m
}()

// matches reports whether the rule fits the code at its start. c holds at least three slots.
func (r *fuseRule) matches(c []inst) bool {
	a, b, d := &c[0], &c[1], &c[2]
	if r.seq[2] != decode.OpInvalid && d.op != uint16(r.seq[2]) {
		return false
	}
	return (r.cond&sameDst == 0 || b.dst == a.dst) &&
		(r.cond&otherSrc == 0 || b.src != a.dst) &&
		(r.cond&srcIsDst == 0 || b.src == a.dst) &&
		(r.cond&otherDst == 0 || b.dst != a.dst) &&
		(r.cond&thirdSrcIsDst == 0 || d.src == a.dst) &&
		(r.cond&thirdSameDst == 0 || d.dst == a.dst) &&
		(r.cond&thirdDstIsDst == 0 || (d.dst == a.dst && d.src != a.dst))
}

// fuse returns the code with superinstructions. plain ends with two end markers.
func fuse(plain []inst) []inst {
	code := append([]inst(nil), plain...)
	for i := 0; i+2 < len(plain); i++ {
		if plain[i].op >= uint16(decode.NumOps) || plain[i+1].op >= uint16(decode.NumOps) {
			continue
		}
		for _, r := range fuseIndex[[2]decode.Op{decode.Op(plain[i].op), decode.Op(plain[i+1].op)}] {
			if r.matches(plain[i : i+3]) {
				code[i].op = r.op
				break
			}
		}
	}
	return code
}
