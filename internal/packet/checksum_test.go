package packet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMendMakesSumsRight: checksums are right after a change, and those that are to stay do.
func TestMendMakesSumsRight(t *testing.T) {
	none := func(int, int) bool { return false }
	for _, expr := range []string{"eth/ip/tcp/'x'", "eth/ip/udp/'question'", "eth/ip6/tcp", "eth/ip/icmp"} {
		want, err := Parse(expr)
		require.NoError(t, err)
		p := append([]byte(nil), want...)
		for i := range Decode(want, Ethernet).Layers {
			l := Decode(want, Ethernet).Layers[i]
			if f, ok := l.Field(p, "csum"); ok {
				f.Put(p, 0x1234)
			}
		}
		Mend(p, Ethernet, none)
		assert.Equal(t, want, p, expr)
		p[14+10] ^= 1
		kept := append([]byte(nil), p...)
		Mend(p, Ethernet, func(int, int) bool { return true })
		assert.Equal(t, kept, p, expr)
	}
}
