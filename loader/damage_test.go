package loader

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// loadedText says what an object is and what loading it gives, in words that change with anything
// a program could notice.
func loadedText(o *Object, l *Linked) string {
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	say("%q %x %s %q", o.License, o.Version, o.Arch, o.Warnings)
	var sayMap func(m *Map)
	sayMap = func(m *Map) {
		say("map %q %q %d %d %d %d %d %x %x %d %d %d %d", m.Name, m.Section, m.Index, m.Type, m.KeySize, m.ValueSize, m.MaxEntries, m.Flags, m.Extra, m.NumaNode, m.Pinning, m.KeyType, m.ValueType)
		say(" %v %d %d %v %x %d %x", m.DataKind, m.Datasec, m.Vars, m.Autocreate, m.ArenaOffset, len(m.Data), m.Data)
		for _, v := range m.Values {
			say(" value %d %q %v", v.Index, v.Prog, v.Map != nil)
		}
		for _, r := range m.DataRelocs {
			say(" reloc %d %d %q %v %v %d", r.Off, r.Size, r.Symbol, r.Func != nil, r.Map != nil, r.Value)
		}
		if m.Inner != nil {
			sayMap(m.Inner)
		}
		if m.StructOps != nil {
			say(" %+v", *m.StructOps)
		}
	}
	for _, m := range o.Maps {
		sayMap(m)
	}
	for _, e := range o.Externs {
		say("%+v", *e)
	}
	for _, f := range o.Functions {
		line, known := f.LineAt(0)
		say("function %q %q %d %d %d %v %v %v %v", f.Name, f.Section, f.SectionOff, len(f.Insns), f.Type, f.Global, f.Hidden, line, known)
	}
	say("%v %q %v", l.Err, l.Warnings, l.NoBTF)
	for _, m := range l.Maps {
		sayMap(m)
	}
	for _, e := range l.Externs {
		say("%q %v %q %q %d %q %x %v", e.Name, e.Resolved, e.Value, e.Source, e.TypeID, e.Module, e.Addr, e.Err)
	}
	for _, s := range l.StructOps {
		say("%q %v %d %d %q %x %v %v", s.Map.Name, s.Absent, s.KernType, s.ValueType, s.Module, s.Data, s.Progs, s.Err)
	}
	for _, p := range l.Programs {
		say("program %q %q %v %v %q %q %q %v %v %v %v %d %x %q", p.Name, p.Section, p.Type, p.Attach, p.AttachTo, p.Hook, p.Kind, p.SectionFlags, p.Sleepable, p.Autoload, p.Known, p.FuncType, p.Flags, p.Program.ExceptionCallback)
		say(" %v %v %d %q %d %v %v", p.Status, p.Err, p.AttachID, p.AttachModule, p.ExceptionCallback, p.Static, len(p.JumpTables))
		say(" %v %s %s", p.Insns, p.Core(), p.Final())
		for pc := range p.Insns {
			if ref, ok := p.Refs[pc]; ok {
				say(" %d %v %d %d %q %d %q %v %v %x", pc, ref.Kind, ref.Off, ref.Func, ref.Name, ref.TypeID, ref.Module, ref.Weak, ref.Resolved, ref.Addr)
			}
		}
		for _, f := range p.Funcs {
			say(" %q %d %d %d %v", f.Name, f.Start, f.Len, f.Type, f.Copy)
		}
		for _, r := range p.Relocs {
			say(" %d %d %d %v %v %v", r.Insn, r.FuncInsn, r.SectionInsn, r.Patch, r.Err, r.Changed())
		}
		for _, v := range p.PoisonVerdicts() { // without the pointer to the relocation
			say(" %d %v %v %v %q", v.Insn, v.Kind, v.Verdict, v.Reloc != nil, v.Name)
		}
	}
	return out.String()
}

