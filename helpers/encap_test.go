package helpers

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestEncapsulationInUDP: the ports of a tunnel that the program set up, or that the packet came
// through.
func TestEncapsulationInUDP(t *testing.T) {
	invalid := uint64(uint32(neg(uapi.EINVAL)))
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
	ports, out := r.alloc([]byte{0x15, 0xb3, 0x15, 0xb4}), r.space(4)
	assert.Equal(t, invalid, r.kok("bpf_skb_set_fou_encap", c.Addr, ports, 0), "no tunnel")
	assert.Equal(t, invalid, r.kok("bpf_skb_get_fou_encap", c.Addr, out))
	key := r.alloc(make([]byte, tunnelSize))
	assert.Zero(t, r.ok(uapi.FuncSkbSetTunnelKey, c.Addr, key, tunnelSize, 0))
	assert.Zero(t, r.kok("bpf_skb_get_fou_encap", c.Addr, out))
	assert.Equal(t, make([]byte, 4), r.bytes(out, 4))
	assert.Zero(t, r.kok("bpf_skb_set_fou_encap", c.Addr, ports, 1))
	assert.Zero(t, r.kok("bpf_skb_get_fou_encap", c.Addr, out))
	assert.Equal(t, []byte{0x15, 0xb3, 0x15, 0xb4}, r.bytes(out, 4))

	r = newRig(t, newest)
	came := &hook.Tunnel{Remote: netip.MustParseAddr("192.0.2.9"), Local: netip.MustParseAddr("192.0.2.1"), SourcePort: 5555, DestPort: 6080}
	c = r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{NetSpec: hook.NetSpec{Tunnel: came}})
	out = r.space(4)
	assert.Zero(t, r.kok("bpf_skb_get_fou_encap", c.Addr, out))
	assert.Equal(t, []byte{5555 >> 8, 5555 & 0xff, 6080 >> 8, 6080 & 0xff}, r.bytes(out, 4))
	assert.Equal(t, invalid, r.kok("bpf_skb_set_fou_encap", c.Addr, out, 0), "the packet arrived")
}

// TestXfrmMetadata: a packet has the metadata of an XFRM interface or of a tunnel.
func TestXfrmMetadata(t *testing.T) {
	invalid := uint64(uint32(neg(uapi.EINVAL)))
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
	info, out := r.alloc([]byte{7, 0, 0, 0, 2, 0, 0, 0}), r.space(8)
	assert.Equal(t, invalid, r.kok("bpf_skb_get_xfrm_info", c.Addr, out))
	assert.Zero(t, r.kok("bpf_skb_set_xfrm_info", c.Addr, info))
	assert.Zero(t, r.kok("bpf_skb_get_xfrm_info", c.Addr, out))
	assert.Equal(t, []byte{7, 0, 0, 0, 2, 0, 0, 0}, r.bytes(out, 8))
	assert.Equal(t, invalid, r.kok("bpf_skb_set_xfrm_info", c.Addr, info), "it has metadata")
	assert.Equal(t, invalid, r.kok("bpf_skb_get_fou_encap", c.Addr, out), "of another kind")
	assert.Zero(t, r.ok(uapi.FuncSkbSetTunnelKey, c.Addr, r.alloc(make([]byte, tunnelSize)), tunnelSize, 0))
	assert.Equal(t, invalid, r.kok("bpf_skb_get_xfrm_info", c.Addr, out), "a tunnel takes its place")
	assert.Equal(t, invalid, r.kok("bpf_skb_set_xfrm_info", c.Addr, info))

	r = newRig(t, newest)
	c = r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{NetSpec: hook.NetSpec{Xfrm: &hook.Xfrm{ID: 9, Link: 3}}})
	out = r.space(8)
	assert.Zero(t, r.kok("bpf_skb_get_xfrm_info", c.Addr, out))
	assert.Equal(t, []byte{9, 0, 0, 0, 3, 0, 0, 0}, r.bytes(out, 8))
}
