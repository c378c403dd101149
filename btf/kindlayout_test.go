package btf

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWithLayout(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := NewBuilder(nil)
		number := b.Int("int", 4, IntSigned)
		b.Add(Type{Kind: KindStruct, Name: "pair", Size: 8, Members: []Member{{Name: "a", Type: number}, {Name: "b", Type: number, BitOffset: 32}}})
		raw, err := b.Marshal(order)
		require.NoError(t, err)
		got, err := WithLayout(raw)
		require.NoError(t, err)
		require.Len(t, got, len(raw)+8+20*4)
		assert.EqualValues(t, 32, order.Uint32(got[4:]))
		typeLen := order.Uint32(raw[12:])
		assert.Equal(t, typeLen, order.Uint32(got[24:]), "the layout follows the types")
		assert.Equal(t, typeLen+80, order.Uint32(got[16:]), "strings follow the layout")
		layout := got[32+typeLen:]
		assert.Equal(t, []byte{4, 0, 0, 0}, layout[4*KindInt:][:4])
		assert.Equal(t, []byte{12, 0, 0, 0}, layout[4*KindArray:][:4])
		assert.Equal(t, []byte{0, 12, 0, 0}, layout[4*KindStruct:][:4])
		assert.Equal(t, []byte{0, 12, 0, 0}, layout[4*KindEnum64:][:4])
		spec, err := Parse(got, nil)
		require.NoError(t, err)
		_, ok := spec.FindID(KindStruct, "pair")
		assert.True(t, ok)
		again, err := WithLayout(got)
		require.NoError(t, err)
		assert.Equal(t, got, again)
	}
	_, err := WithLayout([]byte("text"))
	assert.ErrorIs(t, err, ErrNotBTF)
}
