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
		assert.Error(t, s.EncodeText(be32, "::1", got[:4]))
		assert.ErrorContains(t, s.EncodeText(u32, "10.0.0.7", got[:4]), "neither a number nor an enumerator")
	}
}
