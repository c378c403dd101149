package loader

import (
	"bytes"
	"debug/elf"
	"encoding/binary"

	"github.com/bpfrun/bpfrun/decode"
)

// elfBuilder writes small relocatable BPF objects for tests.
type elfBuilder struct {
	order    binary.ByteOrder
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

func newELF(order binary.ByteOrder) *elfBuilder {
	return &elfBuilder{order: order, sections: []elfSection{{}}, symbols: []elf.Sym64{{}}, strings: []byte{0}}
}

func (b *elfBuilder) str(s string) uint32 {
	off := uint32(len(b.strings))
	b.strings = append(append(b.strings, s...), 0)
	return off
}

func (b *elfBuilder) section(name string, typ elf.SectionType, flag elf.SectionFlag, data []byte) int {
	b.sections = append(b.sections, elfSection{name: name, typ: typ, flag: flag, data: data})
	return len(b.sections) - 1
}

func (b *elfBuilder) code(name string, insns []decode.Insn) int {
	return b.section(name, elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_EXECINSTR, decode.Marshal(insns, b.order))
}

func (b *elfBuilder) symbol(name string, section int, value, size uint64, typ elf.SymType, bind elf.SymBind) int {
	b.symbols = append(b.symbols, elf.Sym64{Name: b.str(name), Info: elf.ST_INFO(bind, typ), Shndx: uint16(section), Value: value, Size: size})
	return len(b.symbols) - 1
}

func (b *elfBuilder) fn(name string, section, insn, n int) int {
	return b.symbol(name, section, uint64(insn)*8, uint64(n)*8, elf.STT_FUNC, elf.STB_GLOBAL)
}

type elfRel struct {
	off      uint64
	sym, typ int
}

func (b *elfBuilder) rel(section int, rels ...elfRel) {
	var buf bytes.Buffer
	for _, r := range rels {
		_ = binary.Write(&buf, b.order, elf.Rel64{Off: r.off, Info: uint64(r.sym)<<32 | uint64(r.typ)})
	}
	b.sections = append(b.sections, elfSection{name: ".rel" + b.sections[section].name, typ: elf.SHT_REL, data: buf.Bytes(), info: section, ent: 16})
}

func (b *elfBuilder) bytes() []byte {
	var syms bytes.Buffer
	_ = binary.Write(&syms, b.order, b.symbols)
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
	if b.order == binary.BigEndian {
		hdr.Ident[elf.EI_DATA] = byte(elf.ELFDATA2MSB)
	}
	_ = binary.Write(&out, b.order, headers)
	raw := out.Bytes()
	var head bytes.Buffer
	_ = binary.Write(&head, b.order, hdr)
	copy(raw, head.Bytes())
	return raw
}
