package endian_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/endian"
)

func TestNumbersOfEveryLength(t *testing.T) {
	tests := map[string]struct {
		order    binary.ByteOrder
		bytes    []byte
		unsigned uint64
		signed   int64
	}{
		"none":                  {binary.LittleEndian, []byte{}, 0, 0},
		"one byte":              {binary.BigEndian, []byte{0x80}, 0x80, -0x80},
		"two, little":           {binary.LittleEndian, []byte{1, 0x80}, 0x8001, -0x7fff},
		"two, big":              {binary.BigEndian, []byte{0x7f, 1}, 0x7f01, 0x7f01},
		"three, little":         {binary.LittleEndian, []byte{1, 2, 0xff}, 0xff0201, -0xfdff},
		"three, big":            {binary.BigEndian, []byte{0xff, 2, 1}, 0xff0201, -0xfdff},
		"four, little":          {binary.LittleEndian, []byte{1, 2, 3, 4}, 0x04030201, 0x04030201},
		"four, big":             {binary.BigEndian, []byte{0xff, 0xff, 0xff, 0xfe}, 0xfffffffe, -2},
		"seven, little":         {binary.LittleEndian, []byte{1, 2, 3, 4, 5, 6, 7}, 0x07060504030201, 0x07060504030201},
		"seven, big":            {binary.BigEndian, []byte{0x80, 2, 3, 4, 5, 6, 7}, 0x80020304050607, -0x7ffdfcfbfaf9f9},
		"eight, little":         {binary.LittleEndian, []byte{1, 2, 3, 4, 5, 6, 7, 0x88}, 0x8807060504030201, -0x77f8f9fafbfcfdff},
		"eight, big":            {binary.BigEndian, []byte{1, 2, 3, 4, 5, 6, 7, 8}, 0x0102030405060708, 0x0102030405060708},
		"an order of one's own": {own{binary.BigEndian}, []byte{1, 2, 3}, 0x010203, 0x010203},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.unsigned, endian.Uint(tt.order, tt.bytes))
			assert.Equal(t, tt.signed, endian.Int(tt.order, tt.bytes))
			b := make([]byte, len(tt.bytes))
			endian.PutUint(tt.order, b, tt.unsigned)
			assert.Equal(t, tt.bytes, b)
			endian.PutUint(tt.order, b, uint64(tt.signed))
			assert.Equal(t, tt.bytes, b)
		})
	}
}

// Fields of 128 bits hold numbers of 64: the rest is zero, wherever the order has it.
func TestMoreThanEightBytes(t *testing.T) {
	const v = uint64(0x0102030405060708)
	for order, want := range map[binary.ByteOrder][]byte{
		binary.LittleEndian: {8, 7, 6, 5, 4, 3, 2, 1, 0, 0},
		binary.BigEndian:    {0, 0, 1, 2, 3, 4, 5, 6, 7, 8},
	} {
		b := []byte{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}
		endian.PutUint(order, b, v)
		assert.Equal(t, want, b)
		assert.Equal(t, v, endian.Uint(order, b))
	}
}

// own is big-endian, and not binary.BigEndian.
type own struct{ binary.ByteOrder }

func TestIsBig(t *testing.T) {
	assert.True(t, endian.IsBig(binary.BigEndian))
	assert.True(t, endian.IsBig(own{binary.BigEndian}))
	assert.False(t, endian.IsBig(binary.LittleEndian))
	assert.Zero(t, testing.AllocsPerRun(10, func() { endian.IsBig(binary.BigEndian) }))
}

func TestBits(t *testing.T) {
	tests := map[string]struct {
		order binary.ByteOrder
		off   uint64
		width uint32
		v     uint64
		bytes []byte // of three that were 0xff
	}{
		"within a byte, little": {binary.LittleEndian, 1, 3, 0b010, []byte{0b11110101, 0xff, 0xff}},
		"within a byte, big":    {binary.BigEndian, 1, 3, 0b010, []byte{0b10101111, 0xff, 0xff}},
		"over bytes, little":    {binary.LittleEndian, 6, 12, 0x123, []byte{0xff, 0x48, 0xfc}},
		"over bytes, big":       {binary.BigEndian, 6, 12, 0x123, []byte{0xfc, 0x48, 0xff}},
		"whole bytes, little":   {binary.LittleEndian, 8, 16, 0x1234, []byte{0xff, 0x34, 0x12}},
		"whole bytes, big":      {binary.BigEndian, 8, 16, 0x1234, []byte{0xff, 0x12, 0x34}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := []byte{0xff, 0xff, 0xff}
			endian.PutBits(tt.order, b, tt.off, tt.width, tt.v)
			assert.Equal(t, tt.bytes, b)
			assert.Equal(t, tt.v, endian.Bits(tt.order, b, tt.off, tt.width))
		})
	}
}
