package loader

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math"
)

// maxObject limits the size in bytes of a file that is read.
const maxObject = 1 << 30

// emNone is the machine number of BPF objects before EM_BPF was assigned.
const emNone = 0

// section is a section whose bytes lie within the file.
type section struct {
	Name   string
	Index  int
	Type   elf.SectionType
	Flags  elf.SectionFlag
	Data   []byte // shares the file's memory; nil for SHT_NOBITS
	Size   uint64
	Link   uint32
	Info   uint32
	IsCode bool
}

// symbol is one row of the symbol table.
type symbol struct {
	Name    string
	Section int // index; 0 for undefined, -1 for absolute, common and others
	Value   uint64
	Size    uint64
	Type    elf.SymType
	Bind    elf.SymBind
	Hidden  bool // STV_HIDDEN or STV_INTERNAL
}

// extern reports whether the symbol is an extern (libbpf sym_is_extern).
func (s *symbol) extern() bool {
	return s.Section == 0 && (s.Bind == elf.STB_GLOBAL || s.Bind == elf.STB_WEAK) && s.Type == elf.STT_NOTYPE && s.Name != ""
}

// rel is one relocation record.
type rel struct {
	Off  uint64
	Type uint32
	Sym  *symbol
	Add  int64 // explicit addend of SHT_RELA, else 0
}

// file is a checked ELF file.
type file struct {
	order    binary.ByteOrder
	sections []section
	symbols  []symbol
	relocs   map[int][]rel // by index of the section they apply to, file order
}

// readELF checks and reads the ELF structure. debug/elf parses headers, symbols and names. Section
// contents are taken from data directly, after bounds checks and without copies, because debug/elf
// inflates compressed sections without a limit.
func readELF(data []byte) (f *file, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, err = nil, failf(ErrMalformed, "ELF structure: %v", r)
		}
	}()
	if err := checkHeader(data); err != nil {
		return nil, err
	}
	ef, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, &Error{Insn: -1, Err: because(ErrMalformed, err), Hint: "the file may be truncated"}
	}
	f = &file{order: ef.ByteOrder, relocs: map[int][]rel{}}
	for i, s := range ef.Sections {
		sec := section{Name: s.Name, Index: i, Type: s.Type, Flags: s.Flags, Size: s.Size, Link: s.Link, Info: s.Info}
		if s.Type != elf.SHT_NOBITS && s.Type != elf.SHT_NULL {
			if s.Offset > uint64(len(data)) || s.FileSize > uint64(len(data))-s.Offset {
				return nil, failf(ErrMalformed, "its %d bytes at %#x reach beyond the end of the file (%d bytes)", s.FileSize, s.Offset, len(data)).
					section(s.Name).hint("the file may be truncated")
			}
			sec.Data = data[s.Offset : s.Offset+s.FileSize : s.Offset+s.FileSize]
			sec.Size = s.FileSize
		}
		if s.Flags&elf.SHF_COMPRESSED != 0 && s.Flags&elf.SHF_ALLOC != 0 {
			return nil, failf(ErrMalformed, "compressed code or data").section(s.Name)
		}
		sec.IsCode = s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_EXECINSTR != 0
		f.sections = append(f.sections, sec)
	}
	if err := f.readSymbols(ef); err != nil {
		return nil, err
	}
	return f, f.readRelocs()
}

// notELF describes a file without an ELF header: often a kernel's BTF is given in place of the
// object.
func notELF(data []byte) error {
	for _, known := range []struct{ magic, what string }{
		{"\x9f\xeb", "raw BTF"}, {"\xeb\x9f", "raw BTF"},
		{"\xfd7zX", "compressed with xz"}, {"\x1f\x8b", "compressed with gzip"}, {"\x28\xb5\x2f\xfd", "compressed with zstd"},
	} {
		if bytes.HasPrefix(data, []byte(known.magic)) {
			return failf(ErrNotObject, "%s", known.what).hint("this is a kernel's types: pass it with --btf, patterns in quotes: --btf 'kernels/*.btf'; an object is an ELF file made by clang --target=bpf -g -O2 -c")
		}
	}
	if what, hint := sourceKind(data); what != "" {
		return failf(ErrNotObject, "%s", what).hint("%s", hint)
	}
	return failf(ErrNotObject, "no ELF header (it starts with % x)", data[:min(len(data), 4)]).
		hint("compile with clang --target=bpf -g -O2 -c")
}

// sourceKind recognises text that is mistaken for an object, such as its source, and explains what
// to do with it.
func sourceKind(data []byte) (what, hint string) {
	for _, magic := range []string{"BC\xc0\xde", "\xde\xc0\x17\x0b"} { // plain, and in the wrapper of Darwin
		if bytes.HasPrefix(data, []byte(magic)) {
			return "LLVM bitcode", "compile it to an object with llc -march=bpf -filetype=obj"
		}
	}
	if bytes.HasPrefix(data, []byte("!<arch>\n")) {
		return "an archive of objects", "extract the objects with ar x and pass those"
	}
	text := data[:min(len(data), 16<<10)]
	if bytes.IndexByte(text, 0) >= 0 {
		return "", ""
	}
	for _, sign := range []string{"; ModuleID = ", "source_filename = \"", "target datalayout = \""} {
		if bytes.Contains(text, []byte(sign)) {
			return "LLVM assembly (.ll)", "compile it to an object with llc -march=bpf -filetype=obj"
		}
	}
	for _, sign := range []string{"#include ", "#define ", "SEC(\"", "__attribute__((section(", "SPDX-License-Identifier: "} {
		if bytes.Contains(text, []byte(sign)) {
			return "C source", "compile it with clang --target=bpf -g -O2 -c"
		}
	}
	for line := range bytes.Lines(text) {
		for _, key := range []string{"runs:", "race:", "object:"} {
			if bytes.HasPrefix(line, []byte(key)) {
				return "a scenario file", "run it with bpfrun test"
			}
		}
	}
	return "", ""
}

