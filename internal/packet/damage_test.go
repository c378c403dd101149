package packet

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDamages: only what was right and is wrong counts, and what a program adds wrong.
func TestDamages(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"eth/ip/tcp", "eth/ip/tcp", "[]"},
		{"eth/ip(ttl=64)/tcp", "eth/ip(ttl=63)/tcp", "[]"},
		{"eth/ip(ttl=64)/udp", "eth/ip(ttl=63,csum=0xfc58)/udp", "[ip.csum is 0xfc58, right is 0x3d66]"},
		{"eth/ip(ttl=64,csum=1)/udp", "eth/ip(ttl=63,csum=1)/udp", "[]"},
		{"eth/ip/tcp/'abcd'", "eth/ip/tcp(csum=bad)/'abce'", "[tcp.csum is 0x8630, right is 0xd365]"},
		{"eth/ip/udp/'abcd'", "eth/ip/udp(csum=0)/'abce'", "[]"},
		{"eth/ip/icmp/'abcd'", "eth/ip/icmp(type=0,csum=bad)/'abcd'", "[icmp.csum is 0x6e62, right is 0x3b37]"},
		{"eth/ip/tcp", "eth/vlan(id=5)/ip/tcp", "[]"},
		{"eth/ip(src=10.0.0.1)/udp/'x'", "eth/ip(src=1.1.1.1,csum=bad)/ip(src=10.0.0.1)/udp/'x'", "[ip.csum is 0xa908, right is 0xfc5d]"},
		{"eth/ip/udp/'0123456789012345678901234567890123456789'", "eth/ip(len=90)/udp(len=48)/'0123456789012345678901234567890123456789'", "[ip.len is 90, right is 68]"},
		{"eth/ip/udp/'0123456789012345678901234567890123456789'", "eth/ip/udp(len=20)/'0123456789012345678901234567890123456789'", "[udp.len is 20, right is 48]"},
		{"eth/ip(len=90)/udp/'0123456789012345678901234567890123456789'", "eth/ip(len=90,ttl=3)/udp/'0123456789012345678901234567890123456789'", "[]"},
		{"eth/ip6/udp/'0123456789'", "eth/ip6(len=99)/udp/'0123456789'", "[ip6.len is 99, right is 18]"},
		{"eth/ip(version=15,csum=1)/0x45000020123440004011111ac0000201c63364023039003500080000", "eth/0x45000020123440004011111ac0000201c63364023039003500080000", "[]"},
		{"eth/ip(len=30)/udp/'0123456789012345678901234567890123456789'", "eth/ip(src=1.1.1.1,len=50)/ip(len=30)/udp/'0123456789012345678901234567890123456789'", "[]"},
		{"eth/ip(len=48)/ip(len=28)/udp(len=8)/'0123456789012345678901234567890123456789'", "eth/ip(len=28)/udp(len=8)/'0123456789012345678901234567890123456789'", "[]"},
		{"eth/ip(mf=1)/udp(len=99)/'0123456789'", "eth/ip(mf=1)/udp(len=98)/'0123456789'", "[]"},
	} {
		a, err := Parse(c.before)
		require.NoError(t, err)
		b, err := Parse(c.after)
		require.NoError(t, err)
		assert.Equal(t, c.want, fmt.Sprint(Damages(a, b, Ethernet)), "%s\n%s", c.before, c.after)
	}
}

// TestPaddingIsNoDamage: short frames arrive padded, and a program may leave the padding, cut it or
// add it.
func TestPaddingIsNoDamage(t *testing.T) {
	bare, err := Parse("eth/ip/udp/'x'")
	require.NoError(t, err)
	padded := append(append([]byte{}, bare...), make([]byte, leastFrame-len(bare))...)
	longer := append(append([]byte{}, padded...), make([]byte, 8)...)
	assert.Empty(t, Damages(bare, padded, Ethernet))
	assert.Empty(t, Damages(padded, bare, Ethernet))
	assert.Equal(t, "[ip.len is 29, right is 54]", fmt.Sprint(Damages(padded, longer, Ethernet)))
	cut := Damages(bare, bare[:len(bare)-1], Ethernet)
	assert.Equal(t, "[ip.len is 29, right is 28 udp.len is 9, right is 8]", fmt.Sprint(cut))
}

// FuzzDamages: no packet makes it panic, and what is equal has no damage.
func FuzzDamages(f *testing.F) {
	for _, s := range []string{"eth/ip/udp/vxlan/eth/ip6/tcp", "eth/ip/ip6/udp/'x'", "eth/ip6/frag/udp"} {
		p, err := Parse(s)
		require.NoError(f, err)
		f.Add(p, p[:len(p)-3])
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, start := range []Start{Ethernet, Network} {
			assert.Empty(t, Damages(a, a, start))
			for _, d := range Damages(a, b, start) {
				assert.NotEqual(t, d.Got, d.Want)
			}
		}
	})
}
