package ids

import (
	"debug/elf"
	"encoding/binary"
	"slices"
)

// registrar registers a set of kfuncs: its first argument is a program type, its second a struct
// btf_kfunc_id_set.
const registrar = "register_btf_kfunc_id_set"

const (
	// reach is the number of bytes before a call that are searched for its arguments: compilers set
	// both registers right before it.
	reach = 48
	// setMember is the offset of member set in struct btf_kfunc_id_set.
	setMember = 8
	// maxRelocations limits the relocations of a module.
	maxRelocations = 1 << 20
)

// Registered returns the program types for which a module's code registers each set of kfuncs, by
// the set's offset in .BTF_ids. It reads the relocations of calls in x86-64 code. ok is false when
// there are none or when one of the calls cannot be followed: it is then unknown which programs may
// call the functions.
func (s *Section) Registered(f *elf.File) (programs map[uint32][]uint32, ok bool) {
	if f.Machine != elf.EM_X86_64 || f.Type != elf.ET_REL {
		return nil, false
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, false
	}
	relocs := moduleRelocations(f, symbols)
	programs = map[uint32][]uint32{}
	for section, list := range relocs {
		var code []byte
		for i, r := range list {
			if r.symbol.Name != registrar {
				continue
			}
			if code == nil {
				if code, err = f.Sections[section].Data(); err != nil {
					return nil, false
				}
			}
			kind, where, found := arguments(code, list[:i], r.offset)
			if !found {
				return nil, false
			}
			set, found := setOf(f, relocs, where)
			if !found {
				return nil, false
			}
			programs[set] = append(programs[set], kind)
		}
	}
	return programs, len(programs) > 0
}

// relocation is a relocation with an addend.
type relocation struct {
	offset uint64
	kind   elf.R_X86_64
	symbol elf.Symbol
	addend int64
}

// moduleRelocations returns the relocations of a module by the section they apply to, sorted by
// offset.
func moduleRelocations(f *elf.File, symbols []elf.Symbol) map[int][]relocation {
	out := map[int][]relocation{}
	total := uint64(0)
	for _, sec := range f.Sections {
		if sec.Type != elf.SHT_RELA || int(sec.Info) >= len(f.Sections) || f.Sections[sec.Info].Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		if total += sec.Size / 24; total > maxRelocations {
			return nil
		}
		data, err := sec.Data()
		if err != nil {
			return nil
		}
		for ; len(data) >= 24; data = data[24:] {
			info := binary.LittleEndian.Uint64(data[8:])
			n := info >> 32
			if n == 0 || n > uint64(len(symbols)) {
				continue
			}
			out[int(sec.Info)] = append(out[int(sec.Info)], relocation{
				offset: binary.LittleEndian.Uint64(data), kind: elf.R_X86_64(uint32(info)), symbol: symbols[n-1],
				addend: int64(binary.LittleEndian.Uint64(data[16:])),
			})
		}
		slices.SortStableFunc(out[int(sec.Info)], func(a, b relocation) int {
			switch {
			case a.offset < b.offset:
				return -1
			case a.offset > b.offset:
				return 1
			}
			return 0
		})
	}
	return out
}

// place is an offset in a section.
type place struct {
	section elf.SectionIndex
	offset  int64
}

// arguments decodes the constants passed by the call whose relocation is at an offset: mov $TYPE,
// %edi (or xor %edi, %edi) and mov $SET, %rsi.
func arguments(code []byte, before []relocation, call uint64) (kind uint32, set place, ok bool) {
	if call > uint64(len(code)) || call < 1 {
		return 0, place{}, false
	}
	start := max(int64(call)-1-reach, 0)
	for _, r := range slices.Backward(before) {
		at := int64(r.offset)
		if at < start+3 || at+4 > int64(call)-1 {
			break
		}
		if r.kind == elf.R_X86_64_32S && slices.Equal(code[at-3:at], []byte{0x48, 0xc7, 0xc6}) {
			set = place{r.symbol.Section, int64(r.symbol.Value) + r.addend}
			ok = true
			break
		}
	}
	if !ok {
		return 0, place{}, false
	}
	window := code[start : call-1]
	for i := len(window) - 2; i >= 0; i-- {
		switch {
		case i+5 <= len(window) && window[i] == 0xbf && window[i+2] == 0 && window[i+3] == 0 && window[i+4] == 0:
			return uint32(window[i+1]), set, true
		case window[i] == 0x31 && window[i+1] == 0xff:
			return 0, set, true
		}
	}
	return 0, place{}, false
}

// setOf returns the offset in .BTF_ids of the set that a struct btf_kfunc_id_set points to.
func setOf(f *elf.File, relocs map[int][]relocation, at place) (uint32, bool) {
	for _, r := range relocs[int(at.section)] {
		if int64(r.offset) != at.offset+setMember || r.kind != elf.R_X86_64_64 || int(r.symbol.Section) >= len(f.Sections) {
			continue
		}
		if f.Sections[r.symbol.Section].Name != sectionName {
			return 0, false
		}
		return uint32(int64(r.symbol.Value) + r.addend), true
	}
	return 0, false
}