// outcomeOf says what becomes of an object: the error, or that it is one, which programs and
// which reasons for not loading, and, after a tab, a hash of all of it.
func outcomeOf(data []byte, t *Target) string {
	o, err := OpenBytes("o", data)
	if err != nil {
		return "not opened: " + err.Error()
	}
	l, err := o.Load(t, LoadOptions{Optional: true})
	if err != nil {
		return "not loaded: " + err.Error()
	}
	said := "loaded"
	if l.Err != nil {
		said = "refused: " + l.Err.Error()
	}
	for _, p := range l.Programs {
		if p.Err != nil && p.Err != l.Err {
			said = fmt.Sprintf("loaded, a program is %v: %v", p.Status, p.Err)
		}
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(loadedText(o, l)))
	return fmt.Sprintf("%s\t%x", said, h.Sum64())
}

// words returns the offsets of the words of an object that say what is in it: of the ELF header,
// the headers of sections, symbols, relocations, code, data and types. Names and lines are none.
func words(t testing.TB, data []byte) (at []int, name func(at int) string) {
	f, err := elf.NewFile(bytes.NewReader(data))
	require.NoError(t, err)
	names := map[int]string{}
	add := func(what string, from, to int) {
		for i := from; i+4 <= to; i += 4 {
			at = append(at, i)
			names[i] = fmt.Sprintf("%s+%d", what, i-from)
		}
	}
	add("ELF header", 16, 64)
	headers := int(f.ByteOrder.Uint64(data[40:]))
	add("section headers", headers, headers+64*len(f.Sections))
	for _, s := range f.Sections {
		from, size := int(s.Offset), int(s.FileSize)
		switch {
		case s.Name == ".BTF":
			types := int(f.ByteOrder.Uint32(data[from+8:])) // the offset of types after the header
			add(s.Name, from, from+24)
			add(s.Name+" types", from+24+types, from+24+types+int(f.ByteOrder.Uint32(data[from+12:])))
		case s.Name == ".BTF.ext":
			add(s.Name, from, from+32+8)
			if size >= 32 {
				core := from + int(f.ByteOrder.Uint32(data[from+4:])) + int(f.ByteOrder.Uint32(data[from+24:]))
				add(s.Name+" relocations", core, core+int(f.ByteOrder.Uint32(data[from+28:])))
			}
		case s.Type == elf.SHT_SYMTAB, (s.Type == elf.SHT_REL || s.Type == elf.SHT_PROGBITS) && !strings.HasPrefix(s.Name, ".rel.BTF") && !strings.HasPrefix(s.Name, ".rel.debug") && !strings.HasPrefix(s.Name, ".debug"):
			add(s.Name, from, from+size)
		}
	}
	return at, func(i int) string { return names[i] }
}

// TestDamageIsToldInTheSameWords changes each word of some objects, one after the other, and
// compares what becomes of them: what they are refused for, or how they load.
func TestDamageIsToldInTheSameWords(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	target := NewTarget(embedded.Name, spec)
	var all rewrite.Outcomes
	for _, path := range []string{
		"clang-14/struct_ops.o", "clang-14/ksyms.o", "clang-14/kconfig.o", "clang-14/maps_legacy.o", "clang-14/linked_a.o", "clang-14/optional.o", "clang-14/called.o",
		"clang-14/bykey.o", "clang-14/undefined.o", "clang-14/err_ksym.o", "clang-22/abs.o", "clang-22/tags.o", "clang-22-v4/jumptable.o",
	} {
		good, err := os.ReadFile(filepath.Join("..", "testdata", "objects", filepath.FromSlash(path)))
		require.NoError(t, err)
		at, name := words(t, good)
		for i, off := range at {
			old := binary.LittleEndian.Uint32(good[off:])
			for j, v := range [...]uint32{old + 1, old - 1, 0, old ^ 0x8000, old + 1<<24, 0xffffffff, old + 8, old ^ 1<<16} {
				// One of them for each word; and in small objects also 0, of which all types are
				// void.
				if (i+j)%8 != 0 && (v != 0 || len(good) > 2000) || v == old {
					continue
				}
				bad := bytes.Clone(good)
				binary.LittleEndian.PutUint32(bad[off:], v)
				all.Ask(fmt.Sprintf("%s %s %#x", path, name(off), v), func() string { return outcomeOf(bad, target) })
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "damage.txt"))
}
