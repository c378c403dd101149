package corerelo

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/btf"
)

// stringTable is a BTF string section under construction.
type stringTable struct {
	data []byte
	offs map[string]uint32
	base uint32 // length of the base's strings, for split BTF
}

func newStrings() *stringTable {
	return &stringTable{data: []byte{0}, offs: map[string]uint32{"": 0}}
}

func (s *stringTable) off(str string) uint32 {
	if o, ok := s.offs[str]; ok {
		return o
	}
	o := s.base + uint32(len(s.data))
	s.offs[str] = o
	s.data = append(append(s.data, str...), 0)
	return o
}

// encode writes the graph as raw BTF. It is independent of package btf, so that
// the tests also hold when its writer is wrong, and can write what no writer
// should.
func (g *graph) encode(order endian) []byte {
	return g.encodeWith(order, newStrings())
}

func (g *graph) encodeWith(order endian, strs *stringTable) []byte {
	var types []byte
	u32 := func(v uint32) { types = order.AppendUint32(types, v) }
	for _, t := range g.list {
		vlen := len(t.members) + len(t.values) + len(t.params)
		info := uint32(vlen) | uint32(t.kind)<<24
		if t.flag {
			info |= 1 << 31
		}
		u32(strs.off(t.name))
		u32(info)
		switch t.kind {
		case btf.KindInt, btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64, btf.KindFloat:
			u32(t.size)
		case btf.KindArray, btf.KindFwd:
			u32(0)
		default:
			u32(uint32(g.id(t.ref)))
		}
		if t.kind == btf.KindInt {
			u32(uint32(t.enc)<<24 | uint32(t.intOff)<<16 | t.size*8)
		}
		if t.kind == btf.KindArray {
			u32(uint32(g.id(t.ref)))
			u32(uint32(g.id(t.ref)))
			u32(t.nelems)
		}
		for _, m := range t.members {
			u32(strs.off(m.name))
			u32(uint32(g.id(m.typ)))
			u32(uint32(m.at) | m.bits<<24)
		}
		for _, v := range t.values {
			u32(strs.off(v.name))
			u32(uint32(v.v))
			if t.kind == btf.KindEnum64 {
				u32(uint32(v.v >> 32))
			}
		}
		for _, p := range t.params {
			u32(0)
			u32(uint32(g.id(p)))
		}
	}
	raw := order.AppendUint16(nil, 0xeb9f)
	raw = append(raw, 1, 0)
	for _, v := range []uint32{24, 0, uint32(len(types)), uint32(len(types)), uint32(len(strs.data))} {
		raw = order.AppendUint32(raw, v)
	}
	return append(append(raw, types...), strs.data...)
}

// endian is binary.LittleEndian or binary.BigEndian.
type endian interface {
	binary.ByteOrder
	binary.AppendByteOrder
}
