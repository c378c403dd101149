package corerelo

import (
	"fmt"
	"math"

	"github.com/bpfrun/bpfrun/decode"
)

// Field identifies the part of an instruction that a relocation changes.
type Field uint8

// The parts of an instruction.
const (
	FieldNone   Field = iota
	FieldImm          // immediate of an ALU instruction
	FieldOff          // offset of a load or store
	FieldImm64        // both immediates of LD_IMM64
	FieldPoison       // the whole instruction was replaced by the poison call
)

var fieldNames = [...]string{"", "imm", "off", "imm64", "poison"}

// String returns the name of the part: "imm".
func (f Field) String() string {
	if int(f) < len(fieldNames) {
		return fieldNames[f]
	}
	return "unknown"
}

// Patch describes a change made to an instruction.
type Patch struct {
	Insn  int   // index in the slice passed to Apply
	Slots int   // 2 for LD_IMM64, else 1
	Field Field // what was changed
	// Old and New are the values of the field, sign-extended to 64 bits if the field is narrower.
	// For a poisoned instruction Old is the previous value of the field, and New is PoisonImm.
	Old, New uint64
	// OldSize and NewSize are the bytes that a load or store accesses, or 0 if the relocation does
	// not concern the size.
	OldSize, NewSize int
	Poisoned         bool
	Before, After    decode.Insn // first slot

	memSize bool // poisoned only because of its access size
	class   string
}

// Changed reports whether the instruction differs from what it was.
func (p *Patch) Changed() bool { return p.Poisoned || p.Old != p.New || p.OldSize != p.NewSize }

const (
	classMask  = 0x07
	sizeMask   = 0x18
	srcReg     = 0x08
	opLdImm64  = 0x18
	classLd    = 0
	classLdx   = 1
	classSt    = 2
	classStx   = 3
	classAlu   = 4
	classAlu64 = 7
)

// memBytes is the access size in bytes, indexed by the size bits (W, H, B, DW).
var memBytes = [4]uint32{4, 2, 1, 8}

// Apply writes the result into insns[i] (libbpf bpf_core_patch_insn). Poison replaces the
// instruction, including both slots of LD_IMM64. The error is an *[Error]; libbpf then refuses the
// object, and insns is unchanged.
func (rel *Relocation) Apply(insns []decode.Insn, i int) (Patch, error) {
	if rel.Err != nil {
		return Patch{Insn: i}, rel.Err
	}
	p := Patch{Insn: i, Slots: 1}
	if i < 0 || i >= len(insns) {
		f := faultf(ErrInsn, eINVAL, "instruction %d of %d", i, len(insns))
		return p, rel.patchError(i, f)
	}
	p.Before, p.After = insns[i], insns[i]
	if insns[i].Code == opLdImm64 {
		p.Slots = 2
	}
	var f *fault
	switch {
	case rel.InsnOff%8 != 0:
		f = faultf(ErrInsn, eINVAL, "record is for byte %d of the section, inside of an instruction", rel.InsnOff)
	case rel.Result.Poison:
		p.holds(insns, i)
		f = p.poison(insns, i)
	default:
		f = rel.patch(&p, insns, i)
	}
	if f != nil {
		return p, rel.patchError(i, f)
	}
	return p, nil
}

func (rel *Relocation) patchError(i int, f *fault) error {
	e := f.at(rel.Record, StagePatch)
	e.Insn = i
	return e
}

func (rel *Relocation) patch(p *Patch, insns []decode.Insn, i int) *fault {
	res := &rel.Result
	in := insns[i]
	switch in.Code & classMask {
	case classAlu, classAlu64:
		p.class = "ALU/ALU64"
		if in.Code&srcReg != 0 {
			return faultf(ErrInsn, eINVAL, "ALU instruction %#02x has a register operand", in.Code)
		}
		p.holds(insns, i)
		if f := res.check(p, i, fmt.Sprint(in.Imm)); f != nil {
			return f
		}
		in.Imm = int32(uint32(res.New))
		p.New = uint64(int64(in.Imm))
		insns[i] = in
	case classLdx, classSt, classStx:
		p.class = "LDX/ST/STX"
		p.holds(insns, i)
		return rel.patchMem(p, insns, i)
	case classLd:
		p.class = "LDIMM64"
		if in.Code != opLdImm64 || in.Src != 0 || in.Off != 0 || i+1 >= len(insns) || !plainSecond(insns[i+1]) {
			f := faultf(ErrInsn, eINVAL, "(LDIMM64) has unexpected form")
			f.log = fmt.Sprintf("insn #%d (LDIMM64) has unexpected form", i)
			return f
		}
		p.holds(insns, i)
		orig, now := res.Orig, res.New
		if res.SignUnknown && p.Old == uint64(uint32(orig)) {
			orig, now = p.Old, uint64(uint32(now))
		}
		if res.Validate && p.Old != orig {
			return unexpected(p, i, fmt.Sprint(p.Old), orig, now)
		}
		insns[i].Imm, insns[i+1].Imm = int32(uint32(now)), int32(uint32(now>>32))
		p.New = now
	default:
		f := faultf(ErrInsn, eINVAL, "instruction class of %#02x cannot be relocated", in.Code)
		f.log = fmt.Sprintf("trying to relocate unrecognized insn #%d, code:0x%x, src:0x%x, dst:0x%x, off:0x%x, imm:0x%x",
			i, in.Code, in.Src, in.Dst, uint32(int32(in.Off)), uint32(in.Imm))
		return f
	}
	p.After = insns[i]
	return nil
}

