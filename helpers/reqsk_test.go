package helpers

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func TestRequestsFromCookies(t *testing.T) {
	r := newestRig(t)
	_, listener := r.open("listener", net.SockSpec{State: 10, SourcePort: 80})
	_, conn := r.open("connection", net.SockSpec{SourcePort: 81, DestPort: 5})
	attrs := func(mss uint16, at ...byte) uint64 {
		b := make([]byte, 20)
		binary.LittleEndian.PutUint32(b, 77)
		binary.LittleEndian.PutUint16(b[8:], mss)
		for i := 0; i < len(at); i += 2 {
			b[at[i]] = at[i+1]
		}
		return r.alloc(b)
	}
	assign := func(c *hook.Context, sk *net.Socket, attrs, size uint64) uint64 {
		return r.kok("bpf_sk_assign_tcp_reqsk", c.Addr, sk.FullAddr(), attrs, size)
	}
	refused := uint64(uint32(neg(uapi.EINVAL)))
	c := r.context(tc, hook.ContextSpec{Attach: uapi.AttachTcxEgress})
	assert.Equal(t, refused, assign(c, listener, attrs(1460), 20), "not at ingress")
	c = r.context(tc, hook.ContextSpec{Attach: uapi.AttachTcxIngress})
	for name, got := range map[string]uint64{
		"size":         assign(c, listener, attrs(1460), 19),
		"reserved":     assign(c, listener, attrs(1460, 19, 1), 20),
		"no listener":  assign(c, conn, attrs(1460), 20),
		"mss":          assign(c, listener, attrs(535), 20),
		"window scale": assign(c, listener, attrs(536, 13, 1, 11, 15), 20),
	} {
		assert.Equal(t, refused, got, name)
	}
	assert.Zero(t, assign(c, listener, attrs(536, 13, 1, 11, 14, 10, 3, 14, 1), 20))
	sk, _ := c.Field("sk")
	request := r.kernel.SocketAt(sk)
	require.NotNil(t, request)
	assert.EqualValues(t, tcpNewSynRecv, request.State())
	o, err := request.Object()
	require.NoError(t, err)
	req := r.kernel.ObjectAt(o.Base())
	for path, want := range map[string]uint64{"req.req.mss": 536, "req.req.ts_recent": 77, "req.req.syncookie": 1, "req.snd_wscale": 14, "req.rcv_wscale": 3, "req.sack_ok": 1, "req.wscale_ok": 1, "req.ecn_ok": 0, "req.tstamp_ok": 0, "ts_off": 0} {
		got, err := req.Uint(path)
		require.NoError(t, err, path)
		assert.Equal(t, want, got, path)
	}
	require.Len(t, r.env.Run.Events, 1)
	assert.Equal(t, SkAssign, r.env.Run.Events[0].Kind)
	_, f := r.kfunc("bpf_sk_assign_tcp_reqsk", c.Addr, r.space(8), attrs(1460), 20)
	assert.NotNil(t, f, "of no socket")
}
