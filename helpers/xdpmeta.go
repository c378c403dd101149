package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// What network cards say of a packet besides its bytes (net/core/xdp.c), and packets in pieces.
var xdpKfuncs = []kfuncRow{
	{Name: "bpf_xdp_metadata_rx_timestamp", Args: []proto.Arg{argCtx, argLong}, Do: rxTimestamp, Note: "of the scenario, else -EOPNOTSUPP"},
	{Name: "bpf_xdp_metadata_rx_hash", Args: []proto.Arg{argCtx, argInt, argInt}, Do: rxHash, Note: "of the scenario, else -EOPNOTSUPP"},
	{Name: "bpf_xdp_metadata_rx_vlan_tag", Args: []proto.Arg{argCtx, argInt, argInt}, Do: rxVLAN, Note: "of the scenario, else -EOPNOTSUPP"},
	{Name: "bpf_xdp_pull_data", Args: []proto.Arg{argCtx, argAny}, Do: onPacket(xdpPullData)},
}

func (e *Env) received(ctx uint64) (*kernel.Received, *vm.Action) {
	c, f := e.packetOf(ctx)
	if f != nil {
		return nil, f
	}
	return c.Received(), nil
}

func rxTimestamp(c *Call) (uint64, *vm.Action) {
	r, f := c.received(c.Args[0])
	if f != nil || r == nil || r.Timestamp == 0 {
		return errnoRet(uapi.EOPNOTSUPP), f
	}
	return 0, c.writeU64(c.Args[1], r.Timestamp)
}

func rxHash(c *Call) (uint64, *vm.Action) {
	r, f := c.received(c.Args[0])
	if f != nil || r == nil || r.Hash == 0 && r.HashType == 0 {
		return errnoRet(uapi.EOPNOTSUPP), f
	}
	if f := c.writeU32(c.Args[1], r.Hash); f != nil {
		return 0, f
	}
	return 0, c.writeU32(c.Args[2], r.HashType)
}

func rxVLAN(c *Call) (uint64, *vm.Action) {
	r, f := c.received(c.Args[0])
	if f != nil || r == nil || r.VLANProto == 0 {
		return errnoRet(uapi.EOPNOTSUPP), f
	}
	if f := c.write(c.Args[1], []byte{byte(r.VLANProto >> 8), byte(r.VLANProto)}); f != nil {
		return 0, f
	}
	return 0, c.writeInt(c.Args[2], 2, uint64(r.VLANTCI))
}

func xdpPullData(c *Call, ctx *kernel.Context) (uint64, *vm.Action) {
	return errnoRet(ctx.Packet.PullXDP(int(uint32(c.Args[1])))), nil
}