func plainSecond(in decode.Insn) bool {
	return in.Code == 0 && in.Dst == 0 && in.Src == 0 && in.Off == 0
}

// patchMem changes offset and access size of a load or store. It checks in libbpf's order: an
// offset that is too large is an error even if the access would be poisoned because of its size.
func (rel *Relocation) patchMem(p *Patch, insns []decode.Insn, i int) *fault {
	res := &rel.Result
	in := insns[i]
	if f := res.check(p, i, fmt.Sprint(in.Off)); f != nil {
		return f
	}
	if res.New > math.MaxInt16 {
		f := faultf(ErrRange, eRANGE, "offset %d of a load or store", res.New)
		f.log = fmt.Sprintf("insn #%d (LDX/ST/STX) value too big: %d", i, res.New)
		return f
	}
	if res.FailMemSize {
		p.memSize = true
		return p.poison(insns, i)
	}
	if res.NewSize != res.OrigSize {
		have := memBytes[in.Code&sizeMask>>3]
		if have != res.OrigSize {
			f := faultf(ErrMemSize, eINVAL, "the instruction accesses %d bytes, the field has %d", have, res.OrigSize)
			f.log = fmt.Sprintf("patched insn #%d (LDX/ST/STX) off %d -> %d\n", i, p.Old, res.New) +
				fmt.Sprintf("insn #%d (LDX/ST/STX) unexpected mem size: got %d, exp %d", i, have, res.OrigSize)
			return f
		}
		bits, ok := sizeBits(res.NewSize)
		if !ok {
			f := faultf(ErrMemSize, eINVAL, "no access of %d bytes exists", res.NewSize)
			f.log = fmt.Sprintf("patched insn #%d (LDX/ST/STX) off %d -> %d\n", i, p.Old, res.New) +
				fmt.Sprintf("insn #%d (LDX/ST/STX) invalid new mem size: %d", i, res.NewSize)
			return f
		}
		in.Code = in.Code&^sizeMask | bits
		p.OldSize, p.NewSize = int(res.OrigSize), int(res.NewSize)
	}
	in.Off = int16(res.New)
	p.New = res.New
	insns[i], p.After = in, in
	return nil
}

func sizeBits(size uint32) (uint8, bool) {
	for bits, bytes := range memBytes {
		if bytes == size {
			return uint8(bits) << 3, true
		}
	}
	return 0, false
}

// holds records the field that contains the value, and the value.
func (p *Patch) holds(insns []decode.Insn, i int) {
	in := insns[i]
	switch in.Code & classMask {
	case classLdx, classSt, classStx:
		p.Field, p.Old = FieldOff, uint64(int64(in.Off))
	case classLd:
		p.Field, p.Old = FieldImm64, uint64(uint32(in.Imm))
		if i+1 < len(insns) {
			p.Old |= uint64(uint32(insns[i+1].Imm)) << 32
		}
	default:
		p.Field, p.Old = FieldImm, uint64(int64(in.Imm))
	}
}

// check compares what the instruction contains with the object's own BTF.
func (res *Result) check(p *Patch, i int, got string) *fault {
	if !res.Validate || p.Old == res.Orig || res.SignUnknown && uint32(p.Old) == uint32(res.Orig) {
		return nil
	}
	return unexpected(p, i, got, res.Orig, res.New)
}

func unexpected(p *Patch, i int, got string, orig, now uint64) *fault {
	f := faultf(ErrUnexpectedValue, eINVAL, "it holds %s, the object's BTF gives %d", got, orig)
	f.log = fmt.Sprintf("unexpected insn #%d (%s) value: got %s, exp %d -> %d", i, p.class, got, orig, now)
	return f
}

// poison replaces the instruction with the poison call.
func (p *Patch) poison(insns []decode.Insn, i int) *fault {
	if p.Slots == 2 {
		if i+1 >= len(insns) {
			return faultf(ErrInsn, eINVAL, "LD_IMM64 without its second half")
		}
		insns[i+1] = PoisonInsn()
	}
	insns[i] = PoisonInsn()
	p.Field, p.Poisoned, p.New, p.After = FieldPoison, true, PoisonImm, insns[i]
	return nil
}
