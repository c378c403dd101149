package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestSocketIteratorsVisitSockets: what iter/tcp and iter/udp hand out is a socket to every cast,
// of the kind it is.
func TestSocketIteratorsVisitSockets(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		for name, want := range map[string][]struct {
			state, family, protocol uint64
			storage                 string
		}{
			"tcp": {
				{net.TCPListen, 2, 6, "tcp_sock"}, {net.TCPEstablished, 2, 6, "tcp_sock"}, {net.TCPEstablished, 10, 6, "tcp6_sock"},
				{net.TCPTimeWait, 2, 0, "tcp_timewait_sock"}, {net.TCPNewSynRecv, 2, 0, "tcp_request_sock"},
			},
			"udp": {{net.TCPClose, 2, 17, "udp_sock"}, {net.TCPClose, 10, 17, "udp6_sock"}},
		} {
			k := newKernel(t, b)
			c, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeTracing, Attach: uapi.AttachTraceIter, AttachTo: name, Section: "iter/" + name})
			if err != nil {
				t.Skip("the target has no such iterator: ", err)
			}
			require.Equal(t, len(want)+1, c.Steps(), "the last call is without a socket")
			for i, w := range want {
				c.Step(i)
				s := k.SocketAt(word(t, c, 1))
				require.NotNil(t, s, "%s %d", name, i)
				o, err := s.Object()
				require.NoError(t, err)
				assert.Equal(t, w.storage, o.Storage().Name)
				assert.Equal(t, w.state, uint64(s.State()))
				assert.Equal(t, w.family, uint64(s.Family()))
				if w.protocol != 0 {
					assert.Equal(t, w.protocol, uint64(s.Protocol()))
					assert.NotZero(t, uintAt(t, o, "__sk_common.skc_num"))
				}
			}
			c.Step(len(want))
			assert.Zero(t, word(t, c, 1))
		}
	})
}
