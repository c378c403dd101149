package fromdwarf

import (
	"debug/dwarf"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

// TestParametersOfAFunction: tags and the mark of variable arguments do not count as parameters.
func TestParametersOfAFunction(t *testing.T) {
	parameter := node{tag: dwarf.TagFormalParameter}
	for _, tt := range []struct {
		name     string
		children []node
		want     []int32 // the nodes of parameters
	}{
		{"none", nil, nil},
		{"two", []node{parameter, parameter}, []int32{2, 3}},
		{"variable arguments", []node{parameter, {tag: dwarf.TagUnspecifiedParameters}}, []int32{2}},
		{"a tag before", []node{{tag: tagLLVMAnnotation}, parameter, {tag: tagGNUAnnotation}, parameter}, []int32{3, 5}},
	} {
		u := &unit{b: make([]byte, 64), nodes: []node{{}, {tag: dwarf.TagSubprogram, off: 20}}}
		u.places.reset()
		u.places.units = []compilation{{start: 1}}
		for i, c := range tt.children {
			if i == 0 {
				u.nodes[1].first = 2
			} else {
				u.nodes[1+i].next = int32(2 + i)
			}
			u.nodes = append(u.nodes, c)
		}
		d := &decoder{in: &input{}, u: u}
		require.NoError(t, d.function(1, &u.nodes[1]))
		require.Len(t, u.places.funcs, 2)
		f := &u.places.funcs[u.nodes[1].record]
		var got []int32
		for i, p := range u.places.params[f.first:f.last] {
			got = append(got, p.node)
			assert.EqualValues(t, i, p.index, tt.name)
			assert.EqualValues(t, int(f.first)+i, u.nodes[p.node].record, tt.name)
		}
		assert.Equal(t, tt.want, got, tt.name)
	}
}

// TestTypesOfIndices: arrays are indexed by the unit's int, of four bytes, or by a type that is made
// for that.
func TestTypesOfIndices(t *testing.T) {
	const dieBase = dieOdd + 1
	abbrev := abbreviations(8)
	abbrev = slices.Concat(abbrev[:len(abbrev)-1], []byte{dieBase, 0x24, 0, 0x03, 0x08, 0x0b, 0x0b, 0x3e, 0x0b, 0, 0}, []byte{0})
	structure := func(name string) []byte { return slices.Concat([]byte{dieStruct}, []byte(name), []byte{0, 4, 0}) }
	array := slices.Concat([]byte{dieArray}, ref(firstDIE), []byte{dieCount, 3, 0})
	base := func(name string, size byte) []byte {
		return slices.Concat([]byte{dieBase}, []byte(name), []byte{0, size, 5})
	}
	for _, tt := range []struct {
		name string
		dies [][]byte
		want string
	}{
		{"int", [][]byte{structure("s"), array, base("int", 4)}, "int"},
		{"another type", [][]byte{structure("s"), array, base("long", 4)}, "__ARRAY_SIZE_TYPE__"},
		{"another size", [][]byte{structure("s"), array, base("int", 2)}, "__ARRAY_SIZE_TYPE__"},
		{"a struct of that name", [][]byte{structure("int"), array}, "__ARRAY_SIZE_TYPE__"},
		{"a struct of that name before", [][]byte{structure("int"), array, base("int", 4)}, "int"},
	} {
		res, err := Make(brokenFile(t, unitOf(tt.dies...), abbrev), Options{Features: DefaultFeatures})
		require.NoError(t, err)
		raw, err := res.Types.Marshal(binary.LittleEndian)
		require.NoError(t, err)
		s, err := btf.Parse(raw, nil)
		require.NoError(t, err)
		arrays := 0
		for id := s.FirstID(); int(id) < s.NumTypes(); id++ {
			if x := s.MustType(id); x.Kind == btf.KindArray {
				arrays++
				index := s.MustType(x.Array.Index)
				assert.Equal(t, btf.KindInt, index.Kind, tt.name)
				assert.Equal(t, tt.want, index.Name, tt.name)
			}
		}
		assert.Equal(t, 1, arrays, tt.name)
	}
}
