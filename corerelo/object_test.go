package corerelo

import (
	"bytes"
	"debug/elf"
	"encoding/binary"

	"github.com/bpfrun/bpfrun/decode"
)

// probe is a program of relocated instructions against one target: what a test
// resolves here, and what the recorded libbpf resolved as an ELF object.
type probe struct {
	records []Record
	insns   []decode.Insn
}

// elfObject writes the probe as a little-endian BPF object with one raw_tp
// program "p", the least libbpf opens.
func (p *probe) elfObject(local *graph, strs *stringTable) []byte {
	order := binary.LittleEndian
	section := strs.off("raw_tp")
	access := make([]uint32, len(p.records))
	for i, r := range p.records {
		access[i] = strs.off(r.Access)
	}
	rawBTF := local.encodeWith(order, strs)

	coreLen := 4 + 8 + 16*len(p.records)
	head := order.AppendUint16(nil, 0xeb9f)
	head = append(head, 1, 0)
	head = order.AppendUint32(head, 32)
	for _, v := range []uint32{0, 0, 0, 0, 0, uint32(coreLen)} { // no function and line records
		head = order.AppendUint32(head, v)
	}
	body := order.AppendUint32(nil, 16) // record size
	body = order.AppendUint32(body, section)
	body = order.AppendUint32(body, uint32(len(p.records)))
	for i, r := range p.records {
		for _, v := range []uint32{r.InsnOff, uint32(r.TypeID), access[i], uint32(r.Kind)} {
			body = order.AppendUint32(body, v)
		}
	}
	ext := append(head, body...)

	code := encodeInsns(append(append([]decode.Insn{}, p.insns...), decode.Insn{Code: 0x95}))
	strtab := []byte("\x00p\x00")
	sym := make([]byte, 24, 48)
	sym = order.AppendUint32(sym, 1) // name "p"
	sym = append(sym, byte(elf.STB_GLOBAL)<<4|byte(elf.STT_FUNC), 0)
	sym = order.AppendUint16(sym, 1)
	sym = order.AppendUint64(sym, 0)
	sym = order.AppendUint64(sym, uint64(len(code)))

	return writeELF([]elfSection{
		{"raw_tp", elf.SHT_PROGBITS, uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR), code, 0, 0, 8, 0},
		{"license", elf.SHT_PROGBITS, uint64(elf.SHF_ALLOC | elf.SHF_WRITE), []byte("GPL\x00"), 0, 0, 1, 0},
		{".BTF", elf.SHT_PROGBITS, 0, rawBTF, 0, 0, 4, 0},
		{".BTF.ext", elf.SHT_PROGBITS, 0, ext, 0, 0, 4, 0},
		{".strtab", elf.SHT_STRTAB, 0, strtab, 0, 0, 1, 0},
		{".symtab", elf.SHT_SYMTAB, 0, sym, 5, 1, 8, 24},
	})
}

func encodeInsns(insns []decode.Insn) []byte {
	var code []byte
	for _, in := range insns {
		code = append(code, in.Code, in.Src<<4|in.Dst)
		code = binary.LittleEndian.AppendUint16(code, uint16(in.Off))
		code = binary.LittleEndian.AppendUint32(code, uint32(in.Imm))
	}
	return code
}

type elfSection struct {
	name       string
	typ        elf.SectionType
	flags      uint64
	data       []byte
	link, info uint32
	align      uint64
	entsize    uint64
}

func writeELF(sections []elfSection) []byte {
	names := []byte{0}
	nameOff := func(s string) uint32 {
		off := len(names)
		names = append(append(names, s...), 0)
		return uint32(off)
	}
	var headers []elf.Section64
	headers = append(headers, elf.Section64{})
	data := make([]byte, 64)
	place := func(s elfSection) {
		for len(data)%8 != 0 {
			data = append(data, 0)
		}
		headers = append(headers, elf.Section64{
			Name: nameOff(s.name), Type: uint32(s.typ), Flags: s.flags, Off: uint64(len(data)), Size: uint64(len(s.data)),
			Link: s.link, Info: s.info, Addralign: s.align, Entsize: s.entsize,
		})
		data = append(data, s.data...)
	}
	for _, s := range sections {
		place(s)
	}
	off := nameOff(".shstrtab")
	for len(data)%8 != 0 {
		data = append(data, 0)
	}
	headers = append(headers, elf.Section64{
		Name: off, Type: uint32(elf.SHT_STRTAB), Off: uint64(len(data)), Size: uint64(len(names)), Addralign: 1,
	})
	data = append(data, names...)
	for len(data)%8 != 0 {
		data = append(data, 0)
	}
	header := elf.Header64{
		Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_BPF), Version: 1, Shoff: uint64(len(data)),
		Ehsize: 64, Shentsize: 64, Shnum: uint16(len(headers)), Shstrndx: uint16(len(headers) - 1),
	}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	var buf bytes.Buffer
	_ = binary.Write(&buf, binary.LittleEndian, header)
	copy(data, buf.Bytes())
	buf.Reset()
	_ = binary.Write(&buf, binary.LittleEndian, headers)
	return append(data, buf.Bytes()...)
}
