package corerelo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

// ty is a type of a test, written as a tree; equal pointers are one type, so
// cycles are made by assigning fields after construction.
type ty struct {
	kind    btf.Kind
	name    string
	size    uint32
	enc     uint8
	intOff  uint8
	ref     *ty
	nelems  uint32
	members []mem
	values  []val
	params  []*ty
	flag    bool
	align   uint32 // of structs and unions
}

// mem is a member; at is its bit offset, or -1 for the next aligned place.
type mem struct {
	name string
	typ  *ty
	bits uint32
	at   int
}

type val struct {
	name string
	v    int64
}

var (
	tVoid   = &ty{}
	tInt    = integer("int", 4, btf.IntSigned)
	tU8     = integer("unsigned char", 1, 0)
	tS8     = integer("signed char", 1, btf.IntSigned)
	tChar   = integer("char", 1, btf.IntSigned)
	tU16    = integer("unsigned short", 2, 0)
	tU32    = integer("unsigned int", 4, 0)
	tLong   = integer("long", 8, btf.IntSigned)
	tULong  = integer("unsigned long", 8, 0)
	tULong4 = integer("unsigned long", 4, 0)
	tU64    = integer("unsigned long long", 8, 0)
	tBool   = integer("_Bool", 1, btf.IntBool)
	tFloat  = &ty{kind: btf.KindFloat, name: "float", size: 4}
	tDouble = &ty{kind: btf.KindFloat, name: "double", size: 8}
)

func integer(name string, size uint32, enc uint8) *ty {
	return &ty{kind: btf.KindInt, name: name, size: size, enc: enc}
}
func ptr(to *ty) *ty                      { return &ty{kind: btf.KindPtr, ref: to} }
func array(n uint32, of *ty) *ty          { return &ty{kind: btf.KindArray, nelems: n, ref: of} }
func typedef(name string, of *ty) *ty     { return &ty{kind: btf.KindTypedef, name: name, ref: of} }
func konst(of *ty) *ty                    { return &ty{kind: btf.KindConst, ref: of} }
func volatile(of *ty) *ty                 { return &ty{kind: btf.KindVolatile, ref: of} }
func typeTag(name string, of *ty) *ty     { return &ty{kind: btf.KindTypeTag, name: name, ref: of} }
func fwd(name string, union bool) *ty     { return &ty{kind: btf.KindFwd, name: name, flag: union} }
func proto(ret *ty, params ...*ty) *ty    { return &ty{kind: btf.KindFuncProto, ref: ret, params: params} }
func structure(name string, m ...mem) *ty { return composite(btf.KindStruct, name, m) }
func union(name string, m ...mem) *ty     { return composite(btf.KindUnion, name, m) }
func member(name string, t *ty) mem       { return mem{name: name, typ: t, at: -1} }
func memberAt(name string, t *ty, bit int) mem {
	return mem{name: name, typ: t, at: bit}
}
func bitfield(name string, t *ty, bit int, bits uint32) mem {
	return mem{name: name, typ: t, at: bit, bits: bits}
}
func enum(name string, size uint32, signed bool, v ...val) *ty {
	return &ty{kind: btf.KindEnum, name: name, size: size, flag: signed, values: v}
}
func enum64(name string, signed bool, v ...val) *ty {
	return &ty{kind: btf.KindEnum64, name: name, size: 8, flag: signed, values: v}
}

// composite lays members out as C does, 8-byte pointers, and sets the size.
func composite(kind btf.Kind, name string, members []mem) *ty {
	t := &ty{kind: kind, name: name}
	var end, align uint32 = 0, 1
	for _, m := range members {
		size, al := m.typ.layout()
		align = max(align, al)
		if m.bits > 0 {
			t.flag = true
		}
		if m.at < 0 {
			m.at = 0
			if kind == btf.KindStruct {
				m.at = int((end + al - 1) / al * al * 8)
			}
		}
		bits := m.bits
		if bits == 0 {
			bits = size * 8
		}
		end = max(end, (uint32(m.at)+bits+7)/8)
		t.members = append(t.members, m)
	}
	t.size, t.align = (end+align-1)/align*align, align
	return t
}

func (t *ty) layout() (size, align uint32) {
	switch t.kind {
	case btf.KindPtr:
		return 8, 8
	case btf.KindArray:
		size, align = t.ref.layout()
		return size * t.nelems, align
	case btf.KindTypedef, btf.KindConst, btf.KindVolatile, btf.KindRestrict, btf.KindTypeTag:
		return t.ref.layout()
	case btf.KindStruct, btf.KindUnion:
		return t.size, t.align
	}
	return t.size, max(t.size, 1)
}

// graph numbers types in the order they are first reached.
type graph struct {
	ids  map[*ty]btf.ID
	list []*ty
	next btf.ID
}

func newGraph(first btf.ID, roots ...*ty) *graph {
	g := &graph{ids: map[*ty]btf.ID{}, next: first}
	for _, r := range roots {
		g.add(r)
	}
	return g
}

func (g *graph) add(t *ty) {
	if t == nil || t.kind == btf.KindVoid {
		return
	}
	if _, ok := g.ids[t]; ok {
		return
	}
	g.ids[t] = g.next
	g.next++
	g.list = append(g.list, t)
	g.add(t.ref)
	for _, m := range t.members {
		g.add(m.typ)
	}
	for _, p := range t.params {
		g.add(p)
	}
}

func (g *graph) id(t *ty) btf.ID {
	if t == nil || t.kind == btf.KindVoid {
		return 0
	}
	return g.ids[t]
}

// testTypes makes a BTF of the given types and all they refer to.
func testTypes(t testing.TB, order endian, roots ...*ty) (*btf.Spec, *graph) {
	t.Helper()
	g := newGraph(1, roots...)
	spec, err := btf.Parse(g.encode(order), nil)
	require.NoError(t, err)
	return spec, g
}
