package btf

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// layoutTypes builds struct s with every kind of gap, as C would lay it out, and what it needs.
func layoutTypes(t *testing.T) (*Spec, ID) {
	b := NewBuilder(nil)
	i32 := b.Int("int", 4, IntSigned)
	u8 := b.Int("unsigned char", 1, 0)
	u64 := b.Int("long unsigned int", 8, 0)
	inner := b.Struct("inner", 8, Member{Name: "x", Type: i32})
	un := b.Union("", 8, Member{Name: "a", Type: i32}, Member{Name: "b", Type: u64})
	named := b.Struct("", 4, Member{Name: "y", Type: u8})
	fn := b.Add(Type{Kind: KindFuncProto, Ref: i32, Params: []Param{{Name: "p", Type: b.Ptr(inner)}}})
	fp := b.Ptr(fn)
	e := b.Add(Type{Kind: KindEnum, Name: "color", Size: 4, Flag: true, Values: []Enumerator{{"RED", 0}, {"NONE", ^uint64(0)}}})
	id := b.Struct("s", 72,
		Member{Name: "c", Type: u8},
		Member{Name: "l", Type: u64, BitOffset: 64},
		Member{Name: "f", Type: i32, BitOffset: 128, BitfieldSize: 3},
		Member{Name: "g", Type: i32, BitOffset: 131, BitfieldSize: 4},
		Member{Name: "h", Type: u8, BitOffset: 144},
		Member{Name: "", Type: un, BitOffset: 192},
		Member{Name: "in", Type: inner, BitOffset: 256},
		Member{Name: "call", Type: fp, BitOffset: 320},
		Member{Name: "n", Type: named, BitOffset: 384},
		Member{Name: "col", Type: e, BitOffset: 416},
		Member{Name: "arr", Type: b.Array(u8, i32, 3), BitOffset: 448})
	b.Mod(KindTypedef, "s_t", id)
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	return s, id
}

func TestWriteLayout(t *testing.T) {
	s, id := layoutTypes(t)
	var out strings.Builder
	l, err := WriteLayout(&out, s, id, LayoutOptions{})
	require.NoError(t, err)
	assert.Equal(t, Layout{Size: 72, Members: 11, Holes: 2, SumHoles: 12, BitHoles: 1, SumBitHoles: 9, Sum: 45, SumBits: 7, Padding: 13, Paddings: 2, SumPaddings: 7}, l)
	const want = `struct s {
	unsigned char c;                                /*     0     1 */

	/* XXX 7 bytes hole, try to pack */

	long unsigned int l;                            /*     8     8 */
	int f:3;                                        /*    16: 0  4 */
	int g:4;                                        /*    16: 3  4 */

	/* XXX 9 bits hole, try to pack */

	unsigned char h;                                /*    18     1 */

	/* XXX 5 bytes hole, try to pack */

	union {
		int a;                                  /*    24     4 */
		long unsigned int b;                    /*    24     8 */
	};                                              /*    24     8 */
	struct inner in;                                /*    32     8 */

	/* XXX last struct has 4 bytes of padding */

	int (*call)(struct inner *);                    /*    40     8 */
	struct {
		unsigned char y;                        /*    48     1 */
	} n;                                            /*    48     4 */

	/* XXX last struct has 3 bytes of padding */

	enum color col;                                 /*    52     4 */
	unsigned char arr[3];                           /*    56     3 */

	/* size: 72, members: 11 */
	/* sum members: 45, holes: 2, sum holes: 12 */
	/* sum bitfield members: 7 bits, bit holes: 1, sum bit holes: 9 bits */
	/* padding: 13 */
	/* paddings: 2, sum paddings: 7 */
};
`
	assert.Equal(t, want, out.String())

	out.Reset()
	_, err = WriteLayout(&out, s, id, LayoutOptions{Expand: true})
	require.NoError(t, err)
	assert.Contains(t, out.String(), "\tstruct inner {\n\t\tint x;  ")

	out.Reset()
	ids, _, err := s.Lookup("enum color")
	require.NoError(t, err)
	_, err = WriteLayout(&out, s, ids[0], LayoutOptions{})
	require.NoError(t, err)
	assert.Equal(t, "enum color {\n\tRED = 0,\n\tNONE = -1,\n\n\t/* size: 4, values: 2 */\n};\n", out.String())
}

func TestLookup(t *testing.T) {
	s, id := layoutTypes(t)
	for _, c := range []struct {
		text, path string
		ok         bool
	}{
		{"s", "", true}, {"struct s", "", true}, {"s.in.x", "in.x", true}, {"struct s.arr[2]", "arr[2]", true}, {"s[1].c", "[1].c", true},
		{"[" + utoa(int(id)) + "]", "", true}, {"[" + utoa(int(id)) + "].l", "l", true}, {"s_t", "", true},
		{"union s", "", false}, {"enum s", "", false}, {"sx", "", false}, {"", "", false}, {"[0]", "", false}, {"[9999]", "", false}, {"[x]", "", false},
		{"struct ", "", false},
	} {
		ids, path, err := s.Lookup(c.text)
		if !c.ok {
			var p *PathError
			assert.ErrorAs(t, err, &p, c.text)
			continue
		}
		require.NoError(t, err, c.text)
		assert.NotEmpty(t, ids, c.text)
		assert.Equal(t, c.path, path, c.text)
	}
	_, _, err := s.Lookup("inne")
	assert.ErrorContains(t, err, "nearest: inner")
}
