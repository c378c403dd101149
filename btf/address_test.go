package btf

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAddressesInNetworkOrder: what the kernel calls __be32 takes an IPv4 address, whose bytes come
// in order on every machine.
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
		assert.ErrorContains(t, s.EncodeText(u32, "10.0.0.7", got[:4]), "does not say in which byte order a number holds it: write htonl(0x0a000007), or 0x0a000007 for the host's")
		require.NoError(t, s.EncodeText(u32, "htonl(0x0a000007)", got[:4]))
		assert.Equal(t, []byte{10, 0, 0, 7}, got[:4])
		require.NoError(t, s.EncodeText(u32, "htons(80)", got[:4]), "a port in a wider field")
		assert.EqualValues(t, order.Uint16([]byte{0, 80}), order.Uint32(got))
		assert.Error(t, s.EncodeText(be32, "htons(80)", got[:4]))
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
		require.NoError(t, s.EncodeText(u16, "htons(53)", got[:2]), "a program's own type")
		assert.Equal(t, []byte{0, 53}, got[:2])
		assert.Error(t, s.EncodeText(u16, "htonl(53)", got[:2]))
	}
}

// TestIPv6Addresses: a struct in6_addr is shown as the address and takes it, as do four words; its
// members are still there.
func TestIPv6Addresses(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := NewBuilder(nil)
		u8, u32 := b.Int("unsigned char", 1, 0), b.Int("unsigned int", 4, 0)
		be32 := b.Add(Type{Kind: KindTypedef, Name: "__be32", Ref: u32})
		union := b.Union("", 16, Member{Name: "u6_addr8", Type: b.Array(u8, u32, 16)}, Member{Name: "u6_addr32", Type: b.Array(be32, u32, 4)})
		in6 := b.Struct("in6_addr", 16, Member{Name: "in6_u", Type: union})
		ours := b.Mod(KindConst, "", b.Add(Type{Kind: KindTypedef, Name: "address", Ref: in6}))
		key := b.Struct("key", 36, Member{Name: "n", Type: u32}, Member{Name: "src", Type: ours, BitOffset: 32}, Member{Name: "words", Type: b.Array(u32, u32, 4), BitOffset: 160})
		wrapped := b.Struct("wrapped", 16, Member{Name: "a", Type: in6})
		other := b.Struct("other", 16, Member{Name: "in6_u", Type: union})
		s, err := b.Spec(order)
		require.NoError(t, err)
		for _, text := range []string{"2001:db8::1", "::", "::1", "fe80::", "::ffff:10.0.0.1", "1:2:3:4:5:6:7:8"} {
			got := make([]byte, 36)
			require.NoError(t, s.EncodeText(key, "{n = 1, src = "+text+", words = "+text+"}", got), text)
			want := netip.MustParseAddr(text).As16()
			assert.Equal(t, want[:], got[4:20])
			assert.Equal(t, want[:], got[20:], "the address's bytes, in every order")
			assert.Equal(t, text, s.FormatString(ours, got[4:20]))
			back := make([]byte, 16)
			require.NoError(t, s.EncodeText(wrapped, text, back))
			assert.Equal(t, want[:], back)
			v, err := s.DecodeValue(in6, back, DecodeOptions{})
			require.NoError(t, err)
			clear(back)
			require.NoError(t, s.EncodeValue(in6, v, back))
			assert.Equal(t, want[:], back)
			assert.Equal(t, text, s.FormatJSON(in6, back))
		}
		got := make([]byte, 16)
		require.NoError(t, s.EncodeText(in6, "{in6_u.u6_addr32 = [10.0.0.1, 0, 0, htonl(7)]}", got))
		assert.Equal(t, "a00:1::7", s.FormatString(in6, got))
		assert.Contains(t, s.FormatString(in6, got[:15]), "<missing>")
		assert.Contains(t, s.FormatString(other, got), "u6_addr8", "another struct of that shape")
		for _, bad := range []string{"10.0.0.1", "fe80::1%eth0", "2001:db8::1/64", "1:2", "x"} {
			assert.ErrorContains(t, s.EncodeText(in6, bad, got), "is not an IPv6 address", bad)
		}
		assert.Error(t, s.EncodeText(other, "::1", got))
	}
}
