package packet

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/ceiling"
)

func TestExpressionsMakePackets(t *testing.T) {
	const macs = "020000000001020000000002"
	for _, c := range []struct{ expr, want string }{
		// The packet that programs get when nobody gives one.
		{"eth/ip/tcp(flags=SA)/'0123456789'", "0200000000010200000000020800450000321234400040063c5bc0000201c63364023039005000000000000000005012faf0930d000030313233343536373839"},
		{"eth(dst=ff:ff:ff:ff:ff:ff,src=02:00:00:00:00:0a,type=0x1234)/0xdead", "ffffffffffff02000000000a1234dead"},
		{"eth/vlan(id=5,pcp=3)/vlan(id=6)/0x00", macs + "81006005" + "81000006" + "88b500"},
		{"eth/qinq(id=2)/vlan(id=1)/arp", macs + "88a80002" + "81000001" + "0806" + "0001080006040001020000000002c0000201000000000000c6336402"},
		{"eth/ip(src=10.0.0.1,ttl=63,len=20)/pad(40)", macs + "0800" + "45000014123440003ffdf4820a000001c6336402" + "000000000000"},
	} {
		p, err := Parse(c.expr)
		require.NoError(t, err, c.expr)
		assert.Equal(t, c.want, hex.EncodeToString(p), c.expr)
		h := Decode(p, Ethernet)
		for i := range h.Layers {
			state, want := h.Sum(p, i)
			assert.NotEqual(t, SumWrong, state, "%s: %s should be %#x", c.expr, h.Layers[i].Path(), want)
		}
	}
}

func TestChecksumsLengthsAndProtocolsFollow(t *testing.T) {
	for _, c := range []struct {
		expr, layers string
		fields       map[string]string
	}{
		{"ip/tcp(dport=80,flags=S)/'GET /'", "eth/ip/tcp/payload", map[string]string{"eth.type": "ip", "ip.proto": "tcp", "ip.len": "45", "payload": "'GET /'"}},
		{"eth/ip6/udp(dport=53)/'x'*3", "eth/ip6/udp/payload", map[string]string{"eth.type": "ip6", "ip6.next": "udp", "ip6.len": "11", "udp.len": "11", "ip6.src": "2001:db8::1"}},
		{"eth/ip/icmp", "eth/ip/icmp", map[string]string{"icmp.type": "8", "ip.len": "28"}},
		{"eth/ip6/icmpv6(type=135)/zero(16)", "eth/ip6/icmp6/payload", map[string]string{"ip6.next": "icmp6"}},
		{"eth/ip/udp/vxlan(vni=42)/eth/ip(src=10.0.0.1)/tcp", "eth/ip/udp/vxlan/eth/ip/tcp", map[string]string{"udp.dport": "4789", "vxlan.vni": "42", "ip[1].src": "10.0.0.1"}},
		{"eth/ip/udp/geneve(vni=7,options=0x0102000100000000)/eth/ip6/udp", "eth/ip/udp/geneve/eth/ip6/udp", map[string]string{"udp.dport": "6081", "geneve.optlen": "2"}},
		{"eth/ip/gre(key=5,csum=bad)/ip/icmp", "eth/ip/gre/ip/icmp", map[string]string{"gre.key": "5", "gre.flags": "0xa000", "gre.proto": "ip"}},
		{"eth/ip/gre(key=5,seq=1)/eth/arp", "eth/ip/gre/eth/arp", map[string]string{"gre.seq": "1", "gre.proto": "eth"}},
		{"eth/ip/sctp(vtag=9)/0x0100", "eth/ip/sctp/payload", map[string]string{"ip.proto": "sctp"}},
		{"eth/ip/ip/udp", "eth/ip/ip/udp", map[string]string{"ip.proto": "ipip", "ip[1].proto": "udp"}},
		{"eth/ip6/ip/udp", "eth/ip6/ip/udp", map[string]string{"ip6.next": "ipip"}},
		{"eth/ip6/hopopts/frag(id=3)/udp", "eth/ip6/hopopts/frag/udp", map[string]string{"ip6.next": "hopopts", "hopopts.next": "frag", "frag.next": "udp"}},
		{"eth/ip(options=0x01010101)/tcp(options=0x020405b4)", "eth/ip/tcp", map[string]string{"ip.ihl": "6", "tcp.doff": "6", "tcp.options": "0x020405b4", "ip.len": "48"}},
		{"eth/ip(frag=100)/0x0102", "eth/ip/payload", nil},
		{"eth/ip/icmp(type=3,code=4,mtu=1400)/ip/0x00", "eth/ip/icmp/payload", map[string]string{"icmp.mtu": "1400"}},
		{"eth / ip ( ttl = 3 ,\n tos=0x10 ) / tcp", "eth/ip/tcp", map[string]string{"ip.ttl": "3", "ip.tos": "0x10"}},
		{"eth(type=0x9999)/tcp", "eth/payload", nil},
		{"eth/ip/tcp/'a\\x00\\n\\''", "eth/ip/tcp/payload", map[string]string{"payload": "0x61000a27"}},
		{"eth/ip/udp(csum=0)/'x'", "eth/ip/udp/payload", map[string]string{"udp.csum": "0x0000"}},
		{"eth/ip/udp/pad(64)", "eth/ip/udp/trailer", map[string]string{"ip.len": "28"}},
	} {
		p, err := Parse(c.expr)
		require.NoError(t, err, c.expr)
		h := Decode(p, Ethernet)
		assert.Equal(t, c.layers, h.String(), c.expr)
		assert.Empty(t, h.Cut, c.expr)
		for path, want := range c.fields {
			f, err := h.Field(p, path)
			require.NoError(t, err, c.expr)
			assert.Equal(t, want, f.Text(p), "%s: %s", c.expr, path)
		}
		for i, l := range h.Layers {
			state, _ := h.Sum(p, i)
			wrong := strings.Contains(c.expr, "bad") && l.Name == "gre"
			assert.Equal(t, wrong, state == SumWrong, "%s: checksum of %s", c.expr, l.Path())
		}
	}
}

