package net

import (
	"bytes"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// FlowTuple is one direction of a flow of a flow table: a struct flow_offload_tuple as far as
// lookups compare it.
type FlowTuple struct {
	ConnTuple
	Index  uint32 // of the interface at which packets arrive
	Family uint8
}

// connOffloaded is IPS_OFFLOAD.
const connOffloaded = 1 << 14

// flowTimeout is how long a flow lives without a packet, in seconds (NF_FLOW_TIMEOUT; the sysctls
// nf_flowtable_tcp_timeout and nf_flowtable_udp_timeout have the same default).
const flowTimeout = 30

// NewFlow makes a struct flow_offload with its tracked connection (flow_offload_alloc). in and out
// are the interfaces at which packets of the two directions arrive; expires is the tick at which
// its time is over. Lookups find it after [Host.OpenFlow].
func (h *Host) NewFlow(role string, t ConnTuple, in, out, expires uint32) (*object.Object, error) {
	o, err := h.NewObjectNamed(role, "flow_offload")
	if err != nil {
		return nil, err
	}
	conn, err := h.NewConnection(role+".ct", t, ConnZone{Dir: ZoneBothDirs}, expires)
	if err != nil {
		return nil, err
	}
	object.Build(conn).Num("status", connEstablished|connOffloaded)
	o.MarkBuiltin()
	b := object.Build(o)
	b.All(make([]byte, o.Size()))
	for dir, ft := range [...]FlowTuple{{ConnTuple: t, Index: in}, {ConnTuple: t.Reply(), Index: out}} {
		at := fmt.Sprintf("tuplehash[%d].tuple.", dir)
		ft.Family = uapi.AFInet
		if t.Source.Addr().Is6() {
			ft.Family = uapi.AFInet6
		}
		key, err := h.flowKey(ft)
		if err != nil {
			return nil, err
		}
		f, _, err := o.Storage().Place(at[:len(at)-1])
		if err != nil {
			return nil, err
		}
		o.Poke(f.Off, key, object.Given)
		b.Num(at+"dir", uint64(dir))
	}
	b.Ptr("ct", conn)
	b.Num("timeout", uint64(expires))
	return o, h.Err()
}

// OpenFlow enters a flow into the flow table, and its connection into the table of connections
// (flow_offload_add). There is one flow table, of the interfaces at which packets of its flows
// arrive.
func (h *Host) OpenFlow(o *object.Object, now uint32) error {
	if l := o.Storage(); l == nil || l.Name != "flow_offload" {
		return &object.TypeError{Type: o.TypeName(), Role: o.Role(), Why: "is not a flow"}
	}
	if conn := h.ObjectAt(o.Num("ct")); conn != nil {
		if err := h.OpenConnection(conn, now); err != nil {
			return err
		}
	}
	h.flows = append(h.flows, o)
	return nil
}

// flowKey returns what lookups compare: the bytes of a struct flow_offload_tuple before __hash
// (flow_offload_hash_cmp).
func (h *Host) flowKey(t FlowTuple) ([]byte, error) {
	l := h.LayoutNamed("flow_offload_tuple")
	if l == nil {
		return nil, &object.TypeError{Type: "flow_offload_tuple", Role: "flow", Why: "is not in the kernel's BTF"}
	}
	end, _, err := l.Place("__hash")
	if err != nil {
		return nil, err
	}
	key := make([]byte, end.Off)
	put := func(path string, b []byte) {
		f, rest, e := l.Place(path)
		if e != nil || rest != "" || f.Off+uint64(len(b)) > uint64(len(key)) {
			err = fmt.Errorf("the target's struct flow_offload_tuple has no %s", path)
			return
		}
		copy(key[f.Off:], b)
	}
	port := func(p uint16) []byte { return []byte{byte(p >> 8), byte(p)} }
	var index [4]byte
	endian.PutUint(h.Order(), index[:], uint64(t.Index))
	put("src_v4", t.Source.Addr().AsSlice())
	put("dst_v4", t.Dest.Addr().AsSlice())
	put("src_port", port(t.Source.Port()))
	put("dst_port", port(t.Dest.Port()))
	put("iifidx", index[:])
	put("l3proto", []byte{t.Family})
	put("l4proto", []byte{t.Protocol})
	return key, err
}

// Flow returns the address of the struct flow_offload_tuple_rhash of a flow that the table of an
// interface has with a tuple, or 0; its time begins anew (nf_flowtable_by_dev, flow_offload_lookup,
// flow_offload_refresh). Flows whose time is over leave the table.
func (h *Host) Flow(t FlowTuple, device, now, hz uint32) (addr uint64, err error) {
	if len(h.flows) == 0 {
		return 0, nil
	}
	key, err := h.flowKey(t)
	if err != nil {
		return 0, err
	}
	kept, has := h.flows[:0:0], false
	var found *object.Object
	for _, o := range h.flows {
		if int32(uint32(o.Num("timeout"))-now) <= 0 {
			continue
		}
		kept = append(kept, o)
		for dir := range 2 {
			at := fmt.Sprintf("tuplehash[%d]", dir)
			has = has || uint32(o.Num(at+".tuple.iifidx")) == device
			f, _, err := o.Storage().Place(at + ".tuple")
			if err != nil {
				return 0, err
			}
			if found == nil && bytes.Equal(o.Present(f.Off, uint64(len(key))), key) {
				node, _, err := o.Storage().Place(at)
				if err != nil {
					return 0, err
				}
				found, addr = o, o.Addr()+node.Off
			}
		}
	}
	h.flows = kept
	if found == nil || !has || h.torndown(found) {
		return 0, nil
	}
	if end := now + flowTimeout*hz; end-uint32(found.Num("timeout")) > hz {
		object.Build(found).Num("timeout", uint64(end))
	}
	return addr, nil
}

// torndown reports whether a flow, or its connection, is about to end.
func (h *Host) torndown(o *object.Object) bool {
	bit, ok := o.Storage().Spec.EnumValue("nf_flow_flags", "NF_FLOW_TEARDOWN")
	if ok && o.Num("flags")>>bit&1 != 0 {
		return true
	}
	conn := h.ObjectAt(o.Num("ct"))
	return conn != nil && conn.Num("status")&ConnDying != 0
}
