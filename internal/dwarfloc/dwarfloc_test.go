package dwarfloc

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	addresses = []byte{0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0x20, 0, 0, 0} // a header, then 0x10 and 0x20
	v5        = Unit{Order: binary.LittleEndian, Version: 5, AddrSize: 4, OffSize: 4, Base: 0x100, Addr: addresses, AddrBase: 8, ListBase: DefaultListBase(4)}
	v4        = Unit{Order: binary.BigEndian, Version: 4, AddrSize: 4, OffSize: 4, Base: 0x100}
)

func read(u Unit, section []byte) (out []Entry, n int, err error) {
	n, err = u.List(section, 0, func(e Entry) bool {
		out = append(out, e)
		return true
	})
	return out, n, err
}

func TestList(t *testing.T) {
	for name, tt := range map[string]struct {
		unit    Unit
		section []byte
		want    []Entry
	}{
		"empty":        {v5, []byte{lleEnd}, nil},
		"offset pair":  {v5, []byte{lleOffsetPair, 1, 2, 1, OpReg0, lleEnd}, []Entry{{Low: 0x101, High: 0x102, Expr: []byte{OpReg0}}}},
		"indexed":      {v5, []byte{lleStartxEndx, 0, 1, 0, lleStartxLength, 1, 4, 0, lleEnd}, []Entry{{Low: 0x10, High: 0x20, Expr: []byte{}}, {Low: 0x20, High: 0x24, Expr: []byte{}}}},
		"indexed base": {v5, []byte{lleBaseAddressx, 1, lleOffsetPair, 1, 2, 0, lleEnd}, []Entry{{Low: 0x21, High: 0x22, Expr: []byte{}}}},
		"base":         {v5, []byte{lleBaseAddress, 8, 0, 0, 0, lleOffsetPair, 1, 2, 0, lleEnd}, []Entry{{Low: 9, High: 10, Expr: []byte{}}}},
		"addresses": {v5, []byte{lleStartEnd, 1, 0, 0, 0, 2, 0, 0, 0, 0, lleStartLength, 1, 0, 0, 0, 7, 0, lleEnd},
			[]Entry{{Low: 1, High: 2, Expr: []byte{}}, {Low: 1, High: 8, Expr: []byte{}}}},
		"default":         {v5, []byte{lleDefault, 1, OpLit0, lleEnd}, []Entry{{Default: true, Expr: []byte{OpLit0}}}},
		"pairs of views":  {v5, []byte{lleGNUViewPair, 1, 2, lleOffsetPair, 0, 0, 0, lleEnd}, []Entry{{Low: 0x100, High: 0x100, Expr: []byte{}}}},
		"DWARF 4":         {v4, []byte{0, 0, 0, 1, 0, 0, 0, 2, 0, 1, OpReg0, 0, 0, 0, 0, 0, 0, 0, 0}, []Entry{{Low: 0x101, High: 0x102, Expr: []byte{OpReg0}}}},
		"DWARF 4, a base": {v4, []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, []Entry{{Low: 9, High: 10, Expr: []byte{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, n, err := read(tt.unit, tt.section)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, len(tt.section), n)
			for cut := range len(tt.section) {
				_, _, err := read(tt.unit, tt.section[:cut])
				assert.ErrorIs(t, err, ErrMalformed, "cut off after %d bytes", cut)
			}
		})
	}
	n, err := v5.List([]byte{lleDefault, 0, lleDefault, 0}, 0, func(Entry) bool { return false })
	require.NoError(t, err)
	assert.Equal(t, 2, n, "the visitor ends the list")
}

func TestMalformedLists(t *testing.T) {
	for name, section := range map[string][]byte{
		"unknown kind":           {0x40},
		"no such address":        {lleStartxLength, 2, 0, 0, lleEnd},
		"no such base":           {lleBaseAddressx, 9, lleEnd},
		"number of 11 bytes":     {lleOffsetPair, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 1, 0, lleEnd},
		"expression of 2^63 - 1": {lleDefault, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, lleEnd},
	} {
		_, _, err := read(v5, section)
		assert.ErrorIs(t, err, ErrMalformed, name)
	}
	_, err := v5.List(nil, 1, nil)
	assert.ErrorIs(t, err, ErrMalformed)
	odd := v5
	odd.AddrSize = 3
	_, _, err = read(odd, []byte{lleBaseAddress, 0, 0, 0, lleEnd})
	assert.ErrorIs(t, err, ErrMalformed)
}

func TestListAt(t *testing.T) {
	section := append(make([]byte, 12), 8, 0, 0, 0, 0x10, 0, 0, 0)
	off, err := v5.ListAt(section, 1)
	require.NoError(t, err)
	assert.EqualValues(t, 12+0x10, off)
	_, err = v5.ListAt(section, 2)
	assert.ErrorIs(t, err, ErrMalformed)
	_, err = v5.ListAt(section, 1<<62)
	assert.ErrorIs(t, err, ErrMalformed)
	assert.EqualValues(t, 20, DefaultListBase(8))
}

// Each operation is read with its operands, so that the one after it is found.
func TestOps(t *testing.T) {
	u := Unit{Order: binary.LittleEndian, Version: 5, AddrSize: 8, OffSize: 4}
	operand := []byte{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	for code := range 256 {
		layout, ok := operands(byte(code))
		if !ok {
			assert.False(t, code == OpAddr || code == OpDeref || code >= OpConst1u && code <= OpReinterpret, "DWARF 5 has operation %#x", code)
			_, err := u.Ops(nil, []byte{byte(code)})
			assert.ErrorIs(t, err, ErrOperation, "%#x", code)
			continue
		}
		size := 0
		for _, l := range layout {
			size += map[rune]int{'a': 8, 'o': 4, 'u': 1, 's': 1, 'b': 2, 'c': 2, '1': 1, '2': 2, '4': 4, '8': 8}[l]
		}
		expr := append(append([]byte{byte(code)}, operand[:size]...), OpStackValue)
		ops, err := u.Ops(nil, expr)
		require.NoError(t, err, "%#x", code)
		require.Len(t, ops, 2, "%#x", code)
		assert.EqualValues(t, code, ops[0].Code)
		assert.EqualValues(t, OpStackValue, ops[1].Code)
		for cut := 1; cut <= size; cut++ {
			_, err := u.Ops(nil, expr[:cut])
			assert.ErrorIs(t, err, ErrMalformed, "%#x", code)
		}
	}
	ops, err := u.Ops(nil, []byte{OpFbreg, 0x70, OpEntryValue, 1, OpReg0 + 5, OpBreg0 + 7, 8})
	require.NoError(t, err)
	assert.Equal(t, []Op{{Code: OpFbreg, Value: ^uint64(15)}, {Code: OpEntryValue, Value: 1, Block: []byte{OpReg0 + 5}}, {Code: OpBreg0 + 7, Value: 8}}, ops)
	assert.True(t, ops[2].IsBreg())
	assert.False(t, ops[2].IsReg() || ops[2].IsConstant())
	assert.True(t, Op{Code: OpReg0 + 31}.IsReg())
	assert.True(t, Op{Code: OpLit0 + 31}.IsConstant())
}

// References to entries were as long as addresses in DWARF 2, and are as long as offsets since.
func TestReferencesByVersion(t *testing.T) {
	for version, size := range map[uint16]int{2: 8, 3: 4, 4: 4, 5: 4} {
		u := Unit{Order: binary.LittleEndian, Version: version, AddrSize: 8, OffSize: 4}
		code := -1
		for c := range 256 {
			if layout, ok := operands(byte(c)); ok && layout == "o" {
				code = c
			}
		}
		require.Positive(t, code)
		expr := append([]byte{byte(code)}, 1, 2, 0, 0, 0, 0, 0, 0)
		ops, err := u.Ops(nil, expr[:1+size])
		require.NoError(t, err, "DWARF %d", version)
		assert.Equal(t, []Op{{Code: byte(code), Value: 0x201}}, ops, "DWARF %d", version)
		_, err = u.Ops(nil, expr[:size])
		assert.ErrorIs(t, err, ErrMalformed, "DWARF %d", version)
	}
}

func FuzzLists(f *testing.F) {
	f.Add([]byte{lleBaseAddressx, 1, lleOffsetPair, 1, 2, 1, OpReg0, lleEnd}, byte(5), uint64(0))
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 2, 0, 1, OpReg0, 0, 0, 0, 0, 0, 0, 0, 0}, byte(4), uint64(0))
	f.Fuzz(func(t *testing.T, section []byte, version byte, index uint64) {
		u := v5
		u.Version = uint16(version)
		_, _ = u.ListAt(section, index)
		n, err := u.List(section, index, func(e Entry) bool {
			_, _ = u.Ops(nil, e.Expr)
			return true
		})
		if err == nil && n > len(section) {
			t.Fatalf("%d bytes of %d", n, len(section))
		}
	})
}
