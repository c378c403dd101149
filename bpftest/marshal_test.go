package bpftest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type loose struct {
	A uint8
	B uint32
	C uint16
	D uint64
}

type padded struct {
	A uint8
	_ [3]byte
	B uint32
	C uint16
	_ [6]byte
	D uint64
}

type pair struct {
	X int16
	Y loose
	Z [2]loose
	W int8
}

type key struct{ addr netip.Addr }

func (k key) MarshalBinary() ([]byte, error) {
	if !k.addr.IsValid() {
		return nil, errors.New("no address")
	}
	return k.addr.AsSlice(), nil
}

func (k *key) UnmarshalBinary(b []byte) error {
	a, ok := netip.AddrFromSlice(b)
	if !ok {
		return errors.New("not an address")
	}
	k.addr = a
	return nil
}

var orders = []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}

// TestLayouts: a struct may be written with or without C's padding; the size decides.
func TestLayouts(t *testing.T) {
	for _, order := range orders {
		// The reference writes the padding itself.
		var want bytes.Buffer
		p := padded{A: 1, B: 0x02030405, C: 0x0607, D: 0x08090a0b0c0d0e0f}
		require.NoError(t, binary.Write(&want, order, p))
		l := loose{p.A, p.B, p.C, p.D}
		for _, v := range []any{p, &p, l, &l} {
			b, err := marshal("x", v, 24, order)
			require.NoError(t, err)
			assert.Equal(t, want.Bytes(), b)
		}
		var packedWant bytes.Buffer
		require.NoError(t, binary.Write(&packedWant, order, l))
		b, err := marshal("x", l, 15, order)
		require.NoError(t, err)
		assert.Equal(t, packedWant.Bytes(), b, "encoding/binary's")

		var gotP padded
		var gotL loose
		require.NoError(t, unmarshal("x", want.Bytes(), &gotP, order))
		require.NoError(t, unmarshal("x", want.Bytes(), &gotL, order))
		assert.Equal(t, p, gotP)
		assert.Equal(t, l, gotL)
		gotL = loose{}
		require.NoError(t, unmarshal("x", packedWant.Bytes(), &gotL, order))
		assert.Equal(t, l, gotL)

		in := pair{-2, l, [2]loose{l, {A: 9}}, -7}
		size, err := sizeOf("x", in)
		require.NoError(t, err)
		assert.Equal(t, 8+3*24+8, size)
		b, err = marshal("x", in, size, order)
		require.NoError(t, err)
		assert.Equal(t, want.Bytes(), b[8:32])
		assert.Equal(t, want.Bytes(), b[32:56])
		assert.Equal(t, byte(9), b[56])
		assert.Equal(t, byte(0xf9), b[80])
		var out pair
		require.NoError(t, unmarshal("x", b, &out, order))
		assert.Equal(t, in, out)
	}
}

func TestScalars(t *testing.T) {
	for _, c := range []struct {
		in   any
		size int
		want []byte // little endian
		out  any    // pointer to the value again; nil: not tried
	}{
		{uint8(1), 1, []byte{1}, new(uint8)}, {int8(-1), 1, []byte{0xff}, new(int8)}, {true, 1, []byte{1}, new(bool)}, {false, 1, []byte{0}, new(bool)},
		{int16(-2), 2, []byte{0xfe, 0xff}, new(int16)}, {uint32(0x01020304), 4, []byte{4, 3, 2, 1}, new(uint32)},
		{int64(-1), 8, bytes.Repeat([]byte{0xff}, 8), new(int64)}, {float32(1), 4, []byte{0, 0, 0x80, 0x3f}, new(float32)},
		{float64(1), 8, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, new(float64)}, {[2]uint16{1, 2}, 4, []byte{1, 0, 2, 0}, new([2]uint16)},
		{7, 1, []byte{7}, nil}, {-1, 2, []byte{0xff, 0xff}, nil}, {7, 8, []byte{7, 0, 0, 0, 0, 0, 0, 0}, nil}, {uint(7), 4, []byte{7, 0, 0, 0}, nil},
		{-128, 1, []byte{0x80}, nil}, {255, 1, []byte{0xff}, nil},
		{"ab", 4, []byte{'a', 'b', 0, 0}, new(string)}, {[]byte{1, 2}, 2, []byte{1, 2}, new([]byte)},
		{key{netip.MustParseAddr("10.0.0.1")}, 4, []byte{10, 0, 0, 1}, new(key)},
	} {
		b, err := marshal("x", c.in, c.size, binary.LittleEndian)
		require.NoError(t, err, "%T", c.in)
		assert.Equal(t, c.want, b, "%T", c.in)
		if c.out == nil {
			continue
		}
		require.NoError(t, unmarshal("x", b, c.out, binary.LittleEndian))
		again, err := marshal("x", c.out, c.size, binary.LittleEndian)
		if _, isText := c.out.(*string); isText {
			again, err = []byte(*c.out.(*string)+"\x00\x00"), nil
		}
		if raw, isBytes := c.out.(*[]byte); isBytes {
			again, err = *raw, nil
		}
		require.NoError(t, err)
		assert.Equal(t, b, again, "%T", c.in)
	}
}

