package traffic

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
)

// Numbers of the kernel's that a Qdisc and an sk_buff contain: TCQ_F_ONETXQUEUE, TC_H_ROOT, the
// handle 8001: that the kernel assigns first, and the bytes before and after a packet's data.
const (
	oneTxQueue  = 0x10
	parentRoot  = 0xffffffff
	firstHandle = 0x80010000
	headroom    = 64
	sharedInfo  = 384
	txQueueLen  = 1000
)

// furnish creates the kernel objects that outlive packets.
func (d *driver) furnish() error {
	k := d.M.Kernel()
	var err error
	made := func(role, typ string) *object.Object {
		o, e := k.NewObjectNamed(role, typ)
		if e != nil && err == nil {
			err = e
		}
		if e == nil {
			o.Poke(0, make([]byte, o.StorageSize()), object.Given)
		}
		return o
	}
	dev, e := k.NewObjectNamed("dev", "net_device")
	if e != nil {
		return e
	}
	dev.MarkBuiltin()
	queue := made("dev_queue", "netdev_queue")
	d.dev, d.sch, d.free, d.extack = dev, made("sch", "Qdisc"), made("to_free", "bpf_sk_buff_ptr"), made("extack", "netlink_ext_ack")
	if err != nil {
		return err
	}
	for _, f := range []struct {
		o    *object.Object
		path string
		v    any
	}{
		{dev, "mtu", d.cfg.MTU}, {dev, "hard_header_len", qdisc.LinkHeader}, {dev, "tx_queue_len", txQueueLen},
		{queue, "dev", dev}, {queue, "qdisc", d.sch}, {queue, "qdisc_sleeping", d.sch},
		{d.sch, "flags", oneTxQueue}, {d.sch, "handle", uint64(firstHandle)}, {d.sch, "parent", uint64(parentRoot)}, {d.sch, "dev_queue", queue}, {d.sch, "refcnt.refs.counter", 1},
	} {
		if !f.o.Has(f.path) {
			continue
		}
		if err := f.o.Set(f.path, f.v); err != nil {
			return err
		}
	}
	return k.Err()
}

// fields are the paths of the numbers that programs and the kernel share, with alternatives by
// architecture.
var fields = [qdisc.Fields][]string{
	qdisc.FieldQlen: {"q.qlen"}, qdisc.FieldLimit: {"limit"}, qdisc.FieldBacklog: {"qstats.backlog"}, qdisc.FieldDrops: {"qstats.drops"},
	qdisc.FieldRequeues: {"qstats.requeues"}, qdisc.FieldOverlimits: {"qstats.overlimits"},
	qdisc.FieldBytes:   {"bstats.bytes.v.a.a.counter", "bstats.bytes.v.a.counter", "bstats.bytes.v", "bstats.bytes"},
	qdisc.FieldPackets: {"bstats.packets.v.a.a.counter", "bstats.packets.v.a.counter", "bstats.packets.v", "bstats.packets"},
}

// path returns the alternative that the kernel has.
func (d *driver) path(f qdisc.Field) string {
	for _, p := range fields[f] {
		if d.sch.Has(p) {
			return p
		}
	}
	return ""
}

// Load reads a field of the Qdisc.
func (d *driver) Load(f qdisc.Field) uint64 {
	if p := d.path(f); p != "" {
		return d.sch.Num(p)
	}
	return 0
}

// Store writes one.
func (d *driver) Store(f qdisc.Field, v uint64) {
	if p := d.path(f); p != "" {
		if err := d.sch.SetUint(p, v); err != nil {
			d.M.Kernel().Fail(err)
		}
	}
}

