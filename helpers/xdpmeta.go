package helpers

import (
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// What network cards say of a packet besides its bytes (net/core/xdp.c), and packets in pieces.
var xdpKfuncs = []Kfunc{
	{Name: "bpf_xdp_metadata_rx_timestamp", Topic: "packets", Args: []Arg{ArgCtx, ArgLong}, Fn: rxTimestamp, Note: "of the scenario, else -EOPNOTSUPP"},
	{Name: "bpf_xdp_metadata_rx_hash", Topic: "packets", Args: []Arg{ArgCtx, ArgInt, ArgInt}, Fn: rxHash, Note: "of the scenario, else -EOPNOTSUPP"},
	{Name: "bpf_xdp_metadata_rx_vlan_tag", Topic: "packets", Args: []Arg{ArgCtx, ArgInt, ArgInt}, Fn: rxVLAN, Note: "of the scenario, else -EOPNOTSUPP"},
	{Name: "bpf_xdp_pull_data", Topic: "packets", Args: []Arg{ArgCtx, ArgAny}, Fn: xdpPullData},
}

func (e *Env) received(ctx uint64) (*kernel.Received, *vm.Action) {
	c, f := e.packetOf(ctx)
	if f != nil {
		return nil, f
	}
	return c.Received(), nil
}

func rxTimestamp(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	r, f := e.received(a[0])
	if f != nil || r == nil || r.Timestamp == 0 {
		return errnoRet(uapi.EOPNOTSUPP), f
	}
	return 0, e.writeU64(a[1], r.Timestamp)
}

func rxHash(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	r, f := e.received(a[0])
	if f != nil || r == nil || r.Hash == 0 && r.HashType == 0 {
		return errnoRet(uapi.EOPNOTSUPP), f
	}
	if f := e.writeU32(a[1], r.Hash); f != nil {
		return 0, f
	}
	return 0, e.writeU32(a[2], r.HashType)
}

func rxVLAN(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	r, f := e.received(a[0])
	if f != nil || r == nil || r.VLANProto == 0 {
		return errnoRet(uapi.EOPNOTSUPP), f
	}
	if f := e.write(a[1], []byte{byte(r.VLANProto >> 8), byte(r.VLANProto)}); f != nil {
		return 0, f
	}
	return 0, e.writeInt(a[2], 2, uint64(r.VLANTCI))
}

func xdpPullData(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	c, f := envOf(t).packetOf(a[0])
	if f != nil {
		return 0, f
	}
	return errnoRet(c.Packet.PullXDP(int(uint32(a[1])))), nil
}
