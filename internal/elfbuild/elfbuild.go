// Package elfbuild writes small relocatable BPF objects, for tests and for programs that no
// compiler made. It handles sections, symbols and relocations without interpreting them. Start at
// [New].
package elfbuild

import (
	"bytes"
	"debug/elf"
	"encoding/binary"

	"github.com/bpfrun/bpfrun/decode"
)

// Builder is an object under construction. Make it with New.
type Builder struct {
	Order    binary.ByteOrder
	sections []elfSection
	symbols  []elf.Sym64
	strings  []byte
}

type elfSection struct {
	name string
	typ  elf.SectionType
	flag elf.SectionFlag
	data []byte
	info int
	ent  uint64
}

// New returns an empty object in a byte order.
func New(order binary.ByteOrder) *Builder {
	return &Builder{Order: order, sections: []elfSection{{}}, symbols: []elf.Sym64{{}}, strings: []byte{0}}
}

func (b *Builder) str(s string) uint32 {
	off := uint32(len(b.strings))
	b.strings = append(append(b.strings, s...), 0)
	return off
}

// Section adds a section and returns its index.
func (b *Builder) Section(name string, typ elf.SectionType, flag elf.SectionFlag, data []byte) int {
	b.sections = append(b.sections, elfSection{name: name, typ: typ, flag: flag, data: data})
	return len(b.sections) - 1
}

// Code adds a section of instructions and returns its index.
func (b *Builder) Code(name string, insns []decode.Insn) int {
	return b.Section(name, elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_EXECINSTR, decode.Marshal(insns, b.Order))
}

// Symbol adds a symbol and returns its index.
func (b *Builder) Symbol(name string, section int, value, size uint64, typ elf.SymType, bind elf.SymBind) int {
	b.symbols = append(b.symbols, elf.Sym64{Name: b.str(name), Info: elf.ST_INFO(bind, typ), Shndx: uint16(section), Value: value, Size: size})
	return len(b.symbols) - 1
}

// Func adds the symbol of a global function of n instructions.
func (b *Builder) Func(name string, section, insn, n int) int {
	return b.Symbol(name, section, uint64(insn)*8, uint64(n)*8, elf.STT_FUNC, elf.STB_GLOBAL)
}

// Rel is a relocation of type Type against a symbol at an offset in bytes.
type Rel struct {
	Off       uint64
	Sym, Type int
}

// Rel adds relocations to a section.
func (b *Builder) Rel(section int, rels ...Rel) {
	var buf bytes.Buffer
	for _, r := range rels {
		_ = binary.Write(&buf, b.Order, elf.Rel64{Off: r.Off, Info: uint64(r.Sym)<<32 | uint64(r.Type)})
	}
	b.sections = append(b.sections, elfSection{name: ".rel" + b.sections[section].name, typ: elf.SHT_REL, data: buf.Bytes(), info: section, ent: 16})
}

// RelA adds relocations with addends to a section.
func (b *Builder) RelA(section int, rels ...elf.Rela64) {
	var buf bytes.Buffer
	_ = binary.Write(&buf, b.Order, rels)
	b.sections = append(b.sections, elfSection{name: ".rela" + b.sections[section].name, typ: elf.SHT_RELA, data: buf.Bytes(), info: section, ent: 24})
}

// Bytes returns the finished object.
func (b *Builder) Bytes() []byte {
	var syms bytes.Buffer
	_ = binary.Write(&syms, b.Order, b.symbols)
	secs := append([]elfSection(nil), b.sections...)
	symtab := len(secs)
	secs = append(secs, elfSection{name: ".symtab", typ: elf.SHT_SYMTAB, data: syms.Bytes(), info: 1, ent: 24}, elfSection{name: ".strtab", typ: elf.SHT_STRTAB})
	names := make([]uint32, len(secs))
	for i, s := range secs {
		names[i] = b.str(s.name)
	}
	secs[len(secs)-1].data = b.strings
	var out bytes.Buffer
	out.Write(make([]byte, 64))
	headers := make([]elf.Section64, len(secs))
	for i, s := range secs {
		if i == 0 {
			continue
		}
		out.Write(make([]byte, (8-out.Len()%8)%8))
		h := elf.Section64{Name: names[i], Type: uint32(s.typ), Flags: uint64(s.flag), Off: uint64(out.Len()), Size: uint64(len(s.data)), Info: uint32(s.info), Addralign: 8, Entsize: s.ent}
		switch s.typ {
		case elf.SHT_SYMTAB:
			h.Link = uint32(len(secs) - 1)
		case elf.SHT_REL:
			h.Link = uint32(symtab)
		}
		headers[i] = h
		out.Write(s.data)
	}
	out.Write(make([]byte, (8-out.Len()%8)%8))
	hdr := elf.Header64{Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_BPF), Version: 1, Shoff: uint64(out.Len()), Ehsize: 64, Shentsize: 64, Shnum: uint16(len(secs)), Shstrndx: uint16(len(secs) - 1)}
	copy(hdr.Ident[:], elf.ELFMAG)
	hdr.Ident[elf.EI_CLASS], hdr.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), 1
	hdr.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	if b.Order == binary.BigEndian {
		hdr.Ident[elf.EI_DATA] = byte(elf.ELFDATA2MSB)
	}
	_ = binary.Write(&out, b.Order, headers)
	raw := out.Bytes()
	var head bytes.Buffer
	_ = binary.Write(&head, b.Order, hdr)
	copy(raw, head.Bytes())
	return raw
}