// Make creates the sk_buff of a packet as a device's queue gets it: its data begins with the
// Ethernet header, its control block has the length (qdisc_pkt_len_init), and no socket owns it.
func (d *driver) Make(p *qdisc.Packet) error {
	frame := p.Flow.Frame
	if frame == nil {
		frame = flowFrame(p.Flow)
	}
	data := make([]byte, p.Size)
	copy(data, frame)
	if p.Flow.Frame == nil {
		setLengths(data)
	}
	k, m := d.M.Kernel(), d.M.Memory()
	end := uint64(headroom+len(data)+63) &^ 63
	room, err := m.Alloc(end+sharedInfo, mem.Region{Kind: mem.KernelObject, Name: "data of packet " + p.Name()})
	if err != nil {
		return noMemory(p, err)
	}
	copy(m.Bytes(room)[headroom:], data)
	o, err := k.NewObjectNamed("packet "+p.Name(), "sk_buff")
	if err != nil {
		m.Free(room)
		return noMemory(p, err)
	}
	o.Poke(0, make([]byte, o.StorageSize()), object.Given)
	d.skbs[p] = &skb{o, room}
	d.state.Packets[o.Addr()] = p
	tstamp := uint64(0)
	if p.Flow.Depart > 0 {
		tstamp = d.cfg.Base + p.Arrival + uint64(p.Flow.Depart)
	}
	for _, f := range []struct {
		path string
		v    any
	}{
		{"head", room.Base}, {"data", room.Base + headroom}, {"tail", headroom + len(data)}, {"end", end},
		{"mac_header", headroom}, {"network_header", headroom + qdisc.LinkHeader}, {"transport_header", headroom + qdisc.LinkHeader + 20}, {"mac_len", qdisc.LinkHeader},
		{"len", len(data)}, {"truesize", len(data) + headroom + sharedInfo + 256}, {"users.refs.counter", 1},
		{"priority", p.Flow.Priority}, {"mark", p.Flow.Mark}, {"tstamp", tstamp}, {"dev", d.dev},
	} {
		if v, isNum := f.v.(uint64); isNum {
			err = o.SetUint(f.path, v)
		} else {
			err = o.Set(f.path, f.v)
		}
		if err != nil {
			return fmt.Errorf("packet %s: %w", p.Name(), err)
		}
	}
	if err := o.SetBytes("protocol", data[12:14]); err != nil {
		return err
	}
	cb := make([]byte, controlBlock)
	m.ByteOrder().PutUint32(cb, uint32(len(data)))
	if l := k.LayoutNamed("qdisc_skb_cb"); l != nil {
		if f, rest, err := l.Place("pkt_segs"); err == nil && rest == "" && f.Off+2 <= controlBlock {
			m.ByteOrder().PutUint16(cb[f.Off:], 1)
		}
	}
	return o.SetBytes("cb", cb)
}

// controlBlock is the length of skb->cb in bytes.
const controlBlock = 48

// Free frees the memory of a packet.
func (d *driver) Free(p *qdisc.Packet) {
	s := d.skbs[p]
	if s == nil {
		return
	}
	delete(d.skbs, p)
	delete(d.state.Packets, s.o.Addr())
	d.M.Memory().Free(s.data)
	d.M.Kernel().Discard(s.o)
	d.M.Memory().Free(s.o.Region())
}

// flowFrame makes the headers of a flow's packets: UDP over IPv4 from 192.0.2.1, to an address and
// ports that follow from the flow's name.
func flowFrame(f *qdisc.Flow) []byte {
	h := fnv.New32a()
	_, _ = h.Write([]byte(f.Name))
	sum := h.Sum32()
	p := make([]byte, qdisc.LeastSize)
	copy(p, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0})
	ip := p[qdisc.LinkHeader:]
	ip[0], ip[8], ip[9] = 0x45, 64, net.ProtoUDP
	copy(ip[12:], []byte{192, 0, 2, 1, 198, 51, 100, byte(sum>>24) | 1})
	binary.BigEndian.PutUint16(ip[20:], uint16(sum)|1024)
	binary.BigEndian.PutUint16(ip[22:], uint16(sum>>16)|1024)
	return p
}

// setLengths completes the headers of a made frame for its length.
func setLengths(p []byte) {
	ip := p[qdisc.LinkHeader:]
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	binary.BigEndian.PutUint16(ip[10:], net.Checksum(ip[:20], 0))
	binary.BigEndian.PutUint16(ip[24:], uint16(len(ip)-20))
}
