package kernel

import "github.com/bpfrun/bpfrun/mem"

// sockOpsSize is sizeof(struct bpf_sock_ops).
const sockOpsSize = 224

// Events of sockops programs (enum in include/uapi/linux/bpf.h) that come with a packet.
const (
	opActiveEstablished = 4
	opParseHdrOpt       = 13
	opHdrOptLen         = 14
	opWriteHdrOpt       = 15
)

// sockOpsFields are the fields of struct bpf_sock_ops (sock_ops_is_valid_access). What comes from the TCP socket reads 0 of
// a request socket.
var sockOpsFields = func() []uapiField {
	fields := []uapiField{
		{name: "op", off: 0, size: 4}, {name: "reply", off: 4, size: 4},
		{name: "args[1]", off: 8, size: 4}, {name: "args[2]", off: 12, size: 4}, {name: "args[3]", off: 16, size: 4},
		sockField("family", 20, 4, sockFamily), sockField("remote_ip4", 24, 4, sockDstIP4), sockField("local_ip4", 28, 4, sockSrcIP4),
		{name: "remote_port", off: 64, size: 4, from: func(v *uapiView) uint64 { return v.k.portWord(v.sock.value(sockDstPort)) }},
		sockField("local_port", 68, 4, sockSrcPort),
		{name: "is_fullsock", off: 72, size: 4, from: func(v *uapiView) uint64 {
			if v.sock.Full() {
				return 1
			}
			return 0
		}},
		sockField("bpf_sock_ops_cb_flags", 84, 4, sockCBFlags), sockField("state", 88, 4, sockState),
		{name: "sk_txhash", off: 160, size: 4, from: func(v *uapiView) uint64 { return v.sock.value(sockTxhash) },
			to: func(v *uapiView, x uint64) { v.sock.set(sockTxhash, x) }},
		fullField("bytes_received", 168, 8, tcpBytesReceived), fullField("bytes_acked", 176, 8, tcpBytesAcked),
		{name: "sk", off: 184, size: 8, kind: wideField, from: func(v *uapiView) uint64 {
			if !v.sock.Full() {
				return 0
			}
			return v.sock.FullAddr()
		}},
		{name: "skb_data", off: 192, size: 8, kind: wideField}, {name: "skb_data_end", off: 200, size: 8, kind: wideField},
		{name: "skb_len", off: 208, size: 4}, {name: "skb_tcp_flags", off: 212, size: 4, narrow: true}, {name: "skb_hwtstamp", off: 216, size: 8},
	}
	for i := range uint16(4) {
		n := string(rune('0' + i))
		fields = append(fields, sockField("remote_ip6["+n+"]", 32+4*i, 4, sockDstIP6+sockVal(i)), sockField("local_ip6["+n+"]", 48+4*i, 4, sockSrcIP6+sockVal(i)))
	}
	// snd_cwnd and srtt_us lie before the flags, the others behind the state.
	off := uint16(92)
	for _, n := range tcpNumbers {
		switch n.name {
		case "snd_cwnd":
			fields = append(fields, fullField(n.name, 76, 4, n.val))
		case "srtt_us":
			fields = append(fields, fullField(n.name, 80, 4, n.val))
		default:
			fields = append(fields, fullField(n.name, off, 4, n.val))
			off += 4
		}
	}
	return fields
}()

// fullField is a field that request sockets have not.
func fullField(name string, off, size uint16, val sockVal) uapiField {
	return uapiField{name: name, off: off, size: size, from: func(v *uapiView) uint64 {
		if !v.sock.Full() {
			return 0
		}
		return v.sock.value(val)
	}}
}

// sockOpsContext makes a bpf_sock_ops. An event with a packet shows its TCP header, from the run's packet.
func (h *Hooks) sockOpsContext(c *Context) error {
	s, err := h.contextSocket(c, SockSpec{})
	if err != nil {
		return err
	}
	v := &uapiView{k: h.Host, typ: "bpf_sock_ops", who: c.spec.ProgType.String(), size: sockOpsSize, fields: sockOpsFields, sock: s}
	v.may = func(f *uapiField, write bool) bool { return !write || f.name == "reply" || f.name == "sk_txhash" }
	v.out = func(v *uapiView) []byte { return h.fieldBytes(v) }
	if err := c.attach(v); err != nil {
		return err
	}
	op := uint64(opActiveEstablished)
	if o, ok := c.spec.Fields["op"]; ok {
		op = o
	}
	v.put("op", op)
	c.room = maxTCPOptions
	if len(c.spec.Packet) > 0 || op == opActiveEstablished || op == opActiveEstablished+1 || op >= opParseHdrOpt && op <= opWriteHdrOpt {
		return h.sockOpsPacket(c, v, op)
	}
	return nil
}

// maxTCPOptions is the room for options in a TCP header.
const maxTCPOptions = 40

// sockOpsPacket puts the TCP header of the packet where skb_data points. At BPF_SOCK_OPS_HDR_OPT_LEN_CB there is no packet yet.
func (h *Hooks) sockOpsPacket(c *Context, v *uapiView, op uint64) error {
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
	v.put("skb_data", r.Base)
	v.put("skb_data_end", r.Base+uint64(len(hdr)))
	v.put("skb_len", uint64(len(frame)-at))
	v.put("skb_tcp_flags", uint64(frame[at+13]))
	return nil
}

// tcpHeader finds the TCP header with its options in a frame; -1 when there is none.
func tcpHeader(frame []byte) (at, end int) {
	if len(frame) < ethHeader+1 {
		return -1, 0
	}
	ip := frame[ethHeader:]
	switch {
	case ip[0]>>4 == 4 && len(ip) >= 20 && ip[9] == ipprotoTCP:
		at = ethHeader + int(ip[0]&15)*4
	case ip[0]>>4 == 6 && len(ip) >= 40 && ip[6] == ipprotoTCP:
		at = ethHeader + 40
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

// TCPHeader returns the TCP header that a sockops program sees, nil when its event has no packet.
func (c *Context) TCPHeader() []byte {
	if c.header == nil {
		return nil
	}
	n := c.view.get("skb_data_end") - c.header.Base
	return c.k.Mem().ExtentBytes(c.header)[:n]
}

// AppendOption adds an option to the TCP header and takes it off the room there is.
func (c *Context) AppendOption(opt []byte) {
	end := c.view.get("skb_data_end")
	n := end - c.header.Base
	copy(c.k.Mem().ExtentBytes(c.header)[n:], opt)
	c.view.put("skb_data_end", end+uint64(len(opt)))
	if err := c.k.Mem().SetBounds(c.header, c.header.Base, end+uint64(len(opt))); err != nil {
		c.k.Fail(err)
	}
	c.room -= len(opt)
}

// OptionSpace is the number of bytes of TCP options a sockops program may still add or reserve.
func (c *Context) OptionSpace() int { return c.room }

// ReserveOption takes bytes off it.
func (c *Context) ReserveOption(n int) { c.room -= n }