func TestMistakesInExpressions(t *testing.T) {
	for _, c := range []struct {
		expr    string
		col     int
		why     string
		nearest string
	}{
		{"", 1, "empty", ""},
		{"nonsense", 1, "no such layer", ""},
		{"eth/ipp", 5, "no such layer", "ip"},
		{"eth/ip(tll=3)", 8, "no field", "ttl"},
		{"eth/ip(ttl=300)", 12, "does not fit", ""},
		{"eth/ip(ttl=)", 12, "want a value", ""},
		{"eth/ip(ttl)", 8, "want FIELD=VALUE", ""},
		{"eth/ip(ttl=3", 7, "not closed", ""},
		{"eth/ip(ttl=3,ttl=4)", 14, "given twice", ""},
		{"eth/ip(src=10.0.0)", 12, "want an IPv4 address", ""},
		{"eth/ip(src=10.0.0.0.0.0.1)", 12, "want an IPv4 address", ""},
		{"eth/tcp", 5, "eth cannot carry tcp", ""},
		{"eth/ip/tcp/udp", 12, "tcp cannot carry udp", ""},
		{"eth/'x'/ip", 9, "after payload", ""},
		{"eth/ip/", 8, "after the slash", ""},
		{"eth/ip//tcp", 8, "want a layer", ""},
		{"eth ip", 5, "want / and the next layer", ""},
		{"eth/'x", 5, "no closing '", ""},
		{"eth/'\\q'", 5, "unknown escape", ""},
		{"eth/0x123", 5, "hex digits", ""},
		{"eth/zero", 9, "wants a number of bytes", ""},
		{"eth/zero(99999999)", 9, "wants a number of bytes", ""},
		{"eth/'xx'*4000000000", 10, "at most", ""},
		{"eth/ip/zero(70000)", 5, "length field", ""},
		{"eth/pad(60)/ip", 5, "pad must come last", ""},
		{"'x'", 1, "payload without a header", ""},
		{"eth/ip(options=0x" + strings.Repeat("01", 41) + ")", 16, "at most 40", ""},
		{"eth/ip/gre(flags=0,key=3)", 20, "has no key", ""},
		{"eth" + strings.Repeat("/vlan", 40), 160, "more than 32 layers", ""},
		{"eth/zero(1000000)/zero(1000000)", 19, "exceeds", ""},
		{strings.Repeat(" ", 300<<10), 1, "at most", ""},
		{"eth/\x00\xff", 5, "want a layer", ""},
	} {
		_, err := Parse(c.expr)
		var se *SyntaxError
		require.ErrorAs(t, err, &se, "%.60q", c.expr)
		assert.Equal(t, c.col, se.Col, "%.60q: %v", c.expr, err)
		assert.Contains(t, se.Why, c.why, "%.60q", c.expr)
		if c.nearest != "" {
			assert.Contains(t, se.Nearest, c.nearest, c.expr)
		}
	}
}

func TestReadTakesHexDigits(t *testing.T) {
	for _, text := range []string{"02 00:00\n00", "0x02000000", "02000000"} {
		p, err := Read(text)
		require.NoError(t, err)
		assert.Equal(t, []byte{2, 0, 0, 0}, p)
	}
	_, err := Read("0200000")
	assert.Error(t, err)
	_, err = Read("")
	assert.Error(t, err)
}

func FuzzParse(f *testing.F) {
	ceiling.Limit(f, 512<<20)
	for _, s := range []string{
		"eth/ip(src=10.0.0.1,ttl=63)/tcp(dport=80,flags=S)/'GET /'", "ip6/hopopts(options=0x0102)/frag/udp/vxlan/eth/vlan/arp", "eth/ip/gre(csum=bad,key=1)/ip6/icmp6",
		"eth/'a'*10/pad(64)", "eth/ip/sctp/zero(3)", "020000", "eth(type=ip)/0x45", "ip(ihl=15,len=3)/udp(len=1)/'x'", "eth/ip/tcp[:40]",
		"eth/zero(1048000)[:-1]", "00112233[:2]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		var p []byte
		var err error
		ceiling.Check(t, 24<<20+64*uint64(len(expr)), func() { p, err = Read(expr) })
		if err != nil {
			return
		}
		if len(p) > MaxSize {
			t.Fatalf("%d bytes", len(p))
		}
		p = p[:min(len(p), 4096)] // headers are at the start
		h := Decode(p, Ethernet)
		for i, l := range h.Layers {
			h.Sum(p, i)
			for _, x := range l.Fields(p) {
				if raw := x.Raw(p); raw != nil {
					q := append([]byte(nil), p...)
					x.PutRaw(q, raw)
					if string(q) != string(p) {
						t.Fatalf("%s changes when it is put back", x.Path())
					}
				}
				_ = x.Text(p)
			}
		}
		Diff(p, p[:len(p)/2], Ethernet)
	})
}
