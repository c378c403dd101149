package helpers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestHelpersThatChangePacketsInvalidatePointers: whether the call succeeds or fails, an address of
// packet data that the program took before is no longer one, and the bytes are where the context
// says. The verifier does the same for XDP and tc.
func TestHelpersThatChangePacketsInvalidatePointers(t *testing.T) {
	tested := 0
	for _, h := range Table() {
		typ := uapi.ProgTypeSchedCls
		if strings.HasPrefix(h.Name(), "bpf_xdp_") {
			typ = uapi.ProgTypeXDP
		}
		if h.Effects&proto.ChangesPacket == 0 || strings.HasPrefix(h.Name(), "bpf_msg_") || strings.HasPrefix(h.Name(), "bpf_lwt_") || h.ID == uapi.FuncStoreHdrOpt || h.ID == uapi.FuncTailCall {
			continue
		}
		for _, args := range [][]uint64{{0, 0, 0, 0}, {1<<31 - 1, 1<<31 - 1, 1<<31 - 1, 1<<31 - 1}, {2, 0, 0, 0}} {
			r := newRig(t, newest)
			c := r.context(typ, hook.ContextSpec{})
			r.env.Run.Context = c
			before, old := string(c.Packet.Bytes()), c.Packet.Data()
			all := append([]uint64{c.Addr}, args...)
			if h.ID == uapi.FuncSkbStoreBytes {
				all[2], all[3] = r.str("abc"), 3
			}
			if _, f := r.call(h.ID, all...); f != nil {
				continue // arguments the verifier would refuse
			}
			tested++
			assert.NotEqual(t, old, c.Packet.Data(), "%s %v", h.Name(), args)
			_, f := r.mem.Load(old, 1)
			require.NotNil(t, f, "%s %v", h.Name(), args)
			assert.Equal(t, mem.UseAfterFree, f.Kind, "%s %v", h.Name(), args)
			if args[0] == 1<<31-1 { // refused: nothing changed
				assert.Equal(t, before, string(c.Packet.Bytes()), h.Name())
			}
			v, f := r.mem.Load(c.Packet.Data(), 1)
			require.Nil(t, f, "%s", h.Name())
			assert.Equal(t, uint64(c.Packet.Bytes()[0]), v)
		}
	}
	assert.Greater(t, tested, 25)
}

// TestAStaleStoreMissesThePacket: after bpf_clone_redirect the clone has the same bytes, so the
// kernel gives the program others.
func TestAStaleStoreMissesThePacket(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
	r.env.Run.Context = c
	old := c.Packet.Data()
	require.Zero(t, r.ok(uapi.FuncCloneRedirect, c.Addr, 2, 0))
	require.NotNil(t, r.mem.Store(old, 1, 0xff))
	assert.NotEqual(t, byte(0xff), c.Packet.Bytes()[0])
	assert.NotEqual(t, byte(0xff), r.env.Run.Events[0].Data[0])
}
