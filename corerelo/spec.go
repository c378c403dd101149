package corerelo

import (
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// Accessor is one step of a Spec that has a meaning: the first index, a named member, or an array
// index.
type Accessor struct {
	Type  btf.ID // struct, union or enum that contains Name, or element type for an index
	Index int    // number of the member, element or enumerator
	Name  string // member or enumerator name; empty for an index
}

// Spec is an access in terms of one BTF: the object's (local) or the kernel's (target). Steps
// through anonymous structs and unions appear only in Raw.
type Spec struct {
	BTF       *btf.Spec
	Root      btf.ID // type the path starts at, with typedefs
	Kind      Kind
	Raw       []int      // all steps, as in an access string
	Path      []Accessor // the steps with a meaning
	BitOffset uint32     // offset in bits from the start of Root; wraps at 32 bits, as in libbpf
}

// Last returns the last accessor, which determines a field's value.
func (s *Spec) Last() Accessor {
	if len(s.Path) == 0 {
		return Accessor{}
	}
	return s.Path[len(s.Path)-1]
}

// Access returns the access string of the spec: "0:1:2"; for type kinds "0".
func (s *Spec) Access() string {
	if s.Kind.IsType() {
		return "0"
	}
	var b strings.Builder
	s.writeRaw(&b)
	return b.String()
}

// Field returns root and path in C notation: "task_struct.comm[3]".
func (s *Spec) Field() string {
	if s.BTF == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(orAnon(s.BTF.Name(s.Root)))
	s.writeField(&b)
	return b.String()
}

// String returns the spec as libbpf logs it (bpf_core_format_spec):
// "<byte_off> [12] struct task_struct.comm[3] (0:94:3 @ offset 1483)".
func (s *Spec) String() string {
	if s.BTF == nil {
		return "<" + s.Kind.String() + ">"
	}
	return "<" + s.Kind.String() + "> " + s.Text()
}

// Text returns the same text as String without the kind.
func (s *Spec) Text() string {
	if s.BTF == nil {
		return ""
	}
	var b strings.Builder
	b.WriteByte('[')
	b.WriteString(strconv.FormatUint(uint64(s.Root), 10))
	b.WriteString("] ")
	b.WriteString(kindWord(s.BTF.Kind(s.Root)))
	b.WriteByte(' ')
	b.WriteString(orAnon(s.BTF.Name(s.Root)))
	switch {
	case s.Kind.IsField():
		s.writeField(&b)
		b.WriteString(" (")
		s.writeRaw(&b)
		b.WriteString(" @ offset ")
		b.WriteString(strconv.FormatUint(uint64(s.BitOffset/8), 10))
		if bit := s.BitOffset % 8; bit != 0 {
			b.WriteByte('.')
			b.WriteString(strconv.FormatUint(uint64(bit), 10))
		}
		b.WriteByte(')')
	case s.Kind.IsEnumval():
		s.writeEnumerator(&b)
	}
	return b.String()
}

func (s *Spec) writeField(b *strings.Builder) {
	for i, acc := range s.Path {
		switch {
		case s.Kind.IsEnumval():
			b.WriteString("::")
			b.WriteString(acc.Name)
		case acc.Name != "":
			b.WriteByte('.')
			b.WriteString(acc.Name)
		case i > 0 || acc.Index > 0:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(acc.Index))
			b.WriteByte(']')
		}
	}
}

func (s *Spec) writeRaw(b *strings.Builder) {
	for i, n := range s.Raw {
		if i > 0 {
			b.WriteByte(':')
		}
		b.WriteString(strconv.Itoa(n))
	}
}

// writeEnumerator writes "::NAME = value". For a candidate without the enumerator it writes the
// first one, as libbpf's log does.
func (s *Spec) writeEnumerator(b *strings.Builder) {
	t := skip(s.BTF, s.Root)
	if t == nil || !t.Kind.IsEnum() {
		return
	}
	n := 0
	if len(s.Raw) > 0 {
		n = s.Raw[0]
	}
	if n >= len(t.Values) {
		return
	}
	v := t.Values[n]
	b.WriteString("::")
	b.WriteString(v.Name)
	b.WriteString(" = ")
	switch {
	case t.Kind == btf.KindEnum && t.Flag:
		b.WriteString(strconv.FormatInt(int64(int32(v.Value)), 10))
	case t.Kind == btf.KindEnum:
		b.WriteString(strconv.FormatUint(uint64(uint32(v.Value)), 10))
	case t.Flag:
		b.WriteString(strconv.FormatInt(int64(v.Value), 10))
	default:
		b.WriteString(strconv.FormatUint(v.Value, 10))
	}
}

