package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func replace(text, old, with string) string { return strings.ReplaceAll(text, old, with) }

// onObject opens a scenario for a test object on the embedded kernel.
func onObject(t testing.TB, name, text string) (*Runner, error) {
	t.Helper()
	f, err := Parse("s.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	obj, err := loader.Open("../../testdata/objects/clang-14/" + name + ".o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	r, err := Open(f, obj, loader.NewTarget(embedded.Name, spec), Options{Config: machine.Config{Seed: 1}})
	if err == nil {
		t.Cleanup(r.Close)
	}
	return r, err
}

// onPackets opens a scenario for the test object whose programs change packets.
func onPackets(t *testing.T, dir, text string) (*Runner, error) {
	t.Helper()
	f, err := Parse(filepath.Join(dir, "s.yaml"), []byte(text))
	if err != nil {
		return nil, err
	}
	obj, err := loader.Open("../../testdata/objects/clang-14/packets.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	r, err := Open(f, obj, loader.NewTarget(embedded.Name, spec), Options{Config: machine.Config{Seed: 1}})
	if err == nil {
		t.Cleanup(r.Close)
	}
	return r, err
}

func writeCapture(t *testing.T, dir string) {
	t.Helper()
	w, err := packet.Create(filepath.Join(dir, "in.pcapng"))
	require.NoError(t, err)
	for i, expr := range []string{"eth/ip/tcp", "eth/ip/udp/'x'*100", "eth/arp"} {
		p, err := packet.Parse(expr)
		require.NoError(t, err)
		require.NoError(t, w.Write(packet.Captured{Data: p, Wire: len(p), Time: time.Unix(int64(i), 0)}, p, packet.Verdict{}))
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "raw.bin"), make([]byte, 20), 0o600))
}

func TestTheDefaultPacketIsAnExpression(t *testing.T) {
	p, err := packet.Parse("eth/ip/tcp(flags=SA)/'0123456789'")
	require.NoError(t, err)
	assert.Equal(t, net.DefaultPacket(), p)
}

func TestPacketsAreExpected(t *testing.T) {
	dir := t.TempDir()
	writeCapture(t, dir)
	const in = "prog: truncate, packet: \"eth/ip(ttl=9)/udp(dport=53)/'x'*100\""
	for _, c := range []struct{ run, expect, want string }{
		{in, "{packet: {ip.ttl: 9, udp.dport: 53, ip.csum: right, len: 60, ip: {src: 192.0.2.1, proto: udp}, vlan: null, payload: !any x}}", ""},
		{in, "{packet: {ip.ttl: 10}}", "packet.ip.ttl: want 10, got 9"},
		{in, "{packet: {ip.ttl: !gt 8, udp.dport: !ne 80}}", ""},
		{in, "{packet: {ip.ttl: !lt 8}}", "packet.ip.ttl: want !lt 8, got 9"},
		{in, "{packet: {ip.csum: wrong}}", "packet.ip.csum: want wrong (0x7302), got 0x7302"},
		{in, "{packet: {payload: xxxxxxxxxxxxxxxxxx}}", ""},
		{in, "{packet: {payload: '0x7878'}}", "packet.payload: want 0x7878, got 'xxxxxxxxxxxxxxxxxx'"},
		{in, "{packet: {vlan.id: 5, len: 61}}", "packet.vlan.id: want \"5\", got no such bytes: the packet is eth/ip/udp/payload\npacket.len: want 61, got 60"},
		{in, "{packet: {eth: null}}", "packet.eth: want nothing, got 0x0200000000010200000000020800"},
		{in, "{packet: unchanged}", "packet.payload: want 100 bytes, got 18 bytes"},
		{"prog: truncate, packet: eth/ip/tcp", "{packet: unchanged, ret: XDP_PASS}", ""},
		{"prog: truncate, packet: eth/ip/tcp", "{packet: eth/ip(ttl=3)/tcp}", "packet.ip.ttl: want 3, got 64\npacket.ip.csum fixed"},
		{"prog: encapsulate, packet: eth/ip/tcp", "{ret: XDP_TX, packet: {'ip[1].ttl': 64, ip.proto: ipip, ip.csum: right}}", ""},
		{"prog: encapsulate, packet: eth/ip/tcp", "{packet: unchanged}", "packet.ip: want no such layer, got ip(src=192.0.2.1,dst=198.51.100.1)"},
		{"prog: truncate, packet: '@in.pcapng#2'", "{packet: {payload: !hex '787878787878787878787878787878787878'}}", ""},
		{"prog: truncate, packet: '@raw.bin'", "{packet: {len: 20}}", ""},
		{"prog: truncate, pcap: in.pcapng", "{ret: {XDP_PASS: 3}}", ""},
		{"prog: truncate, pcap: in.pcapng", "{ret: XDP_PASS}", ""},
		{"prog: truncate, pcap: in.pcapng", "{ret: XDP_DROP}", "ret: want XDP_DROP for every packet, got XDP_PASS for 3"},
		{"prog: truncate, pcap: in.pcapng", "{ret: {XDP_DROP: 1, XDP_PASS: 2}}", "ret XDP_DROP: want 1, got 0\nret XDP_PASS: want 2, got 3"},
		{"prog: truncate, pcap: in.pcapng", "{ret: {XDP_DROP: 0}}", "ret: want only what is named, got XDP_PASS for 3"},
		{"prog: truncate, pcap: in.pcapng", "{helpers: {bpf_xdp_adjust_tail: 1}}", ""},
	} {
		r, err := onPackets(t, dir, "runs: [{name: r, "+c.run+", expect: "+c.expect+"}]")
		require.NoError(t, err, "%s %s", c.run, c.expect)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err)
		got := failures(results[0])
		if strings.HasSuffix(c.want, "fixed") { // a checksum that is another but right
			assert.Contains(t, got, "packet.ip.ttl: want 3, got 64")
			continue
		}
		assert.Equal(t, c.want, got, "%s %s", c.run, c.expect)
	}
}

