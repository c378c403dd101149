package verdicts

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/bpfrun/bpfrun/decode"
)

// Patch replaces an instruction of a program after linking.
type Patch struct {
	Insn int `json:"insn"`
	// Code is the 8-byte instruction in hex, little-endian.
	Code string `json:"code"`
}

func newPatch(pc int, in decode.Insn) Patch {
	return Patch{Insn: pc, Code: hex.EncodeToString(decode.Marshal([]decode.Insn{in}, binary.LittleEndian))}
}

// Apply returns the instructions with the patches applied.
func Apply(insns []decode.Insn, patches []Patch) ([]decode.Insn, error) {
	if len(patches) == 0 {
		return insns, nil
	}
	out := slices.Clone(insns)
	for _, p := range patches {
		raw, err := hex.DecodeString(p.Code)
		if err != nil || len(raw) != decode.SlotSize || p.Insn < 0 || p.Insn >= len(out) {
			return nil, fmt.Errorf("patch of instruction %d of %d: %q", p.Insn, len(out), p.Code)
		}
		in, err := decode.Unmarshal(raw, binary.LittleEndian)
		if err != nil {
			return nil, err
		}
		out[p.Insn] = in[0]
	}
	return out, nil
}

// Mutate returns random small changes to a real program: numbers that are slightly off, other
// registers, sizes and conditions, removed instructions. It keeps references to maps, types and
// functions; fixed reports whether the instruction at pc contains one.
func Mutate(rng *rand.Rand, insns []decode.Insn, fixed func(pc int) bool) []Patch {
	var places []int
	for pc := 0; pc < len(insns); pc += max(insns[pc].Len(), 1) {
		if !insns[pc].IsLdImm64() && !fixed(pc) && insns[pc].Code != 0x85 && insns[pc].Code != 0x95 {
			places = append(places, pc)
		}
	}
	if len(places) == 0 {
		return nil
	}
	var out []Patch
	for range 1 + rng.IntN(2) {
		pc := places[rng.IntN(len(places))]
		in := insns[pc]
		change(rng, &in)
		if in != insns[pc] && in.Op() != decode.OpInvalid {
			out = append(out, newPatch(pc, in))
		}
	}
	return out
}

// change applies one random change to an instruction.
func change(rng *rand.Rand, in *decode.Insn) {
	class := in.Code & 7
	jump := class == decode.ClassJMP || class == decode.ClassJMP32
	memory := class == decode.ClassLDX || class == decode.ClassST || class == decode.ClassSTX
	steps := []int{-8, -4, -2, -1, 1, 2, 4, 8}
	step := steps[rng.IntN(len(steps))]
	switch rng.IntN(6) {
	case 0:
		in.Imm += int32(step)
		if in.Code&0x08 != 0 || memory {
			in.Imm -= int32(step)
			in.Off += int16(step) * map[bool]int16{true: 1}[memory]
		}
	case 1:
		switch {
		case memory:
			in.Off += int16(step)
		case jump: // another condition
			in.Code = in.Code&0x0f | []uint8{0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0}[rng.IntN(11)]
		default:
			in.Imm += int32(step)
		}
	case 2: // another register
		if in.Code&0x08 != 0 || class == decode.ClassLDX || class == decode.ClassSTX {
			in.Src = uint8(rng.IntN(11))
		} else {
			in.Dst = uint8(rng.IntN(10))
		}
	case 3: // another width
		switch {
		case memory:
			in.Code = in.Code&^0x18 | uint8(rng.IntN(4))<<3
		case jump:
			in.Code ^= decode.ClassJMP ^ decode.ClassJMP32
		default:
			in.Code ^= decode.ClassALU ^ decode.ClassALU64
		}
	case 4: // removed
		*in = decode.Insn{Code: decode.ClassJMP}
	case 5: // another operation
		if !jump && !memory {
			in.Code = in.Code&0x0f | uint8(rng.IntN(13))<<4
		} else if jump {
			in.Imm = int32(rng.Uint32()) >> rng.IntN(32)
			if in.Code&0x08 != 0 {
				in.Imm = 0
			}
		}
	}
}
