package sound

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/elfbuild"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

const relMap = 1 // R_BPF_64_64

// Object builds an object file from a generated program, for the machine. Maps become legacy
// definitions; a map whose value is addressed directly becomes a data section.
func Object(l *verdicts.Line) (*loader.Object, error) {
	g := l.Generated
	insns, err := g.Insns()
	if err != nil {
		return nil, err
	}
	typ, ok := uapi.ParseProgType(l.ProgType)
	if !ok {
		return nil, fmt.Errorf("program type %q is not known", l.ProgType)
	}
	direct := map[int32]bool{}
	for pc := 0; pc < len(insns); pc += max(insns[pc].Len(), 1) {
		if in := insns[pc]; in.IsLdImm64() && in.Src == decode.PseudoMapValue {
			direct[in.Imm] = true
		}
	}
	b := elfbuild.New(binary.LittleEndian)
	var defs []byte
	var data []int // sections of maps that are addressed directly
	for i, m := range g.Maps {
		if direct[int32(i)] {
			name := fmt.Sprintf(".data.m%d", i)
			if m.Frozen != nil {
				name = fmt.Sprintf(".rodata.m%d", i)
			}
			image := make([]byte, m.Value)
			copy(image, m.Frozen)
			data = append(data, b.Section(name, elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_WRITE, image))
			continue
		}
		data = append(data, -1)
		for _, n := range []uint32{m.Type, m.Key, m.Value, m.Entries, m.Flags} {
			defs = binary.LittleEndian.AppendUint32(defs, n)
		}
	}
	var rels []elfbuild.Rel
	symbols := make([]int, len(g.Maps))
	section := b.Section("maps", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_WRITE, defs)
	at := uint64(0)
	for i := range g.Maps {
		if data[i] >= 0 {
			symbols[i] = b.Symbol(fmt.Sprintf("d%d", i), data[i], 0, uint64(g.Maps[i].Value), elf.STT_OBJECT, elf.STB_GLOBAL)
			continue
		}
		symbols[i] = b.Symbol(fmt.Sprintf("m%d", i), section, at, 20, elf.STT_OBJECT, elf.STB_GLOBAL)
		at += 20
	}
	for pc := 0; pc < len(insns); pc += max(insns[pc].Len(), 1) {
		in := &insns[pc]
		if !in.IsLdImm64() || in.Src != decode.PseudoMapFD && in.Src != decode.PseudoMapValue {
			continue
		}
		if in.Imm < 0 || int(in.Imm) >= len(symbols) {
			return nil, fmt.Errorf("instruction %d refers to map %d of %d", pc, in.Imm, len(symbols))
		}
		rels = append(rels, elfbuild.Rel{Off: uint64(pc) * 8, Sym: symbols[in.Imm], Type: relMap})
		in.Imm, in.Src = 0, 0
		if direct[int32(indexOf(symbols, rels[len(rels)-1].Sym))] {
			in.Imm = insns[pc+1].Imm
		}
		insns[pc+1].Imm = 0
	}
	code := b.Code("program", insns)
	starts := append(decode.Subprograms(insns), len(insns))
	b.Func("main", code, 0, starts[1])
	for i := 1; i+1 < len(starts); i++ {
		b.Symbol(fmt.Sprintf("sub%d", i), code, uint64(starts[i])*8, uint64(starts[i+1]-starts[i])*8, elf.STT_FUNC, elf.STB_LOCAL)
	}
	b.Rel(code, rels...)
	b.Section("license", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_WRITE, []byte("GPL\x00"))
	o, err := loader.OpenBytes(l.Program+".o", b.Bytes(), loader.WithType("program", typ))
	if err != nil {
		return nil, err
	}
	for _, p := range o.Programs {
		p.Attach = uapi.AttachType(l.Attach)
	}
	return o, nil
}

func indexOf(list []int, x int) int {
	for i, n := range list {
		if n == x {
			return i
		}
	}
	return -1
}
