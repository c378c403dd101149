package btf

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAddressesInNetworkOrder: what the kernel calls __be32 takes an IPv4 address, whose bytes come in order on every machine.
func TestAddressesInNetworkOrder(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := NewBuilder(nil)
		u32 := b.Int("unsigned int", 4, 0)
		be32 := b.Add(Type{Kind: KindTypedef, Name: "__be32", Ref: u32})
		ours := b.Mod(KindConst, "", b.Add(Type{Kind: KindTypedef, Name: "address", Ref: be32}))
		key := b.Struct("key", 8, Member{Name: "src", Type: ours}, Member{Name: "n", Type: u32, BitOffset: 32})
		s, err := b.Spec(order)
		require.NoError(t, err)
		got := make([]byte, 8)
		require.NoError(t, s.EncodeText(key, "{src = 10.0.0.7, n = 1}", got))
		assert.Equal(t, []byte{10, 0, 0, 7}, got[:4])
		require.NoError(t, s.EncodeText(be32, "1", got[:4]))
		assert.EqualValues(t, 1, order.Uint32(got))
		order.PutUint32(got[4:], 1)
		copy(got, []byte{10, 0, 0, 7})
		assert.Equal(t, "{src = 10.0.0.7, n = 1}", s.FormatString(key, got))
		assert.Error(t, s.EncodeText(be32, "::1", got[:4]))
		assert.ErrorContains(t, s.EncodeText(u32, "10.0.0.7", got[:4]), "neither a number nor an enumerator")
	}
}

// TestPortsInNetworkOrder: a __be16 is shown as what htons makes of a number, and taken so.
func TestPortsInNetworkOrder(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := NewBuilder(nil)
		u16 := b.Int("unsigned short", 2, 0)
		be16 := b.Add(Type{Kind: KindTypedef, Name: "__be16", Ref: u16})
		index := b.Int("unsigned int", 4, 0)
		ports := b.Array(be16, index, 2)
		s, err := b.Spec(order)
		require.NoError(t, err)
		assert.Equal(t, "htons(53)", s.FormatString(be16, []byte{0, 53}))
		assert.Equal(t, "0", s.FormatString(be16, []byte{0, 0}))
		assert.Equal(t, "[htons(8080), htons(53)]", s.FormatString(ports, []byte{0x1f, 0x90, 0, 53}))
		assert.EqualValues(t, order.Uint16([]byte{0, 53}), s.FormatJSON(be16, []byte{0, 53}), "JSON has the number as it lies in memory")
		got := make([]byte, 4)
		require.NoError(t, s.EncodeText(ports, "[htons(8080), htons(0x35)]", got))
		assert.Equal(t, []byte{0x1f, 0x90, 0, 53}, got)
		for _, bad := range []string{"htons(", "htons(53", "htons(65536)", "htons(x)", "htons()"} {
			assert.Error(t, s.EncodeText(be16, bad, got[:2]), bad)
		}
		assert.Error(t, s.EncodeText(u16, "htons(53)", got[:2]))
	}
}
