package fromdwarf

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// relocator reads sections of an ELF file. Those of an object file are relocated as by a linker
// that places each section of the program at sectionBases and the others at 0.
type relocator struct {
	f       *elf.File
	symbols []elf.Symbol
	bases   []uint64
}

func newRelocator(f *elf.File) (*relocator, error) {
	r := &relocator{f: f}
	if f.Type != elf.ET_REL {
		return r, nil
	}
	if _, ok := dataRelocations[f.Machine]; !ok {
		return nil, fmt.Errorf("%w: relocatable files for %s are not supported: link the file first", ErrMachine, f.Machine)
	}
	symbols, err := f.Symbols()
	if err != nil {
		symbols = nil // without symbols, no relocation can be resolved
	}
	r.symbols = symbols
	r.bases = sectionBases(f)
	return r, nil
}

// sectionBases returns an address for each section of a relocatable file, so that an address
// identifies the section, too; 0 in other files, where symbols have addresses.
func sectionBases(f *elf.File) []uint64 {
	bases := make([]uint64, len(f.Sections))
	if f.Type != elf.ET_REL {
		return bases
	}
	const page = 1 << 16
	next := uint64(page)
	for i, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 {
			bases[i] = next
			next += s.Size&^(page-1) + page
		}
	}
	return bases
}

// how describes the effect of a relocation on data.
type how struct {
	size uint8
	op   uint8 // '=' stores; '+' and '-' add to and subtract from the data
}

// dataRelocations are the relocations that compilers emit in DWARF, by machine. Others apply to
// code or have no effect here.
var dataRelocations = map[elf.Machine]map[uint32]how{
	elf.EM_X86_64:    {uint32(elf.R_X86_64_64): {8, '='}, uint32(elf.R_X86_64_32): {4, '='}, uint32(elf.R_X86_64_32S): {4, '='}},
	elf.EM_386:       {uint32(elf.R_386_32): {4, '='}},
	elf.EM_AARCH64:   {uint32(elf.R_AARCH64_ABS64): {8, '='}, uint32(elf.R_AARCH64_ABS32): {4, '='}},
	elf.EM_ARM:       {uint32(elf.R_ARM_ABS32): {4, '='}},
	elf.EM_S390:      {uint32(elf.R_390_64): {8, '='}, uint32(elf.R_390_32): {4, '='}},
	elf.EM_PPC64:     {uint32(elf.R_PPC64_ADDR64): {8, '='}, uint32(elf.R_PPC64_ADDR32): {4, '='}},
	elf.EM_LOONGARCH: {uint32(elf.R_LARCH_64): {8, '='}, uint32(elf.R_LARCH_32): {4, '='}},
	elf.EM_RISCV: {
		uint32(elf.R_RISCV_64): {8, '='}, uint32(elf.R_RISCV_32): {4, '='}, uint32(elf.R_RISCV_SET32): {4, '='}, uint32(elf.R_RISCV_ADD64): {8, '+'},
		uint32(elf.R_RISCV_ADD32): {4, '+'}, uint32(elf.R_RISCV_SUB64): {8, '-'}, uint32(elf.R_RISCV_SUB32): {4, '-'},
	},
	// R_BPF_64_64, which LLVM before 13 used for data too, R_BPF_64_ABS64, R_BPF_64_ABS32,
	// R_BPF_64_NODYLD32 and R_BPF_64_32.
	elf.EM_BPF: {1: {8, '='}, 2: {8, '='}, 3: {4, '='}, 4: {4, '='}, 10: {4, '='}},
}

// section returns a section's bytes, decompressed, or nil if there is none. An object file may have
// several sections of a name, one for each type unit; they are concatenated.
func (r *relocator) section(name string) ([]byte, error) {
	var all []byte
	for i, s := range r.f.Sections {
		if s.Name != name && s.Name != ".z"+name[1:] || s.Type == elf.SHT_NOBITS {
			continue
		}
		data, err := r.read(i, s)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = data
		} else {
			all = append(all, data...)
		}
	}
	return all, nil
}

func (r *relocator) read(index int, s *elf.Section) ([]byte, error) {
	if s.Size > maxSection {
		return nil, fmt.Errorf("%w: %s has %d bytes", ErrMalformed, s.Name, s.Size)
	}
	data, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, s.Name, err)
	}
	if r.f.Type != elf.ET_REL {
		return data, nil
	}
	for _, rel := range r.f.Sections {
		if int(rel.Info) != index || rel.Type != elf.SHT_RELA && rel.Type != elf.SHT_REL {
			continue
		}
		if err := r.apply(data, rel); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// apply applies a section of relocations.
func (r *relocator) apply(data []byte, rel *elf.Section) error {
	entries, err := rel.Data()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrMalformed, rel.Name, err)
	}
	known := dataRelocations[r.f.Machine]
	order := r.f.ByteOrder
	word := 8
	if r.f.Class == elf.ELFCLASS32 {
		word = 4
	}
	size := 2 * word
	if rel.Type == elf.SHT_RELA {
		size += word
	}
	for ; len(entries) >= size; entries = entries[size:] {
		var off, sym, addend uint64
		var typ uint32
		if word == 8 {
			info := order.Uint64(entries[8:])
			off, sym, typ = order.Uint64(entries), info>>32, uint32(info)
			if size == 24 {
				addend = order.Uint64(entries[16:])
			}
		} else {
			info := order.Uint32(entries[4:])
			off, sym, typ = uint64(order.Uint32(entries)), uint64(info>>8), info&0xff
			if size == 12 {
				addend = uint64(int64(int32(order.Uint32(entries[8:]))))
			}
		}
		h, ok := known[typ]
		if !ok || sym > uint64(len(r.symbols)) || off >= uint64(len(data)) || uint64(len(data))-off < uint64(h.size) {
			continue
		}
		value := addend
		if sym > 0 {
			s := r.symbols[sym-1]
			value += s.Value
			if int(s.Section) < len(r.bases) {
				value += r.bases[s.Section]
			}
		}
		h.put(order, data[off:], value, rel.Type == elf.SHT_REL)
	}
	return nil
}

// put applies one relocation. If implicit is set, the addend is in the data.
func (h how) put(order binary.ByteOrder, b []byte, v uint64, implicit bool) {
	old := uint64(0)
	if h.op != '=' || implicit {
		if h.size == 8 {
			old = order.Uint64(b)
		} else {
			old = uint64(order.Uint32(b))
		}
	}
	if h.op == '-' {
		v = -v
	}
	v += old
	if h.size == 8 {
		order.PutUint64(b, v)
	} else {
		order.PutUint32(b, uint32(v))
	}
}
