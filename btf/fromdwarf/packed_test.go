package fromdwarf

import (
	"debug/dwarf"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/dwarfloc"
)

// TestWhichStructsArePacked: those without holes that have members out of their alignment, or a size
// that it does not divide. Types that are declared in a struct are not its members.
func TestWhichStructsArePacked(t *testing.T) {
	const char, short, integer = 11, 12, 13 // the offsets of their DIEs
	member := func(ref uint64, at int64) node {
		return node{tag: dwarf.TagMember, ref: ref, location: at, bitOffset: 8 * at}
	}
	bits := func(at int64, n int32) node {
		return node{tag: dwarf.TagMember, ref: integer, bitOffset: at, bitSize: n}
	}
	declared := node{tag: dwarf.TagStructType, size: 4}
	for _, tt := range []struct {
		name    string
		size    int64
		members []node
		want    bool
	}{
		{"none", 0, nil, false},
		{"aligned", 8, []node{member(integer, 0), member(integer, 4)}, false},
		{"all kinds", 8, []node{member(char, 0), member(char, 1), member(short, 2), member(integer, 4)}, false},
		{"a member is not aligned", 5, []node{member(char, 0), member(integer, 1)}, true},
		{"a member is not aligned, the size is", 8, []node{member(char, 0), member(integer, 1), member(char, 5), member(short, 6)}, true},
		{"the size is not aligned", 5, []node{member(integer, 0), member(char, 4)}, true},
		{"a hole", 8, []node{member(char, 0), member(integer, 4)}, false},
		{"padding", 8, []node{member(integer, 0), member(char, 4)}, false},
		{"a type in it", 5, []node{member(char, 0), declared, member(integer, 1)}, true},
		{"a type in it, aligned", 8, []node{member(integer, 0), declared, member(integer, 4)}, false},
		{"bit fields", 4, []node{bits(0, 3), bits(3, 29)}, false},
		{"bit fields with a hole of some bits", 4, []node{bits(0, 3), bits(10, 22)}, false},
		{"bit fields with a hole of a byte", 5, []node{bits(0, 3), bits(11, 29)}, false},
	} {
		u := &unit{b: make([]byte, 64), dense: make([]int32, 64), nodes: []node{{}, {tag: dwarf.TagBaseType, size: 1}, {tag: dwarf.TagBaseType, size: 2}, {tag: dwarf.TagBaseType, size: 4}}}
		u.dense[char], u.dense[short], u.dense[integer] = 1, 2, 3
		s := node{tag: dwarf.TagStructType, name: textStr | 1, size: tt.size}
		for i, m := range tt.members {
			at := int32(len(u.nodes))
			if i == 0 {
				s.first = at
			} else {
				u.nodes[at-1].next = at
			}
			u.nodes = append(u.nodes, m)
		}
		got, err := (&decoder{u: u}).isPacked(&s, 8)
		require.NoError(t, err)
		assert.Equal(t, tt.want, got, tt.name)
		s.name = 0
		got, err = (&decoder{u: u}).isPacked(&s, 8)
		require.NoError(t, err)
		assert.False(t, got, "%s, without a name", tt.name)
	}
}

// TestReadingAtTheEnd: reading zero bytes succeeds inside the data and at its end ([io.ReaderAt]).
func TestReadingAtTheEnd(t *testing.T) {
	b := readerOf("abcd")
	for _, tt := range []struct {
		off  int64
		n    int
		want string
		err  error
	}{
		{0, 4, "abcd", nil}, {1, 2, "bc", nil}, {2, 3, "cd", io.EOF}, {3, 1, "d", nil}, {4, 0, "", nil}, {4, 1, "", io.EOF}, {5, 0, "", io.EOF}, {5, 1, "", io.EOF}, {-1, 1, "", io.EOF},
	} {
		p := make([]byte, tt.n)
		n, err := b.ReadAt(p, tt.off)
		assert.Equal(t, tt.want, string(p[:n]), "%d at %d", tt.n, tt.off)
		assert.Equal(t, tt.err, err, "%d at %d", tt.n, tt.off)
	}
}

// TestLocationsOfSeveralOperations: a register that holds a parameter when its function is entered
// is the first of the location where that begins.
func TestLocationsOfSeveralOperations(t *testing.T) {
	const reg, breg, value, plus, piece, fbreg, lit = dwarfloc.OpReg0, dwarfloc.OpBreg0, dwarfloc.OpStackValue, 0x22, dwarfloc.OpPiece, dwarfloc.OpFbreg, dwarfloc.OpLit0
	ops := func(codes ...int) (out []dwarfloc.Op) {
		for _, c := range codes {
			o := dwarfloc.Op{}
			o.Code = uint8(c)
			if c == piece {
				o.Value = 8
			}
			out = append(out, o)
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		ops   []dwarfloc.Op
		first bool
		size  int64
		want  int16
	}{
		{"a register and more", ops(reg+5, plus), true, 8, 5},
		{"later", ops(reg+5, plus), false, 8, noReg},
		{"the value of a register", ops(breg+4, value), true, 8, 4},
		{"the value of a register later", ops(breg+4, value), false, 8, noReg},
		{"memory at a register", ops(breg+4, plus), true, 8, noReg},
		{"the frame", ops(fbreg, value), true, 8, noReg},
		{"a number", ops(lit+3, value), true, 8, noReg},
		{"pieces", ops(reg+5, piece, reg+4, piece), true, 16, 5},
		{"pieces later", ops(reg+5, piece, reg+4, piece), false, 16, 5},
	} {
		p := &param{reg: noReg, size: tt.size}
		d := &decoder{in: &input{}}
		d.in.calls.split = true
		c := &compilation{}
		c.AddrSize = 8
		d.several(p, c, tt.ops, tt.first)
		assert.Equal(t, tt.want, p.reg, tt.name)
	}
}