func TestMistakesAboutPackets(t *testing.T) {
	dir := t.TempDir()
	writeCapture(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.pcap"), []byte("no capture"), 0o600))
	for _, c := range []struct{ run, want string }{
		{"prog: truncate, packet: eth/ipp", `packet: no such layer: "ipp"; there are eth, vlan,`},
		{"prog: truncate, packet: [1]", "packet: want an expression such as"},
		{"prog: truncate, packet: '@absent'", "no such file"},
		{"prog: truncate, packet: '@in.pcapng#9'", "has no packet 9: it has 3"},
		{"prog: truncate, packet: 0102", "a packet of 2 bytes is too short"},
		{"prog: truncate, packet: eth/zero(4000)", "is too long: xdp programs take at most 3520"},
		{"prog: truncate, packet: eth, pcap: in.pcapng", "pcap cannot be combined with packet"},
		{"prog: truncate, pcap: in.pcapng, repeat: 2", "pcap cannot be combined with repeat"},
		{"prog: truncate, pcap: bad.pcap", "not a pcap or pcapng file"},
		{"prog: truncate, pcap: absent", "no such file"},
		{"prog: truncate, expect: {packet: {ip.tll: 3}}", `packet.ip.tll: ip has no field "tll"; its fields: version, ihl,`},
		{"prog: truncate, expect: {packet: {ip.ttl: 300}}", "packet.ip.ttl: 300 does not fit into the 8 bits of ip.ttl"},
		{"prog: truncate, expect: {packet: {ip.src: x}}", "packet.ip.src: want an IPv4 address"},
		{"prog: truncate, expect: {packet: {ip.ttl: [1]}}", "packet.ip.ttl: want a value, got a list"},
		{"prog: truncate, expect: {packet: {ip.ttl: !match x}}", "packet.ip.ttl: !match does not fit here"},
		{"prog: truncate, expect: {packet: nonsense}", `packet: no such layer: "nonsense"`},
		{"prog: truncate, expect: {ret: {XDP_PASS: 1}}", "need a run with pcap"},
		{"prog: truncate, pcap: in.pcapng, expect: {packet: {ip.ttl: 3}}", "packet: not possible with pcap"},
		{"prog: truncate, pcap: in.pcapng, expect: {ret: {XDP_PAS: 3}}", "ret: \"XDP_PAS\" is neither"},
	} {
		_, err := onPackets(t, dir, "runs: [{"+c.run+"}]")
		var e *grammar.Error
		require.ErrorAs(t, err, &e, c.run)
		assert.Contains(t, err.Error(), c.want, c.run)
	}
}