// checkHeader refuses files that are not BPF objects and describes what they are.
func checkHeader(data []byte) error {
	switch {
	case len(data) == 0:
		return failf(ErrNotObject, "the file is empty")
	case len(data) < 4 || string(data[:4]) != elf.ELFMAG:
		return notELF(data)
	case len(data) < 64:
		return failf(ErrMalformed, "%d bytes are less than an ELF header", len(data)).hint("the file is truncated")
	}
	if c := elf.Class(data[elf.EI_CLASS]); c != elf.ELFCLASS64 {
		return failf(ErrNotObject, "ELF class %v, BPF objects are 64-bit", c)
	}
	var bo binary.ByteOrder = binary.LittleEndian
	switch elf.Data(data[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
	case elf.ELFDATA2MSB:
		bo = binary.BigEndian
	default:
		return failf(ErrMalformed, "byte order %d in the ELF header", data[elf.EI_DATA])
	}
	if m := elf.Machine(bo.Uint16(data[18:])); m != elf.EM_BPF && m != emNone {
		return failf(ErrNotObject, "an ELF file for %v", m).hint("compile with clang --target=bpf -g -O2 -c; pass a vmlinux with --btf and a module with --module-btf")
	}
	if t := elf.Type(bo.Uint16(data[16:])); t != elf.ET_REL {
		return failf(ErrNotObject, "an ELF file of type %v, not a relocatable object", t)
	}
	return nil
}

func (f *file) readSymbols(ef *elf.File) error {
	syms, err := ef.Symbols()
	if err != nil {
		if ef.SectionByType(elf.SHT_SYMTAB) == nil {
			return nil // no symbol table: whole sections are programs
		}
		return &Error{Insn: -1, Section: ".symtab", Err: because(ErrMalformed, err)}
	}
	f.symbols = make([]symbol, len(syms)+1) // debug/elf leaves out the null symbol
	for i, s := range syms {
		sym := symbol{Name: s.Name, Section: int(s.Section), Value: s.Value, Size: s.Size, Type: elf.ST_TYPE(s.Info), Bind: elf.ST_BIND(s.Info)}
		switch elf.ST_VISIBILITY(s.Other) {
		case elf.STV_HIDDEN, elf.STV_INTERNAL:
			sym.Hidden = true
		}
		if s.Section >= elf.SHN_LORESERVE {
			sym.Section = -1
		}
		if sym.Section >= len(f.sections) {
			return failf(ErrMalformed, "symbol %d (%s) in section %d of %d", i+1, s.Name, sym.Section, len(f.sections)).section(".symtab")
		}
		f.symbols[i+1] = sym
	}
	return nil
}

// wantsRelocs reports whether the relocations of a section matter here. Those of .BTF, .BTF.ext
// (R_BPF_64_NODYLD32) and DWARF do not.
func wantsRelocs(s *section) bool {
	return s.Flags&elf.SHF_ALLOC != 0 && s.Name != ".eh_frame"
}

func (f *file) readRelocs() error {
	for i := range f.sections {
		s := &f.sections[i]
		var size int
		switch s.Type {
		case elf.SHT_REL:
			size = 16
		case elf.SHT_RELA:
			size = 24
		default:
			continue
		}
		if int64(s.Info) >= int64(len(f.sections)) {
			return failf(ErrMalformed, "applies to section %d of %d", s.Info, len(f.sections)).section(s.Name)
		}
		to := &f.sections[s.Info]
		if !wantsRelocs(to) {
			continue
		}
		if len(s.Data)%size != 0 {
			return failf(ErrMalformed, "%d bytes are not a multiple of a relocation record (%d)", len(s.Data), size).section(s.Name)
		}
		rels := make([]rel, 0, len(s.Data)/size)
		for b := s.Data; len(b) >= size; b = b[size:] {
			info := f.order.Uint64(b[8:])
			n := info >> 32
			if n >= uint64(max(len(f.symbols), 1)) || n > math.MaxInt32 {
				return failf(ErrMalformed, "record %d names symbol %d of %d", len(rels), n, len(f.symbols)).section(s.Name)
			}
			r := rel{Off: f.order.Uint64(b), Type: uint32(info)}
			if len(f.symbols) > 0 {
				r.Sym = &f.symbols[n]
			} else {
				r.Sym = &symbol{}
			}
			if size == 24 {
				r.Add = int64(f.order.Uint64(b[16:]))
			}
			rels = append(rels, r)
		}
		f.relocs[int(s.Info)] = append(f.relocs[int(s.Info)], rels...)
	}
	return nil
}

// sectionName names a section index for messages.
func (f *file) sectionName(i int) string {
	if i > 0 && i < len(f.sections) {
		return f.sections[i].Name
	}
	return fmt.Sprintf("#%d", i)
}

// byName returns the first section with a name, or nil.
func (f *file) byName(name string) *section {
	for i := range f.sections {
		if f.sections[i].Name == name && f.sections[i].Type != elf.SHT_NULL {
			return &f.sections[i]
		}
	}
	return nil
}

// symbolsIn returns the defined symbols of a section that name data.
func (f *file) symbolsIn(section int) []*symbol {
	var out []*symbol
	for i := range f.symbols {
		s := &f.symbols[i]
		if s.Section == section && s.Name != "" && (s.Type == elf.STT_OBJECT || s.Type == elf.STT_NOTYPE) {
			out = append(out, s)
		}
	}
	return out
}
