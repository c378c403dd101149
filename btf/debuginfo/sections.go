package debuginfo

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"fmt"
)

// Relocation types of BPF (llvm/BinaryFormat/ELFRelocs/BPF.def).
const (
	relocInsn64   = 1 // also for data before LLVM 13
	relocAbs64    = 2
	relocAbs32    = 3
	relocNoDyld32 = 4
	relocInsn32   = 10 // also for data before LLVM 13
)

// SectionShift separates code sections, all of which start at address 0 in an object file: section
// n is placed at n << SectionShift.
const SectionShift = 32

// maxSection limits the bytes of a section.
const maxSection = 256 << 20

// Sections returns the .debug_ sections of an object by name, relocated.
func Sections(f *elf.File) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, name := range [...]string{"abbrev", "info", "str", "line", "ranges", "addr", "str_offsets", "line_str", "rnglists", "loclists", "loc"} {
		data, err := relocated(f, ".debug_"+name)
		if err != nil {
			return nil, err
		}
		out[name] = data
	}
	return out, nil
}

// Data parses the sections as DWARF.
func Data(sec map[string][]byte) (*dwarf.Data, error) {
	d, err := dwarf.New(sec["abbrev"], nil, nil, sec["info"], sec["line"], nil, sec["ranges"], sec["str"])
	if err != nil {
		return nil, fmt.Errorf("DWARF: %w", err)
	}
	for _, name := range [...]string{"addr", "str_offsets", "line_str", "rnglists", "loclists"} {
		if len(sec[name]) > 0 {
			if err := d.AddSection(".debug_"+name, sec[name]); err != nil {
				return nil, fmt.Errorf("DWARF: %w", err)
			}
		}
	}
	return d, nil
}

// relocated returns a section with its relocations applied, as a linker would with code section n
// at n << SectionShift.
func relocated(f *elf.File, name string) ([]byte, error) {
	s := f.Section(name)
	if s == nil {
		return nil, nil
	}
	if s.Size > maxSection {
		return nil, fmt.Errorf("%s has %d bytes", name, s.Size)
	}
	data, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	data = bytes.Clone(data)
	rel := f.Section(".rel" + name)
	if rel == nil {
		return data, nil
	}
	entries, err := rel.Data()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rel.Name, err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	const entrySize = 16
	for ; len(entries) >= entrySize; entries = entries[entrySize:] {
		off, info := f.ByteOrder.Uint64(entries), f.ByteOrder.Uint64(entries[8:])
		n := info >> 32
		if n == 0 || n > uint64(len(symbols)) || off >= uint64(len(data)) {
			continue
		}
		sym := symbols[n-1]
		at := data[off:]
		switch uint32(info) {
		case relocInsn64, relocAbs64:
			v := sym.Value
			if i := int(sym.Section); i > 0 && i < len(f.Sections) && f.Sections[i].Flags&elf.SHF_EXECINSTR != 0 {
				v += uint64(i) << SectionShift
			}
			if len(at) >= 8 {
				f.ByteOrder.PutUint64(at, f.ByteOrder.Uint64(at)+v)
			}
		case relocAbs32, relocNoDyld32, relocInsn32:
			if len(at) >= 4 {
				f.ByteOrder.PutUint32(at, f.ByteOrder.Uint32(at)+uint32(sym.Value))
			}
		}
	}
	return data, nil
}
