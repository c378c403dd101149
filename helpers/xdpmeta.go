package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// What network cards report about a packet besides its bytes (net/core/xdp.c), and packets in
// pieces.
var xdpKfuncs = []kfuncRow{
	{Name: "bpf_xdp_metadata_rx_timestamp", Args: []proto.Arg{argCtx, argLong}, Do: onReceived(rxTimestamp), Note: "of the scenario, else -EOPNOTSUPP"},
	{Name: "bpf_xdp_metadata_rx_hash", Args: []proto.Arg{argCtx, argInt, argInt}, Do: onReceived(rxHash), Note: "of the scenario, else -EOPNOTSUPP"},
	{Name: "bpf_xdp_metadata_rx_vlan_tag", Args: []proto.Arg{argCtx, argInt, argInt}, Do: onReceived(rxVLAN), Note: "of the scenario, else -EOPNOTSUPP"},
	{Name: "bpf_xdp_pull_data", Args: []proto.Arg{argCtx, argAny}, Do: onPacket(xdpPullData)},
}

func (at *finder) received(ctx uint64) (*hook.Received, *vm.Action) {
	c, f := at.packetOf(ctx)
	if f != nil {
		return nil, f
	}
	return c.Received(), nil
}

func rxTimestamp(c *Call, r *hook.Received) (uint64, *vm.Action) {
	if r == nil || r.Timestamp == 0 {
		return errnoRet(uapi.EOPNOTSUPP), nil
	}
	return 0, c.guest.WriteU64(c.Args[1], r.Timestamp)
}

func rxHash(c *Call, r *hook.Received) (uint64, *vm.Action) {
	if r == nil || r.Hash == 0 && r.HashType == 0 {
		return errnoRet(uapi.EOPNOTSUPP), nil
	}
	f := c.guest.WriteU32(c.Args[1], r.Hash)
	if f == nil {
		f = c.guest.WriteU32(c.Args[2], r.HashType)
	}
	return 0, f
}

func rxVLAN(c *Call, r *hook.Received) (uint64, *vm.Action) {
	if r == nil || r.VLANProto == 0 {
		return errnoRet(uapi.EOPNOTSUPP), nil
	}
	f := c.guest.Write(c.Args[1], []byte{byte(r.VLANProto >> 8), byte(r.VLANProto)})
	if f == nil {
		f = c.guest.WriteInt(c.Args[2], 2, uint64(r.VLANTCI))
	}
	return 0, f
}

func xdpPullData(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
	return errnoRet(ctx.Packet.PullXDP(int(uint32(c.Args[1])))), nil
}
