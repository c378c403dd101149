package usdt

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		arch, text string
		want       []Arg
	}{
		{"x86", "", []Arg{}},
		{"x86", "-4@%edi 8@-16(%rbp) 8@$-5", []Arg{
			{Kind: Reg, Size: 4, Signed: true, Reg: "di"}, {Kind: Deref, Size: 8, Value: -16, Reg: "bp"}, {Kind: Const, Size: 8, Value: -5}}},
		{"x86", "1@%r8b -2@%r15w 4@%r10d 8@%sil 8@(%rip)", []Arg{
			{Kind: Reg, Size: 1, Reg: "r8"}, {Kind: Reg, Size: 2, Signed: true, Reg: "r15"}, {Kind: Reg, Size: 4, Reg: "r10"}, {Kind: Reg, Size: 8, Reg: "si"}, {Kind: Deref, Size: 8, Reg: "ip"}}},
		{"x86", "4@8(%rax,%rbx,4)  1@(%rdx,%rcx)", []Arg{
			{Kind: Index, Size: 4, Value: 8, Reg: "ax", Index: "bx", Shift: 2}, {Kind: Index, Size: 1, Reg: "dx", Index: "cx"}}},
		{"arm64", "-4@[sp,12] 8@x0 8@[x29, -8] 8@5 2@[x1]", []Arg{
			{Kind: Deref, Size: 4, Signed: true, Value: 12, Reg: "sp"}, {Kind: Reg, Size: 8, Reg: "regs[0]"}, {Kind: Deref, Size: 8, Value: -8, Reg: "regs[29]"},
			{Kind: Const, Size: 8, Value: 5}, {Kind: Deref, Size: 2, Reg: "regs[1]"}}},
	} {
		got, err := Parse(c.arch, c.text)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, got, c.text)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ arch, text, why string }{
		{"x86", "3@%edi", "want a size of 1, 2, 4 or 8"},
		{"x86", "8@%xmm0", "libbpf knows no register xmm0"},
		{"x86", "8@%r16", "libbpf knows no register r16"},
		{"x86", "8@%r8x", "libbpf knows no register r8x"},
		{"x86", "8@(%rax,%rbx,3)", "want a scale"},
		{"x86", "8@foo(%rip)", "want SIZE@WHERE"},
		{"x86", "8@$99999999999999999999", "does not fit"},
		{"x86", "1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1", "at most 12"},
		{"arm64", "4@w0", "libbpf knows no register w0"},
		{"arm64", "4@x31", "libbpf knows no register x31"},
		{"riscv", "4@a0", "notation of riscv is not known"},
	} {
		_, err := Parse(c.arch, c.text)
		var bad *ArgError
		require.ErrorAs(t, err, &bad, c.text)
		assert.Contains(t, err.Error(), c.why)
	}
}

func TestExtend(t *testing.T) {
	assert.Equal(t, ^uint64(1), (&Arg{Size: 4, Signed: true}).Extend(0x1_ffff_fffe))
	assert.Equal(t, uint64(0xfffffffe), (&Arg{Size: 4}).Extend(^uint64(1)))
	assert.Equal(t, ^uint64(0), (&Arg{Size: 8}).Extend(^uint64(0)))
}

// binaryWith is an ELF file whose only content are notes.
func binaryWith(class elf.Class, machine elf.Machine, notes []byte) []byte {
	names := []byte("\x00.note.stapsdt\x00.shstrtab\x00")
	var b bytes.Buffer
	put := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) }
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2}
	copy(h.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(class), 1, 1})
	h.Shoff = uint64(64 + len(notes) + len(names))
	put(h)
	b.Write(notes)
	b.Write(names)
	put(elf.Section64{})
	put(elf.Section64{Name: 1, Type: uint32(elf.SHT_NOTE), Off: 64, Size: uint64(len(notes)), Addralign: 4})
	put(elf.Section64{Name: 15, Type: uint32(elf.SHT_STRTAB), Off: uint64(64 + len(notes)), Size: uint64(len(names)), Addralign: 1})
	return b.Bytes()
}

func note(owner string, kind uint32, addr uint64, provider, name, args string) []byte {
	var desc, b bytes.Buffer
	for _, v := range []uint64{addr, 0, 0} {
		_ = binary.Write(&desc, binary.LittleEndian, v)
	}
	desc.WriteString(provider + "\x00" + name + "\x00" + args + "\x00")
	for _, v := range []uint32{uint32(len(owner)), uint32(desc.Len()), kind} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	b.WriteString(owner)
	b.Write(make([]byte, -len(owner)&3))
	b.Write(desc.Bytes())
	b.Write(make([]byte, -desc.Len()&3))
	return b.Bytes()
}

func TestFind(t *testing.T) {
	notes := note("GNU\x00", 1, 0, "db", "done", "8@$9")
	notes = append(notes, note("stapsdt\x00", 3, 0x1000, "db", "start", "")...)
	notes = append(notes, note("stapsdt\x00", 3, 0x2000, "db", "done", "-4@%edi")...)
	notes = append(notes, note("stapsdt\x00", 3, 0x3000, "db", "done", "-4@%esi")...)
	got, err := Find(bytes.NewReader(binaryWith(elf.ELFCLASS64, elf.EM_X86_64, notes)), "x86", "db", "done")
	require.NoError(t, err)
	assert.Equal(t, []Note{{"db", "done", "-4@%edi", 0x2000}, {"db", "done", "-4@%esi", 0x3000}}, got)

	for why, data := range map[string][]byte{
		"no 64-bit ELF": []byte("#!/bin/sh\n"),
		"is for EM_AAR": binaryWith(elf.ELFCLASS64, elf.EM_AARCH64, notes),
		"it has [db:st": binaryWith(elf.ELFCLASS64, elf.EM_X86_64, notes[:len(notes)-2*len(note("stapsdt\x00", 3, 0, "db", "done", "-4@%edi"))]),
		"is cut off":    binaryWith(elf.ELFCLASS64, elf.EM_X86_64, notes[:len(notes)-9]),
	} {
		_, err := Find(bytes.NewReader(data), "x86", "db", "done")
		assert.ErrorContains(t, err, why)
	}
}

// FuzzFind: no file makes it panic, and no string of arguments either.
func FuzzFind(f *testing.F) {
	f.Add(binaryWith(elf.ELFCLASS64, elf.EM_X86_64, note("stapsdt\x00", 3, 1, "a", "b", "8@%rax")), "8@%rax -4@8(%rax,%rbx,8)")
	f.Fuzz(func(_ *testing.T, data []byte, args string) {
		_, _ = Find(bytes.NewReader(data), "x86", "a", "b")
		_, _ = Parse("x86", args)
		_, _ = Parse("arm64", args)
	})
}
