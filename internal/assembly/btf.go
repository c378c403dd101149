package assembly

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// mapSize is the size of a map's definition: four pointers.
const mapSize = 4 * 8

// types returns the BTF of the maps.
func (s *source) types() ([]byte, error) {
	b := btf.NewBuilder(nil)
	number := b.Int("int", 4, btf.IntSigned)
	uint := func(n uint32) btf.ID { return b.Ptr(b.Array(number, number, n)) }
	var vars []btf.VarSecinfo
	for i, m := range s.maps {
		var members []btf.Member
		for k, f := range []struct {
			name string
			n    uint32
		}{{"type", m.typ}, {"key_size", m.key}, {"value_size", m.value}, {"max_entries", m.maxEntries}} {
			members = append(members, btf.Member{Name: f.name, Type: uint(f.n), BitOffset: uint32(64 * k)})
		}
		id := b.Add(btf.Type{Kind: btf.KindVar, Name: m.name, Ref: b.Struct("", mapSize, members...), Linkage: 1})
		vars = append(vars, btf.VarSecinfo{Type: id, Offset: uint32(mapSize * i), Size: mapSize})
	}
	if len(vars) > 0 {
		b.Add(btf.Type{Kind: btf.KindDatasec, Name: ".maps", Size: uint32(mapSize * len(s.maps)), Vars: vars})
	}
	if err := s.declare(b); err != nil {
		return nil, err
	}
	return b.Marshal(binary.LittleEndian)
}

// declare adds the functions of the kernel that the text calls, in the section .ksyms, as a
// compiler does for extern declarations.
func (s *source) declare(b *btf.Builder) error {
	var vars []btf.VarSecinfo
	for _, name := range s.kfuncs {
		f, ok := s.kernel.Find(btf.KindFunc, name)
		if !ok {
			return ErrHelper
		}
		proto, err := s.copied(b, f.Ref, 0)
		if err != nil {
			return err
		}
		vars = append(vars, btf.VarSecinfo{Type: b.Add(btf.Type{Kind: btf.KindFunc, Name: name, Ref: proto, Linkage: externLinkage})})
	}
	if len(vars) > 0 {
		b.Add(btf.Type{Kind: btf.KindDatasec, Name: ".ksyms", Vars: vars})
	}
	return nil
}

const (
	externLinkage = 2  // BTF_FUNC_EXTERN
	mostNested    = 32 // as deep as loaders compare prototypes
)

// copied copies a type of the kernel as far as loaders compare it (libbpf's
// bpf_core_types_are_compat): structs, unions and enums by kind alone.
func (s *source) copied(b *btf.Builder, id btf.ID, depth int) (btf.ID, error) {
	id = s.kernel.SkipID(id)
	if id == 0 {
		return 0, nil
	}
	t, err := s.kernel.Type(id)
	if err != nil {
		return 0, err
	}
	if depth > mostNested {
		return 0, fmt.Errorf("the prototype has more than %d levels", mostNested)
	}
	out := btf.Type{Kind: t.Kind, Name: t.Name, Flag: t.Flag, Size: t.Size, Int: t.Int}
	switch t.Kind {
	case btf.KindStruct, btf.KindUnion:
		out.Size, out.Flag = 0, false
	case btf.KindArray:
		out.Array = t.Array
		if out.Ref, err = s.copied(b, t.Ref, depth+1); err == nil {
			out.Array.Index, err = s.copied(b, t.Array.Index, depth+1)
		}
	case btf.KindPtr:
		out.Ref, err = s.copied(b, t.Ref, depth+1)
	case btf.KindFuncProto:
		out.Name = ""
		if out.Ref, err = s.copied(b, t.Ref, depth+1); err != nil {
			return 0, err
		}
		for _, p := range t.Params {
			of, err := s.copied(b, p.Type, depth+1)
			if err != nil {
				return 0, err
			}
			out.Params = append(out.Params, btf.Param{Name: p.Name, Type: of})
		}
	}
	if err != nil {
		return 0, err
	}
	return b.Add(out), nil
}

// stringsAt is where the header of BTF has the length of its strings, which are at its end.
const stringsAt = 20

// typeStrings returns the length of the strings of BTF.
func typeStrings(types []byte) int { return int(binary.LittleEndian.Uint32(types[stringsAt:])) }

// addedStrings are strings after those of BTF: names of files and lines of the text, which no type
// has.
type addedStrings struct {
	data []byte
	at   map[string]uint32
}

// add returns where a string is from the end of the strings of BTF.
func (a *addedStrings) add(text string) uint32 {
	text, _, _ = strings.Cut(text, "\x00")
	if at, ok := a.at[text]; ok {
		return at
	}
	if a.at == nil {
		a.at = map[string]uint32{}
	}
	at := uint32(len(a.data))
	a.at[text] = at
	a.data = append(append(a.data, text...), 0)
	return at
}

// appended returns BTF with the strings.
func (a *addedStrings) appended(types []byte) []byte {
	binary.LittleEndian.PutUint32(types[stringsAt:], uint32(typeStrings(types)+len(a.data)))
	return append(types, a.data...)
}

// lineInfo is .BTF.ext with line information alone (struct btf_ext_header, btf_ext_info_sec,
// bpf_line_info).
type lineInfo struct {
	strings addedStrings
	parts   []linePart
}

type linePart struct {
	section uint32
	records [][4]uint32 // offset, file, text, line and column
}

// add adds the lines of a section: a record wherever the line changes.
func (l *lineInfo) add(s *source, file string, c *sectionCode) {
	p := linePart{section: l.strings.add(c.name)}
	last := 0
	for pc := 0; pc < len(c.insns); pc += max(c.insns[pc].Len(), 1) {
		n := c.lines[pc]
		if n == last {
			continue
		}
		last = n
		text := s.lines[n-1]
		p.records = append(p.records, [4]uint32{uint32(pc) * 8, l.strings.add(file), l.strings.add(text), uint32(n)<<10 | 1})
	}
	l.parts = append(l.parts, p)
}

// bytes returns the section. base is the length of the strings of BTF before those of l.
func (l *lineInfo) bytes(base uint32) []byte {
	const (
		magic      = 0xeb9f
		headerSize = 24
		recordSize = 16
	)
	le := binary.LittleEndian
	info := le.AppendUint32(nil, recordSize)
	for _, p := range l.parts {
		info = le.AppendUint32(info, base+p.section)
		info = le.AppendUint32(info, uint32(len(p.records)))
		for _, r := range p.records {
			for i, n := range r {
				if i == 1 || i == 2 {
					n += base
				}
				info = le.AppendUint32(info, n)
			}
		}
	}
	out := le.AppendUint16(nil, magic)
	out = append(out, 1, 0)
	// The header, functions (none), lines.
	for _, n := range []uint32{headerSize, 0, 0, 0, uint32(len(info))} {
		out = le.AppendUint32(out, n)
	}
	return append(out, info...)
}
