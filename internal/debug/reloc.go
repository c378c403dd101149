package debug

import (
	"fmt"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
)

// RelocText describes in one line what CO-RE did to an instruction.
func (cm *codeMap) RelocText(r *loader.Reloc) string {
	text := fmt.Sprintf("%s %s: ", r.Kind, r.Local.Field())
	switch {
	case r.Err != nil:
		text += "failed: " + r.Err.Error()
	case r.Poisoned():
		text += "missing on this kernel: the instruction must not be reached"
		if why := cm.linked.Explain(r); why != "" {
			text += "; " + why
		}
	case !r.Changed():
		text += fmt.Sprintf("%d, unchanged", int64(r.Patch.New))
	default:
		text += fmt.Sprintf("%d -> %d", int64(r.Patch.Old), int64(r.Patch.New))
		if r.Patch.OldSize != r.Patch.NewSize {
			text += fmt.Sprintf(", %d bytes -> %d bytes", r.Patch.OldSize, r.Patch.NewSize)
		}
	}
	return text
}

// RelocsAt returns the relocations that belong to the source line of a place: those of its
// instructions, and those whose value one of its instructions uses. Compilers load offsets early,
// so the patched instruction is often on a different line.
func (cm *codeMap) RelocsAt(p Place) []*loader.Reloc {
	if p.Prog == nil {
		return nil
	}
	c := cm.codeOf(p.Prog)
	var out []*loader.Reloc
	for i := range p.Prog.Relocs {
		r := &p.Prog.Relocs[i]
		if r.Relocation == nil || r.Insn >= len(c.line) {
			continue
		}
		use := userOf(p.Prog.Insns, r.Insn)
		if r.Insn == p.PC || use == p.PC || c.line[p.PC] != 0 && c.line[use] == c.line[p.PC] {
			out = append(out, r)
		}
	}
	return out
}

// userOf follows the value that an instruction computes through the straight-line code after it to
// the load, store or call that uses it; it returns the instruction itself if it is one, or if there
// is none.
func userOf(insns []decode.Insn, at int) int {
	const (
		loadX, store, storeX, alu, jump, alu64 = 1, 2, 3, 4, 5, 7
		opMov, opCall                          = 0xb0, 0x80
		srcReg                                 = 0x08
	)
	first := insns[at]
	if c := first.Code & 7; c != alu && c != alu64 && !first.IsLdImm64() {
		return at
	}
	var holds [16]bool
	holds[first.Dst&15] = true
	for pc := at + first.Len(); pc < len(insns); pc += insns[pc].Len() {
		in := insns[pc]
		dst, src := in.Dst&15, in.Src&15
		switch in.Code & 7 {
		case loadX:
			if holds[src] {
				return pc
			}
			holds[dst] = false
		case store, storeX:
			if holds[dst] {
				return pc
			}
		case alu, alu64:
			fromReg := in.Code&srcReg != 0
			switch {
			case fromReg && holds[src]:
				holds[dst] = true
			case in.Code&0xf0 == opMov:
				holds[dst] = false
			}
		default:
			if in.Code&0xf0 == opCall && in.Code&7 == jump {
				for r := 1; r <= 5; r++ {
					if holds[r] {
						return pc
					}
				}
				for r := range 6 {
					holds[r] = false
				}
				continue
			}
			if in.IsLdImm64() {
				holds[dst] = false
				continue
			}
			return at
		}
	}
	return at
}
