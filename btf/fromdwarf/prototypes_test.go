package fromdwarf

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/dedup"
)

// Types of two units are compared by kind and name; const does not count.
func TestEqualPrototypes(t *testing.T) {
	types, err := dedup.New(nil)
	require.NoError(t, err)
	add := func(name string, kind btf.Kind, flag bool, vlen int, words ...uint32) uint32 {
		return types.Add(append([]uint32{types.Str(name), dedup.Info(kind, vlen, flag)}, words...)...)
	}
	number := func(name string, size uint32) uint32 { return add(name, btf.KindInt, false, 0, size, size*8) }
	to := func(kind btf.Kind, id uint32) uint32 { return add("", kind, false, 0, id) }
	ptr := func(id uint32) uint32 { return to(btf.KindPtr, id) }
	array := func(id, n uint32) uint32 { return add("", btf.KindArray, false, 0, 0, id, 0, n) }
	proto := func(result uint32, params ...uint32) uint32 {
		words := []uint32{result}
		for _, p := range params {
			words = append(words, types.Str("p"), p)
		}
		return add("", btf.KindFuncProto, false, len(params), words...)
	}
	kind := func(name string, kind btf.Kind, flag bool) uint32 { return add(name, kind, flag, 0, 8) }
	i, other, long := number("int", 4), number("int", 4), number("long", 8)
	self := ptr(0)
	types.Of(self)[2] = self
	loop := ptr(0)
	types.Of(loop)[2] = loop
	for _, tt := range []struct {
		name string
		a, b uint32
		want bool
	}{
		{"the same", i, i, true},
		{"equal integers", i, other, true},
		{"sizes", i, long, false},
		{"void and int", 0, i, false},
		{"pointers", ptr(i), ptr(other), true},
		{"pointers to others", ptr(i), ptr(long), false},
		{"const on one side", ptr(to(btf.KindConst, i)), ptr(other), true},
		{"const on the other side", ptr(i), ptr(to(btf.KindConst, long)), false},
		{"volatile on one side", ptr(to(btf.KindVolatile, i)), ptr(other), false},
		{"restrict on both", to(btf.KindRestrict, i), to(btf.KindRestrict, other), true},
		{"structs of a name", kind("s", btf.KindStruct, false), kind("s", btf.KindStruct, false), true},
		{"structs of two names", kind("s", btf.KindStruct, false), kind("r", btf.KindStruct, false), false},
		{"struct and its declaration", kind("s", btf.KindStruct, false), kind("s", btf.KindFwd, false), true},
		{"struct and a declared union", kind("s", btf.KindStruct, false), kind("s", btf.KindFwd, true), false},
		{"union and its declaration", kind("s", btf.KindFwd, true), kind("s", btf.KindUnion, false), true},
		{"typedefs", add("t", btf.KindTypedef, false, 0, i), add("t", btf.KindTypedef, false, 0, long), true},
		{"enums", kind("e", btf.KindEnum, false), kind("e", btf.KindEnum, true), true},
		{"floats", add("float", btf.KindFloat, false, 0, 4), add("float", btf.KindFloat, false, 0, 8), false},
		{"arrays", array(i, 3), array(other, 3), true},
		{"lengths", array(i, 3), array(other, 4), false},
		{"functions", ptr(proto(0, i, long)), ptr(proto(0, other, long)), true},
		{"parameters", ptr(proto(0, i, long)), ptr(proto(0, other, i)), false},
		{"numbers of parameters", ptr(proto(0, i)), ptr(proto(0, other, i)), false},
		{"results", ptr(proto(i)), ptr(proto(long)), false},
		{"pointers to themselves", self, loop, false},
	} {
		for _, order := range [][2]uint32{{tt.a, tt.b}, {tt.b, tt.a}} {
			m := &maker{types: types}
			a, b := candidate{params: []parameter{{typ: order[0]}}}, candidate{params: []parameter{{typ: order[1]}}}
			assert.Equal(t, tt.want, m.equalPrototypes(&a, &b), tt.name)
			a, b = candidate{result: order[0]}, candidate{result: order[1]}
			assert.Equal(t, tt.want, m.equalPrototypes(&a, &b), tt.name)
		}
	}
}
