package hook

import (
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Events of sockops programs (enum in include/uapi/linux/bpf.h) that come with a packet.
const (
	opActiveEstablished = 4
	opParseHdrOpt       = 13
	opHdrOptLen         = 14
	opWriteHdrOpt       = 15
)

// sockOpsFields show the connection: fields of the TCP socket read as 0 for a request socket.
var sockOpsFields = fieldsOf(uapi.ProgTypeSockOps, func() map[string]net.Source {
	m := map[string]net.Source{
		"family": net.OfSocket(net.SockFamily), "remote_ip4": net.OfSocket(net.SockDstIP4), "local_ip4": net.OfSocket(net.SockSrcIP4),
		"local_port":  net.OfSocket(net.SockSrcPort),
		"remote_port": {From: func(v *net.View) uint64 { return v.Host.PortWord(v.Socket.Value(net.SockDstPort)) }},
		"is_fullsock": {From: func(v *net.View) uint64 {
			if v.Socket.Full() {
				return 1
			}
			return 0
		}},
		"bpf_sock_ops_cb_flags": net.OfSocket(net.SockCBFlags), "state": net.OfSocket(net.SockState),
		"sk_txhash": {From: func(v *net.View) uint64 { return v.Socket.Value(net.SockTxhash) },
			To: func(v *net.View, x uint64) { v.Socket.Set(net.SockTxhash, x) }},
		"bytes_received": ofFullSocket(net.TCPBytesReceived), "bytes_acked": ofFullSocket(net.TCPBytesAcked),
		"sk": {Kind: net.WideField, From: func(v *net.View) uint64 {
			if !v.Socket.Full() {
				return 0
			}
			return v.Socket.FullAddr()
		}},
	}
	for i := range net.Value(4) {
		n := string(rune('0' + i))
		m["remote_ip6["+n+"]"], m["local_ip6["+n+"]"] = net.OfSocket(net.SockDstIP6+i), net.OfSocket(net.SockSrcIP6+i)
	}
	for _, n := range net.TCPNumbers {
		m[n.Name] = ofFullSocket(n.Val)
	}
	return m
})

// ofFullSocket binds a field to a value that request sockets lack.
func ofFullSocket(val net.Value) net.Source {
	return net.Source{From: func(v *net.View) uint64 {
		if !v.Socket.Full() {
			return 0
		}
		return v.Socket.Value(val)
	}}
}

// sockOpsContext creates a bpf_sock_ops. An event with a packet shows its TCP header, from the
// run's packet.
func (h *Hooks) sockOpsContext(c *Context) error {
	s, err := h.contextSocket(c, net.SockSpec{})
	if err != nil {
		return err
	}
	v := h.newView(c, sockOpsFields, c.spec.ProgType.String())
	v.Socket = s
	v.Out = func(v *net.View) []byte { return h.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	op := uint64(opActiveEstablished)
	if o, ok := c.spec.Fields["op"]; ok {
		op = o
	}
	v.Put("op", op)
	c.room = maxTCPOptions
	if len(c.spec.Packet) > 0 || op == opActiveEstablished || op == opActiveEstablished+1 || op >= opParseHdrOpt && op <= opWriteHdrOpt {
		return h.sockOpsPacket(c, v, op)
	}
	return nil
}

// maxTCPOptions is the maximum size in bytes of the options in a TCP header.
const maxTCPOptions = 40

// sockOpsPacket places the packet's TCP header where skb_data points. At
// BPF_SOCK_OPS_HDR_OPT_LEN_CB there is no packet yet.
func (h *Hooks) sockOpsPacket(c *Context, v *net.View, op uint64) error {
	frame := h.packetBytes(c)
	at, end := tcpHeader(frame)
	if at < 0 || op == opHdrOptLen {
		return nil
	}
	hdr := frame[at:end]
	// WRITE_HDR_OPT may append options up to 60 bytes of header.
	room := uint64(60)
	r, err := h.Mem().Alloc(room, mem.Region{Kind: mem.Packet, Name: "skb", ReadOnly: true, Owner: c})
	if err != nil {
		return err
	}
	copy(h.Mem().Bytes(r), hdr)
	if err := h.Mem().SetBounds(r, r.Base, r.Base+uint64(len(hdr))); err != nil {
		return err
	}
	c.more = append(c.more, r)
	c.header = r
	c.room = int(room) - len(hdr)
	v.Put("skb_data", r.Base)
	v.Put("skb_data_end", r.Base+uint64(len(hdr)))
	v.Put("skb_len", uint64(len(frame)-at))
	v.Put("skb_tcp_flags", uint64(frame[at+13]))
	return nil
}

// tcpHeader finds the TCP header with its options in a frame, or returns -1.
func tcpHeader(frame []byte) (at, end int) {
	if len(frame) < net.EthHeader+1 {
		return -1, 0
	}
	ip := frame[net.EthHeader:]
	switch {
	case ip[0]>>4 == 4 && len(ip) >= 20 && ip[9] == net.ProtoTCP:
		at = net.EthHeader + int(ip[0]&15)*4
	case ip[0]>>4 == 6 && len(ip) >= 40 && ip[6] == net.ProtoTCP:
		at = net.EthHeader + 40
	default:
		return -1, 0
	}
	if len(frame) < at+20 {
		return -1, 0
	}
	end = at + int(frame[at+12]>>4)*4
	if end < at+20 || end > len(frame) {
		return -1, 0
	}
	return at, end
}

// TCPHeader returns the TCP header that a sockops program sees, nil if its event has no packet.
func (c *Context) TCPHeader() []byte {
	if c.header == nil {
		return nil
	}
	n := c.view.Get("skb_data_end") - c.header.Base
	return c.k.Mem().ExtentBytes(c.header)[:n]
}

// AppendOption appends an option to the TCP header and reduces the remaining space.
func (c *Context) AppendOption(opt []byte) {
	end := c.view.Get("skb_data_end")
	n := end - c.header.Base
	copy(c.k.Mem().ExtentBytes(c.header)[n:], opt)
	c.view.Put("skb_data_end", end+uint64(len(opt)))
	if err := c.k.Mem().SetBounds(c.header, c.header.Base, end+uint64(len(opt))); err != nil {
		c.k.Fail(err)
	}
	c.room -= len(opt)
}

// OptionSpace returns how many bytes of TCP options a sockops program may still add or reserve.
func (c *Context) OptionSpace() int { return c.room }

// ReserveOption reserves bytes of that space.
func (c *Context) ReserveOption(n int) { c.room -= n }
