package report

import (
	"cmp"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// BTFTypesDocument is the JSON of `btf show`, `btf find` and `btf dump`: the types for each
// argument.
type BTFTypesDocument struct {
	Schema  string     `json:"schema"`
	Exit    int        `json:"exit"`
	Error   *Error     `json:"error"`
	Results []BTFNamed `json:"results"`
}

// BTFNamed lists the types for one name or pattern; the name is empty for all types.
type BTFNamed struct {
	Name  string    `json:"name"`
	Types []BTFType `json:"types"`
	// Field is the location of the field that the name's path leads to.
	Field *BTFMember `json:"field,omitempty"`
}

// BTFType is a type; properties that its kind does not have are left out.
type BTFType struct {
	ID   uint32 `json:"id"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Declaration is the C declaration of the type, function or variable.
	Declaration string      `json:"declaration"`
	Size        int64       `json:"size,omitempty"`
	Ref         uint32      `json:"ref,omitempty"` // the type it points to, names or qualifies
	Elements    uint32      `json:"elements,omitempty"`
	Members     []BTFMember `json:"members,omitempty"`
	Values      []BTFValue  `json:"values,omitempty"`
	Params      []BTFParam  `json:"params,omitempty"`
	Variables   []BTFMember `json:"variables,omitempty"` // of a section
}

// BTFMember is a member and its offset from the start of the type.
type BTFMember struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	TypeID uint32 `json:"type_id"`
	Offset uint32 `json:"offset"` // bytes
	Size   int64  `json:"size"`
	// BitOffset and BitSize locate a bit field: its first bit within the byte at Offset, and its
	// width.
	BitOffset uint32 `json:"bit_offset,omitempty"`
	BitSize   uint32 `json:"bit_size,omitempty"`
}

// BTFValue is an enumerator.
type BTFValue struct {
	Name  string `json:"name"`
	Value string `json:"value"` // hexadecimal
}

// BTFParam is a parameter; the last one without name and type stands for "...".
type BTFParam struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	TypeID uint32 `json:"type_id"`
}

// NewBTFTypesDocument returns an empty document.
func NewBTFTypesDocument() *BTFTypesDocument {
	return &BTFTypesDocument{Schema: Schema, Results: []BTFNamed{}}
}

// Add adds the types with a name, and with a path the field of the first type.
func (d *BTFTypesDocument) Add(s *btf.Spec, name string, ids []btf.ID, field string) error {
	n := BTFNamed{Name: name, Types: []BTFType{}}
	for _, id := range ids {
		t, err := NewBTFType(s, id)
		if err != nil {
			return err
		}
		n.Types = append(n.Types, t)
		if field == "" {
			continue
		}
		f, err := s.ResolvePath(id, field)
		if err != nil {
			return err
		}
		m := newBTFMember(s, f.Path, f.Type, f.BitOffset, f.BitSize)
		n.Field = &m
		break // the path applies to the first type of that name
	}
	d.Results = append(d.Results, n)
	return nil
}

// AddAll adds all types of the file itself, without those of its base.
func (d *BTFTypesDocument) AddAll(s *btf.Spec) error {
	var ids []btf.ID
	for id := s.FirstID(); int(id) < s.NumTypes(); id++ {
		ids = append(ids, id)
	}
	return d.Add(s, "", ids, "")
}

// AddFound adds the types whose names match a pattern, and returns their number.
func (d *BTFTypesDocument) AddFound(s *btf.Spec, pattern string) (int, error) {
	ids, err := found(s, pattern)
	if err != nil {
		return 0, err
	}
	return len(ids), d.Add(s, pattern, ids, "")
}

// found returns the types whose names match a pattern with * and ?.
func found(s *btf.Spec, pattern string) ([]btf.ID, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, err
	}
	var out []btf.ID
	for id := btf.ID(1); int(id) < s.NumTypes(); id++ {
		if name := s.Name(id); name != "" {
			if ok, _ := path.Match(pattern, name); ok {
				out = append(out, id)
			}
		}
	}
	return out, nil
}

// NewBTFType describes a type.
func NewBTFType(s *btf.Spec, id btf.ID) (BTFType, error) {
	t, err := s.Type(id)
	if err != nil {
		return BTFType{}, err
	}
	out := BTFType{ID: uint32(id), Kind: t.Kind.String(), Name: t.Name, Declaration: s.TypeString(id), Ref: uint32(t.Ref)}
	switch t.Kind {
	case btf.KindFunc:
		out.Declaration = s.Signature(id)
		if proto, err := s.Type(t.Ref); err == nil {
			out.params(s, proto)
		}
	case btf.KindFuncProto:
		out.params(s, t)
	case btf.KindVar, btf.KindTypedef:
		out.Declaration = s.Declare(t.Ref, t.Name)
	case btf.KindArray:
		out.Elements = t.Array.Nelems
	case btf.KindDatasec:
		for _, v := range t.Vars {
			m := newBTFMember(s, s.Name(v.Type), v.Type, 8*v.Offset, 0)
			m.Size = int64(v.Size)
			out.Variables = append(out.Variables, m)
		}
	}
	if size, err := s.Sizeof(id); err == nil {
		out.Size = size
	}
	for i := range t.Members {
		off, width := s.MemberBits(t, &t.Members[i])
		out.Members = append(out.Members, newBTFMember(s, t.Members[i].Name, t.Members[i].Type, off, width))
	}
	for _, v := range t.Values {
		out.Values = append(out.Values, BTFValue{v.Name, Hex64(v.Value)})
	}
	return out, nil
}

func (t *BTFType) params(s *btf.Spec, proto *btf.Type) {
	for _, p := range proto.Params {
		text := ""
		if p.Type != 0 {
			text = s.TypeString(p.Type)
		}
		t.Params = append(t.Params, BTFParam{p.Name, text, uint32(p.Type)})
	}
}

// newBTFMember describes a member at an offset of bits from the start. width is the width in bits
// of a bit field, else 0.
func newBTFMember(s *btf.Spec, name string, id btf.ID, bits, width uint32) BTFMember {
	m := BTFMember{Name: name, Type: s.TypeString(id), TypeID: uint32(id), Offset: bits / 8, BitSize: width}
	if width != 0 {
		m.BitOffset = bits % 8
	}
	if size, err := s.Sizeof(id); err == nil {
		m.Size = size
	}
	return m
}

// BTFLayoutDocument is the JSON of `btf layout`: the members of a type on one kernel, or on two to
// compare.
type BTFLayoutDocument struct {
	Schema  string            `json:"schema"`
	Exit    int               `json:"exit"`
	Error   *Error            `json:"error"`
	Type    string            `json:"type"`
	Kernels []BTFLayoutKernel `json:"kernels"`
	Members []BTFLayoutMember `json:"members"`
}

// BTFLayoutKernel describes the type as a whole on one kernel; holes and padding are in bytes.
type BTFLayoutKernel struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Holes   int    `json:"holes"`
	InHoles int64  `json:"in_holes"`
	Padding int64  `json:"padding"`
}

// BTFLayoutMember is a member with its location on each kernel, null where it is missing.
type BTFLayoutMember struct {
	Name    string       `json:"name"`
	Changed bool         `json:"changed"`
	Places  []*BTFMember `json:"places"`
}

// BTFOn is a type on one kernel.
type BTFOn struct {
	Kernel string
	Spec   *btf.Spec
	ID     btf.ID
}

// NewBTFLayoutDocument lists the members of a type. Members of anonymous members take their
// parent's place. The bool result reports whether any kernel differs from the first.
func NewBTFLayoutDocument(name string, on ...BTFOn) (*BTFLayoutDocument, bool, error) {
	d := &BTFLayoutDocument{Schema: Schema, Type: name, Members: []BTFLayoutMember{}}
	index := map[string]int{}
	for k, o := range on {
		l, err := btf.WriteLayout(io.Discard, o.Spec, o.ID, btf.LayoutOptions{})
		if err != nil {
			return nil, false, err
		}
		t := o.Spec.SkipMods(o.ID)
		d.Kernels = append(d.Kernels, BTFLayoutKernel{o.Kernel, cmp.Or(l.Size, int64(t.Size)), l.Holes, l.SumHoles, l.Padding})
		for _, p := range places(o.Spec, t, 0, 0) {
			i, ok := index[p.name]
			if !ok || p.name == "" {
				i = len(d.Members)
				d.Members = append(d.Members, BTFLayoutMember{Name: p.name, Places: make([]*BTFMember, len(on))})
				index[p.name] = i
			}
			m := BTFMember{Name: p.name, Type: p.declared, TypeID: uint32(p.id), Offset: p.off / 8, Size: p.size, BitSize: p.width}
			if p.width != 0 {
				m.BitOffset = p.off % 8
			}
			d.Members[i].Places[k] = &m
		}
	}
	changed := false
	for i := range d.Members {
		m := &d.Members[i]
		for _, p := range m.Places[1:] {
			first := m.Places[0]
			m.Changed = m.Changed || p == nil || first == nil || p.Type != first.Type || p.Offset != first.Offset || p.BitOffset != first.BitOffset || p.BitSize != first.BitSize || p.Size != first.Size
		}
		changed = changed || m.Changed
	}
	return d, changed, nil
}

// BTFSizesDocument is the JSON of `btf size`, the largest type first.
type BTFSizesDocument struct {
	Schema string    `json:"schema"`
	Exit   int       `json:"exit"`
	Error  *Error    `json:"error"`
	Types  []BTFSize `json:"types"`
}

// BTFSize is the size of a struct or union in bytes, and how much of it is unused.
type BTFSize struct {
	ID      uint32 `json:"id"`
	Type    string `json:"type"`
	Size    int64  `json:"size"`
	Members int    `json:"members"`
	Holes   int64  `json:"holes"`
	Padding int64  `json:"padding"`
}

// NewBTFSizesDocument measures the structs and unions whose names match a pattern with * and ?; an
// empty pattern matches all.
func NewBTFSizesDocument(s *btf.Spec, pattern string) (*BTFSizesDocument, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, err
	}
	d := &BTFSizesDocument{Schema: Schema, Types: []BTFSize{}}
	for id := s.FirstID(); int(id) < s.NumTypes(); id++ {
		if k := s.Kind(id); !k.IsComposite() || s.Name(id) == "" {
			continue
		}
		if ok, _ := path.Match(pattern, s.Name(id)); pattern != "" && !ok {
			continue
		}
		l, err := btf.WriteLayout(io.Discard, s, id, btf.LayoutOptions{})
		if err != nil {
			return nil, err
		}
		d.Types = append(d.Types, BTFSize{uint32(id), s.TypeString(id), l.Size, l.Members, l.SumHoles, l.Padding})
	}
	slices.SortStableFunc(d.Types, func(a, b BTFSize) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), strings.Compare(s.Name(btf.ID(a.ID)), s.Name(btf.ID(b.ID))))
	})
	return d, nil
}
