package packet

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

// frame is Ethernet, a VLAN tag (5, priority 3), IPv4 (TTL 63), TCP (SYN and ACK) and "hi".
const frame = "020000000001020000000002" + "81006005" + "0800" + "4500002a123440003f06fd46c0000201c6336402" +
	"303900500000000100000002" + "5012faf0" + "00000000" + "6869"

func TestFieldsAreFoundByPath(t *testing.T) {
	p := unhex(t, frame)
	h := Decode(p, Ethernet)
	assert.Equal(t, "eth/vlan/ip/tcp/payload", h.String())
	assert.Empty(t, h.Cut)
	for _, c := range []struct {
		path      string
		off, bits int
		text      string
	}{
		{"eth.dst", 0, 48, "02:00:00:00:00:01"},
		{"eth.type", 12, 16, "vlan"},
		{"vlan.pcp", 14, 3, "3"},
		{"vlan.id", 14, 12, "5"},
		{"vlan.type", 16, 16, "ip"},
		{"ip.version", 18, 4, "4"},
		{"ip.df", 24, 1, "1"},
		{"ip.ttl", 26, 8, "63"},
		{"ipv4.proto", 27, 8, "tcp"},
		{"ip.csum", 28, 16, "0xfd46"},
		{"ip.src", 30, 32, "192.0.2.1"},
		{"tcp.dport", 40, 16, "80"},
		{"tcp.doff", 50, 4, "5"},
		{"tcp.flags", 51, 8, "SA"},
		{"payload", 58, 16, "'hi'"},
	} {
		f, err := h.Field(p, c.path)
		require.NoError(t, err, c.path)
		assert.Equal(t, c.off, f.Off, c.path)
		assert.Equal(t, c.bits, f.Bits, c.path)
		assert.Equal(t, c.text, f.Text(p), c.path)
		raw, err := f.Parse(c.text)
		require.NoError(t, err, c.path)
		assert.Equal(t, f.Raw(p), raw, "%s is read back", c.path)
	}
}

func TestFieldsAreAssigned(t *testing.T) {
	for _, c := range []struct {
		path, text string
		value      uint64
	}{
		{"ip.ttl", "7", 7}, {"vlan.id", "4095", 4095}, {"vlan.pcp", "7", 7}, {"ip.frag", "0x1fff", 0x1fff}, {"ip.df", "0", 0}, {"tcp.dport", "443", 443},
		{"tcp.seq", "0xdeadbeef", 0xdeadbeef}, {"tcp.flags", "fp", 9}, {"ip.proto", "udp", 17}, {"eth.dst", "ff:ff:ff:ff:ff:ff", 1<<48 - 1}, {"ip.src", "10.0.0.1", 0x0a000001},
	} {
		p := unhex(t, frame)
		was := Decode(p, Ethernet)
		f, err := was.Field(p, c.path)
		require.NoError(t, err)
		raw, err := f.Parse(c.text)
		require.NoError(t, err)
		f.PutRaw(p, raw)
		assert.Equal(t, c.value, f.Get(p), c.path)
		byNumber := unhex(t, frame)
		f.Put(byNumber, c.value)
		assert.Equal(t, p, byNumber, "%s: both ways", c.path)
		// No other bit changed.
		f.Put(p, f.Get(unhex(t, frame)))
		assert.Equal(t, unhex(t, frame), p, c.path)
	}
}

func TestPathsThatLeadNowhere(t *testing.T) {
	p := unhex(t, frame)
	h := Decode(p, Ethernet)
	for _, c := range []struct {
		path    string
		unknown bool
		nearest []string
	}{
		{"ip.tll", true, []string{"ttl", "tos"}}, {"udp.dport", false, nil}, {"ipp.ttl", true, nil}, {"ip[1].ttl", false, nil}, {"ip[x].ttl", true, nil},
		{"payload.x", true, nil}, {"tcp.options", false, nil}, {"", true, nil}, {"ip[-1]", true, nil},
	} {
		_, err := h.Field(p, c.path)
		var pe *PathError
		require.ErrorAs(t, err, &pe, c.path)
		assert.Equal(t, c.unknown, pe.Unknown, c.path)
		if c.nearest != nil {
			assert.Subset(t, pe.Nearest, c.nearest[:1], c.path)
		}
	}
}

func TestValuesThatDoNotFit(t *testing.T) {
	p := unhex(t, frame)
	h := Decode(p, Ethernet)
	for path, text := range map[string]string{
		"ip.ttl": "256", "vlan.id": "4096", "ip.src": "10.0.0", "eth.dst": "1:2:3", "tcp.flags": "SX", "ip.proto": "tcpp", "payload": "'x'", "ip.len": "-1", "ip.dst": "::1",
	} {
		f, err := h.Field(p, path)
		require.NoError(t, err)
		_, err = f.Parse(text)
		assert.Error(t, err, path)
	}
}

func TestHeadersThePacketIsTooShortFor(t *testing.T) {
	whole := unhex(t, frame)
	for _, c := range []struct {
		n           int
		layers, cut string
	}{
		{0, "empty", "eth header at byte 0: 0 of 14 bytes"},
		{13, "payload", "eth header at byte 0: 13 of 14 bytes"},
		{14, "eth", "vlan header at byte 14: 0 of 4 bytes"},
		{30, "eth/vlan/payload", "ip header at byte 18: 12 of 20 bytes"},
		{50, "eth/vlan/ip/payload", "tcp header at byte 38: 12 of 20 bytes"},
	} {
		h := Decode(whole[:c.n], Ethernet)
		assert.Equal(t, c.layers, h.String())
		assert.Equal(t, c.cut, h.Cut)
	}
	lying := unhex(t, frame)
	lying[18] = 0x41
	assert.Contains(t, Decode(lying, Ethernet).Cut, "its length field is 4 bytes")
}

func TestPacketsOfLayer3AndTrailers(t *testing.T) {
	p := unhex(t, frame)[18:]
	assert.Equal(t, "ip/tcp/payload", Decode(p, Network).String())
	padded := append(unhex(t, frame), 0, 0, 0)
	h := Decode(padded, Ethernet)
	assert.Equal(t, "eth/vlan/ip/tcp/payload/trailer", h.String())
	l, ok := h.Layer("trailer")
	require.True(t, ok)
	assert.Equal(t, 3, l.Len)
}