func TestValuesThatDoNotFit(t *testing.T) {
	var none *uint32
	for _, c := range []struct {
		in   any
		size int
		want string
	}{
		{uint64(1), 4, "x has 4 bytes, uint64 has 8"}, {loose{}, 16, "has 15 (24 with C's padding)"}, {[]byte{1}, 2, "got 1:"}, {"abc", 2, "the string has 3"},
		{300, 1, "300 does not fit"}, {-129, 1, "does not fit"}, {-32769, 2, "does not fit"}, {uint(256), 1, "does not fit"}, {1, 3, "not an integer"},
		{nil, 4, "nil is not a value"}, {none, 4, "is nil"}, {map[int]int{}, 4, "no fixed size"}, {struct{ S string }{}, 16, "no fixed size"}, {[]uint32{1}, 4, "no fixed size"},
		{key{}, 4, "no address"}, {key{netip.IPv6Loopback()}, 4, "got 16:"}, {struct{ P uintptr }{}, 8, "no fixed size"},
	} {
		_, err := marshal("x", c.in, c.size, binary.LittleEndian)
		assert.ErrorContains(t, err, c.want, "%T", c.in)
	}
	_, err := marshal("x", uint64(1), 4, binary.LittleEndian)
	assert.ErrorIs(t, err, ErrSize)
	for _, c := range []struct {
		out  any
		want string
	}{
		{uint32(1), "want a pointer"}, {nil, "want a pointer"}, {none, "want a pointer"}, {new(uint64), "uint64 has 8"}, {new(int), "depends on the machine"}, {new(uint), "depends on the machine"},
		{&struct{ a uint32 }{}, "field a"}, {&struct{ A [2]struct{ b uint16 } }{}, "field A.b"}, {new(map[int]int), "no fixed size"}, {new(chan int), "no fixed size"},
		{&struct {
			A uint16
			_ uint16
		}{}, ""},
	} {
		err := unmarshal("x", make([]byte, 4), c.out, binary.LittleEndian)
		if c.want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, c.want, "%T", c.out)
	}
	assert.ErrorContains(t, unmarshal("x", make([]byte, 5), new(key), binary.LittleEndian), "not an address")
}

func TestCString(t *testing.T) {
	assert.Equal(t, "ab", CString([]byte("ab\x00c")))
	assert.Equal(t, "ab", CString([]byte("ab")))
	assert.Empty(t, CString([]byte{0}))
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(make([]byte, 24), true)
	f.Fuzz(func(t *testing.T, b []byte, little bool) {
		order := orders[0]
		if !little {
			order = orders[1]
		}
		var l loose
		var p pair
		if unmarshal("x", b, &l, order) == nil {
			again, err := marshal("x", l, len(b), order)
			require.NoError(t, err)
			var second loose
			require.NoError(t, unmarshal("x", again, &second, order))
			require.Equal(t, l, second)
		}
		_ = unmarshal("x", b, &p, order)
	})
}