// parseSpec converts a record to the local spec (libbpf relo_core.c bpf_core_parse_spec).
func parseSpec(local *btf.Spec, rec Record) (Spec, *fault) {
	spec := Spec{BTF: local, Root: rec.TypeID, Kind: rec.Kind}
	if rec.Kind.IsType() {
		if rec.Access != "0" {
			return spec, faultf(ErrInvalidRecord, eINVAL, "access string of a type relocation is %q, not \"0\"", rec.Access)
		}
		return spec, nil
	}
	raw, f := parseAccess(rec.Access)
	if f != nil {
		return spec, f
	}
	t := skip(local, rec.TypeID)
	if t == nil {
		return spec, faultf(ErrInvalidRecord, eINVAL, "type %d does not lead to a type", rec.TypeID)
	}
	spec.Raw = raw
	if rec.Kind.IsEnumval() {
		return spec, spec.parseEnumerator(t)
	}
	if !rec.Kind.IsField() {
		return spec, faultf(ErrUnsupported, eINVAL, "kind %d", uint32(rec.Kind))
	}
	return spec, spec.parseField(t)
}

func (s *Spec) parseEnumerator(t *btf.Type) *fault {
	if !t.Kind.IsEnum() {
		return faultf(ErrInvalidRecord, eINVAL, "root is a %s, not an enum", kindWord(t.Kind))
	}
	if len(s.Raw) != 1 || s.Raw[0] >= len(t.Values) {
		return faultf(ErrInvalidRecord, eINVAL, "no enumerator %s, the enum has %d", s.Access(), len(t.Values))
	}
	s.Path = []Accessor{{Type: t.ID, Index: s.Raw[0], Name: t.Values[s.Raw[0]].Name}}
	return nil
}

func (s *Spec) parseField(t *btf.Type) *fault {
	s.Path = make([]Accessor, 0, len(s.Raw))
	if f := s.pushIndex(t.ID, s.Raw[0]); f != nil {
		return f
	}
	for i, idx := range s.Raw[1:] {
		switch t.Kind {
		case btf.KindStruct, btf.KindUnion:
			if idx >= len(t.Members) {
				return faultf(ErrInvalidRecord, eINVAL, "step %d: no member %d, %s has %d", i+1, idx, typeText(s.BTF, t.ID), len(t.Members))
			}
			m := &t.Members[idx]
			s.BitOffset += m.BitOffset
			if m.Name != "" {
				s.Path = append(s.Path, Accessor{Type: t.ID, Index: idx, Name: m.Name})
			}
			t = skip(s.BTF, m.Type)
		case btf.KindArray:
			flexible := isFlexible(s.BTF, s.Last(), t)
			if !flexible && uint64(idx) >= uint64(t.Array.Nelems) {
				return faultf(ErrInvalidRecord, eINVAL, "step %d: no element %d, the array has %d", i+1, idx, t.Array.Nelems)
			}
			if t = skip(s.BTF, t.Ref); t == nil {
				break
			}
			if f := s.pushIndex(t.ID, idx); f != nil {
				return f
			}
		default:
			f := faultf(ErrInvalidRecord, eINVAL, "step %d goes into %s", i+1, typeText(s.BTF, t.ID))
			f.log = "relo for [" + utoa(uint32(s.Root)) + "]  (at idx " + strconv.Itoa(i+1) + ") captures type [" +
				utoa(uint32(t.ID)) + "] of unexpected kind " + kindWord(t.Kind)
			return f
		}
		if t == nil {
			return faultf(ErrInvalidRecord, eINVAL, "step %d leads to no type", i+1)
		}
	}
	return nil
}

// pushIndex appends an index into objects of type id. The offset wraps at 32 bits, as in libbpf.
func (s *Spec) pushIndex(id btf.ID, idx int) *fault {
	s.Path = append(s.Path, Accessor{Type: id, Index: idx})
	size, err := s.BTF.Sizeof(id)
	if err != nil || size < 0 {
		return faultf(ErrUnsized, eINVAL, "%s", typeText(s.BTF, id))
	}
	s.BitOffset += uint32(int64(idx) * size * 8)
	return nil
}

// isFlexible reports whether array, reached through prev, is a flexible array member: it has no
// elements and is the last named member of its struct or union.
func isFlexible(spec *btf.Spec, prev Accessor, array *btf.Type) bool {
	if prev.Name == "" || array.Array.Nelems > 0 {
		return false
	}
	t, err := spec.Type(prev.Type)
	return err == nil && prev.Index == len(t.Members)-1
}
