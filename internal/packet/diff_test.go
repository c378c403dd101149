package packet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDifferencesOfPackets(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"eth/ip/tcp", "eth/ip/tcp", ""},
		{"eth/ip(ttl=64)/tcp", "eth/ip(ttl=63)/tcp", "ip.ttl 64 -> 63, ip.csum fixed"},
		{"eth/ip(ttl=64)/udp", "eth/ip(ttl=63,csum=0xfc58)/udp", "ip.ttl 64 -> 63, ip.csum broken: 0xfc58, right is 0x3d66"},
		{"eth/ip(dst=10.0.0.1)/tcp/'abc'", "eth/ip(dst=10.0.0.2)/tcp/'abc'", "ip.dst 10.0.0.1 -> 10.0.0.2, ip.csum fixed, tcp.csum fixed"},
		{"eth/ip/tcp", "eth/vlan(id=5)/ip/tcp", "eth.type ip -> vlan, vlan(id=5) inserted"},
		{"eth/qinq(id=7)/vlan(id=5)/ip/tcp", "eth/vlan(id=5)/ip/tcp", "eth.type qinq -> vlan, qinq(id=7) removed"},
		{"eth/ip(src=10.0.0.1)/udp/'x'", "eth/ip(src=1.1.1.1)/ip(src=10.0.0.1)/udp/'x'", "ip(src=1.1.1.1,dst=198.51.100.2) inserted"},
		{"eth/ip/tcp/'hello world'", "eth/ip/tcp/'hellO wOrld'", "tcp.csum fixed, payload[4:8] 'o wo' -> 'O wO'"},
		{"eth/ip/tcp/'abcd'", "eth/ip/tcp/'abcdef'", "ip.len 44 -> 46, ip.csum fixed, tcp.csum fixed, payload 4 bytes -> 6 bytes"},
		{"eth/ip/tcp(csum=bad)/'abcd'", "eth/ip/tcp(csum=bad)/'abce'", "tcp.csum 0x8633 -> 0x8630, payload[3:4] 'd' -> 'e'"},
		{"eth(dst=02:00:00:00:00:01)/ip/tcp", "eth(dst=02:00:00:00:00:09)/ip/tcp", "eth.dst 02:00:00:00:00:01 -> 02:00:00:00:00:09"},
		{"eth/ip/tcp", "eth/ip/tcp(options=0x01010101)", "ip.len 40 -> 44, ip.csum fixed, tcp.doff 5 -> 6, tcp.options none -> 0x01010101, tcp.csum fixed"},
		{"eth/ip/tcp", "eth/ip/udp", "ip.len 40 -> 28, ip.proto tcp -> udp, ip.csum fixed, tcp(sport=12345,dport=80) removed, udp(sport=12345,dport=53) inserted"},
	} {
		a, err := Parse(c.before)
		require.NoError(t, err)
		b, err := Parse(c.after)
		require.NoError(t, err)
		assert.Equal(t, c.want, Summary(Diff(a, b, Ethernet)), "%s\n%s", c.before, c.after)
	}
}

func TestDifferencesOfShortPackets(t *testing.T) {
	a, err := Parse("eth/ip/tcp")
	require.NoError(t, err)
	for n := range len(a) {
		assert.NotEmpty(t, Diff(a, a[:n], Ethernet), n)
		assert.NotEmpty(t, Diff(a[:n], a, Ethernet), n)
		_ = Describe(a[:n], Ethernet)
	}
}

func TestManyDifferentRangesAreCut(t *testing.T) {
	a := make([]byte, 400)
	b := make([]byte, 400)
	for i := 20; i < 400; i += 10 {
		b[i] = 1
	}
	changes := Diff(a, b, Ethernet)
	assert.Len(t, changes, shown+1)
}
