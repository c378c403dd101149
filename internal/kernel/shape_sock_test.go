package kernel

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestSocketsAgreeAsBytes: what sock_common, sock and inet_sock say of a socket is the same, and
// its queues close.
func TestSocketsAgreeAsBytes(t *testing.T) {
	names := map[string][2]string{"tcp": {"TCP", "TCPv6"}, "udp": {"UDP", "UDPv6"}}
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b, func(c *Config) { c.Version = b.version() })
		if k.LayoutNamed("inet_sock") == nil {
			t.Skip("no sockets")
		}
		for protocol, name := range names {
			for i, o := range k.Table(protocol) {
				if i == 3 {
					break // no full sockets
				}
				sk, inet := viewOf(t, k, "sock", o.Addr()), viewOf(t, k, "inet_sock", o.Addr())
				assert.EqualValues(t, bits.ReverseBytes16(uint16(sk.num("__sk_common.skc_num"))), inet.num("inet_sport"), "%s: port", o.Role())
				assert.Equal(t, sk.num("__sk_common.skc_rcv_saddr"), inet.num("inet_saddr"), "%s: address", o.Role())
				six := b2i(sk.num("__sk_common.skc_family") == uapi.AFInet6)
				assert.Equal(t, name[six], sk.text("__sk_common.skc_prot.name"), "%s: operations", o.Role())
				assert.Equal(t, k.Current().Num("nsproxy.net_ns"), sk.num("__sk_common.skc_net.net"), "%s: namespace", o.Role())
				assert.Equal(t, sk.addr, sk.num("sk_socket.sk"), "%s: socket", o.Role())
				for _, q := range []string{"sk_receive_queue", "sk_write_queue", "sk_error_queue"} {
					assert.Equal(t, sk.at(q), sk.num(q+".next"), "%s: %s", o.Role(), q)
					assert.Equal(t, sk.at(q), sk.num(q+".prev"), "%s: %s", o.Role(), q)
					assert.Zero(t, sk.num(q+".qlen"), "%s: %s", o.Role(), q)
				}
				if protocol == "udp" {
					assert.Zero(t, viewOf(t, k, "udp_sock", o.Addr()).num("pending"), "%s: nothing waits to be sent", o.Role())
				}
			}
		}
		require.NoError(t, k.Err())
	})
}

// TestPacketsComeByTheNamespacesDevices: the device of a packet is the one in the list and the hash
// of its network namespace.
func TestPacketsComeByTheNamespacesDevices(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		for index := uint32(1); index <= 2; index++ {
			k := newKernel(t, b, func(c *Config) { c.Version = b.version() })
			in := make([]byte, 192)
			k.Order().PutUint32(in[40:], index) // ifindex
			c, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeSchedCls, Bytes: in})
			require.NoError(t, err)
			o, err := k.KernelSkb(c)
			require.NoError(t, err)
			dev := viewOf(t, k, "sk_buff", o.Addr()).ptr("dev")
			assert.EqualValues(t, index, dev.num("ifindex"))
			ns := dev.ptr("nd_net.net")
			devices := addrs(ns.list("dev_base_head", "net_device", "dev_list"))
			assert.Len(t, devices, 2)
			assert.Equal(t, devices[index-1], dev.addr)
			assert.Equal(t, index == 1, ns.num("loopback_dev") == dev.addr)
			assert.LessOrEqual(t, dev.num("min_mtu"), dev.num("mtu"))
			require.NoError(t, k.Err())
		}
	})
}
