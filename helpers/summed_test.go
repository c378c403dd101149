package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Where the default packet has what an address translation changes.
const (
	ipSource = 26
	ipSum    = 24
	tcpSum   = 50
)

// summed makes a packet of a tc program, with the network card's part in its checksums.
func summed(t *testing.T, part hook.Summed) (*rig, *hook.Context) {
	r := newRig(t, newest)
	return r, r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{NetSpec: hook.NetSpec{Summed: part}})
}

// TestCardsSumFollowsTranslation: after an address was changed as NAT programs do it, the card's
// sum of the whole packet is that of the bytes it has now.
func TestCardsSumFollowsTranslation(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags uint64 // of bpf_skb_store_bytes
		steps []uapi.FuncID
	}{
		{"both sums, then the bytes", 0, []uapi.FuncID{uapi.FuncL4CsumReplace, uapi.FuncL3CsumReplace, uapi.FuncSkbStoreBytes}},
		{"the bytes alone, summed again", uapi.SkbStoreRecomputeCsum, []uapi.FuncID{uapi.FuncSkbStoreBytes}},
	} {
		r, c := summed(t, hook.SummedComplete)
		before, after := uint64(r.mem.ByteOrder().Uint32(c.Packet.Bytes()[ipSource:])), uint64(0x0709080a)
		for _, id := range tt.steps {
			switch id {
			case uapi.FuncL4CsumReplace:
				require.Zero(t, r.ok(id, c.Addr, tcpSum, before, after, uapi.CsumPseudoHdr|4))
			case uapi.FuncL3CsumReplace:
				require.Zero(t, r.ok(id, c.Addr, ipSum, before, after, 4))
			default:
				b := make([]byte, 4)
				r.mem.ByteOrder().PutUint32(b, uint32(after))
				require.Zero(t, r.ok(id, c.Addr, ipSource, r.alloc(b), 4, tt.flags))
			}
		}
		want := csumPartial(c.Packet.Bytes()[ethHeader:], 0)
		got := r.ok(uapi.FuncCsumUpdate, c.Addr, 0)
		assert.Equal(t, csum32to16(want), csum32to16(uint32(got)), tt.name)
		assert.Equal(t, csumAdd(uint32(got), 5), uint32(r.ok(uapi.FuncCsumUpdate, c.Addr, 5)), tt.name)
	}
}

// TestUnfinishedSumHoldsThePseudoHeader: of a packet whose sum the card will finish, the field
// holds the pseudo header's sum; only changes of the pseudo header change it.
func TestUnfinishedSumHoldsThePseudoHeader(t *testing.T) {
	r, c := summed(t, hook.SummedPartial)
	pseudo := func() uint16 {
		b := c.Packet.Bytes()
		return csum32to16(csumPartial(b[ipSource:ipSource+8], csumAdd(uint32(r.mem.ByteOrder().Uint16([]byte{0, 6})), uint32(r.mem.ByteOrder().Uint16([]byte{0, byte(len(b) - ethHeader - 20)})))))
	}
	sum := func() uint16 { return r.mem.ByteOrder().Uint16(c.Packet.Bytes()[tcpSum:]) }
	r.mem.ByteOrder().PutUint16(c.Packet.Bytes()[tcpSum:], pseudo())
	before, after := uint64(r.mem.ByteOrder().Uint32(c.Packet.Bytes()[ipSource:])), uint64(0x0709080a)

	require.Zero(t, r.ok(uapi.FuncL4CsumReplace, c.Addr, tcpSum, 1, 2, 2))
	assert.Equal(t, pseudo(), sum(), "a port is not in the pseudo header")
	require.Zero(t, r.ok(uapi.FuncL4CsumReplace, c.Addr, tcpSum, before, after, uapi.CsumPseudoHdr|4))
	b := make([]byte, 4)
	r.mem.ByteOrder().PutUint32(b, uint32(after))
	require.Zero(t, r.ok(uapi.FuncSkbStoreBytes, c.Addr, ipSource, r.alloc(b), 4, 0))
	assert.Equal(t, pseudo(), sum())
	assert.Equal(t, neg(uapi.ENOTSUPP), r.ok(uapi.FuncCsumUpdate, c.Addr, 0))
	assert.Zero(t, r.ok(uapi.FuncCsumLevel, c.Addr, uapi.CsumLevelInc))
	assert.Equal(t, neg(uapi.EACCES), r.ok(uapi.FuncCsumLevel, c.Addr, uapi.CsumLevelQuery), "it does not become valid")
}

func TestValidSumIsKnown(t *testing.T) {
	r, c := summed(t, hook.SummedUnnecessary)
	assert.Zero(t, r.ok(uapi.FuncCsumLevel, c.Addr, uapi.CsumLevelQuery))
	r, c = summed(t, hook.SummedNone)
	assert.Equal(t, neg(uapi.EACCES), r.ok(uapi.FuncCsumLevel, c.Addr, uapi.CsumLevelQuery))
}

// TestCardsSumOfALongerPacketIsRefused: what other helpers do to the card's sum is not simulated.
func TestCardsSumOfALongerPacketIsRefused(t *testing.T) {
	r, c := summed(t, hook.SummedComplete)
	r.ok(uapi.FuncCsumUpdate, c.Addr, 0)
	require.Zero(t, r.ok(uapi.FuncSkbChangeTail, c.Addr, uint64(c.Packet.Len()+8), 0))
	_, f := r.call(uapi.FuncCsumUpdate, c.Addr, 0)
	require.NotNil(t, f)
	assert.Contains(t, f.Error(), "length was changed")
}
