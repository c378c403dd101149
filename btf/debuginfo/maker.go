package debuginfo

import (
	"debug/dwarf"
	"encoding/binary"

	"github.com/bpfrun/bpfrun/btf"
)

// Maker converts DWARF types to BTF.
type Maker struct {
	data *dwarf.Data
	b    *btf.Builder
	ids  map[dwarf.Type]btf.ID
	offs map[dwarf.Offset]btf.ID
	num  btf.ID // index type of arrays
}

// NewMaker returns a Maker whose types continue those of base, which may be nil.
func NewMaker(data *dwarf.Data, base *btf.Spec) *Maker {
	m := &Maker{data: data, b: btf.NewBuilder(base), ids: map[dwarf.Type]btf.ID{}, offs: map[dwarf.Offset]btf.ID{}}
	// Readers take the pointer size from the first INT named as a long.
	m.num = m.b.Int("unsigned long", 8, 0)
	return m
}

// Spec returns the types made so far.
func (m *Maker) Spec(order binary.ByteOrder) (*btf.Spec, error) { return m.b.Spec(order) }

// At returns the id of the type at a DWARF entry, 0 (void) when it cannot be read.
func (m *Maker) At(off dwarf.Offset) btf.ID {
	if id, ok := m.offs[off]; ok {
		return id
	}
	id := btf.ID(0)
	if t, err := m.data.Type(off); err == nil {
		id = m.make(t)
	}
	m.offs[off] = id
	return id
}

func (m *Maker) make(t dwarf.Type) btf.ID {
	if t == nil {
		return 0
	}
	if id, ok := m.ids[t]; ok {
		return id
	}
	var id btf.ID
	switch t := t.(type) {
	case *dwarf.StructType:
		return m.composite(t)
	case *dwarf.PtrType:
		id = m.b.Add(btf.Type{Kind: btf.KindPtr})
		m.ids[t] = id // set before the pointee is made, which may refer back to this pointer
		m.b.Set(id, btf.Type{Kind: btf.KindPtr, Ref: m.make(t.Type)})
		return id
	case *dwarf.TypedefType:
		id = m.b.Add(btf.Type{Kind: btf.KindTypedef, Name: t.Name})
		m.ids[t] = id
		m.b.Set(id, btf.Type{Kind: btf.KindTypedef, Name: t.Name, Ref: m.make(t.Type)})
		return id
	case *dwarf.QualType:
		kind := map[string]btf.Kind{"const": btf.KindConst, "volatile": btf.KindVolatile, "restrict": btf.KindRestrict}[t.Qual]
		if kind == 0 {
			kind = btf.KindConst
		}
		id = m.b.Mod(kind, "", m.make(t.Type))
	case *dwarf.ArrayType:
		id = m.b.Array(m.make(t.Type), m.num, uint32(max(t.Count, 0)))
	case *dwarf.IntType:
		id = m.b.Int(t.Name, uint32(t.ByteSize), btf.IntSigned)
	case *dwarf.UintType:
		id = m.b.Int(t.Name, uint32(t.ByteSize), 0)
	case *dwarf.CharType:
		id = m.b.Int(t.Name, uint32(t.ByteSize), btf.IntSigned|btf.IntChar)
	case *dwarf.UcharType:
		id = m.b.Int(t.Name, uint32(t.ByteSize), 0)
	case *dwarf.BoolType:
		id = m.b.Int(t.Name, uint32(t.ByteSize), btf.IntBool)
	case *dwarf.FloatType:
		id = m.b.Add(btf.Type{Kind: btf.KindFloat, Name: t.Name, Size: uint32(t.ByteSize)})
	case *dwarf.EnumType:
		id = m.enum(t)
	case *dwarf.FuncType:
		id = m.b.Add(btf.Type{Kind: btf.KindFuncProto})
		m.ids[t] = id
		proto := btf.Type{Kind: btf.KindFuncProto, Ref: m.make(t.ReturnType)}
		for _, p := range t.ParamType {
			if _, dots := p.(*dwarf.DotDotDotType); dots {
				proto.Params = append(proto.Params, btf.Param{})
				continue
			}
			proto.Params = append(proto.Params, btf.Param{Type: m.make(p)})
		}
		m.b.Set(id, proto)
		return id
	}
	m.ids[t] = id
	return id
}

func (m *Maker) enum(t *dwarf.EnumType) btf.ID {
	e := btf.Type{Kind: btf.KindEnum, Name: t.EnumName, Size: uint32(t.ByteSize)}
	if t.ByteSize > 4 {
		e.Kind = btf.KindEnum64
	}
	for _, v := range t.Val {
		e.Flag = e.Flag || v.Val < 0
	}
	for _, v := range t.Val {
		n := uint64(v.Val)
		if !e.Flag && t.ByteSize <= 4 {
			n &= 1<<32 - 1
		}
		e.Values = append(e.Values, btf.Enumerator{Name: v.Name, Value: n})
	}
	return m.b.Add(e)
}

func (m *Maker) composite(t *dwarf.StructType) btf.ID {
	kind := btf.KindStruct
	if t.Kind == "union" {
		kind = btf.KindUnion
	}
	if t.Incomplete {
		id := m.b.Add(btf.Type{Kind: btf.KindFwd, Name: t.StructName, Flag: kind == btf.KindUnion})
		m.ids[t] = id
		return id
	}
	id := m.b.Add(btf.Type{Kind: kind, Name: t.StructName, Size: uint32(t.ByteSize)})
	m.ids[t] = id
	out := btf.Type{Kind: kind, Name: t.StructName, Size: uint32(t.ByteSize)}
	for _, f := range t.Field {
		bit := uint64(f.ByteOffset) * 8
		if f.BitSize > 0 {
			out.Flag = true
			switch {
			case f.DataBitOffset != 0:
				bit = uint64(f.DataBitOffset)
			case f.ByteSize > 0:
				// DWARF 3 counts from the most significant bit of the storage unit.
				bit += uint64(f.ByteSize*8 - f.BitOffset - f.BitSize)
			}
		}
		out.Members = append(out.Members, btf.Member{Name: f.Name, Type: m.make(f.Type), BitOffset: uint32(bit), BitfieldSize: uint32(f.BitSize)})
	}
	m.b.Set(id, out)
	return id
}
