package net

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Sizes of packet memory (net/bpf/test_run.c, include/uapi/linux/bpf.h, kernel-behaviour).
const (
	EthHeader    = 14
	xdpHeadroom  = 256
	XDPFrame     = 4096
	xdpTailroom  = 320 // struct skb_shared_info at the end of the page
	sharedRoom   = 384 // for the struct after the buffer of an sk_buff, whose size depends on the release
	bufferAlign  = 64  // of the buffer's end (SKB_DATA_ALIGN)
	xdpFrameHead = 40  // struct xdp_frame at the start of the headroom
	skbHeadroom  = 256
	skbTailroom  = 256
	MaxPacket    = 1 << 20
)

// Numbers of protocols.
const (
	EtherIPv4 = 0x0800
	EtherIPv6 = 0x86dd
	ProtoTCP  = 6
)

// States of TCP connections (include/net/tcp_states.h).
const (
	TCPEstablished = 1
	TCPSynSent     = 2
	TCPSynRecv     = 3
	TCPFinWait2    = 5
	TCPTimeWait    = 6
	TCPClose       = 7
	TCPListen      = 10
	TCPNewSynRecv  = 12
)

// Packet is packet data in simulated memory. The guest may access [Meta, DataEnd); headroom and
// tailroom surround it.
type Packet struct {
	k      *Host `snapshot:"fixed"`
	region *mem.Region
	data   uint64 // address of the first byte
	end    uint64
	meta   uint64 // start of metadata, data when there is none
	min    uint64 // lowest address data may have
	max    uint64 // highest address end may have
	room   uint64 // reserved after the buffer for struct skb_shared_info, 0 if it has none
	xdp    bool
	ro     bool
	lead   int // bytes that Out puts before the data
	frags  []fragment
	// A message of a socket: bytes before and after those that the program sees, and the lengths of
	// its pieces (nil: one).
	before, after int
	pieces        []int

	cloned bool          // another sk_buff shares the bytes
	places []*mem.Region // current and former places of the packet, see Move; nil before the first move
	place  int           // index of the current one
}

// DefaultPacket returns a valid Ethernet frame of 64 bytes: IPv4 and TCP (SYN and ACK) from
// 192.0.2.1:12345 to 198.51.100.2:80, with correct checksums and the payload "0123456789".
func DefaultPacket() []byte {
	p := make([]byte, 64)
	copy(p[0:], []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0}) // to, from, IPv4
	ip := p[EthHeader:]
	ip[0] = 0x45
	binary.BigEndian.PutUint16(ip[2:], 50)
	binary.BigEndian.PutUint16(ip[4:], 0x1234)
	binary.BigEndian.PutUint16(ip[6:], 0x4000) // don't fragment
	ip[8], ip[9] = 64, ProtoTCP
	copy(ip[12:], []byte{192, 0, 2, 1, 198, 51, 100, 2})
	binary.BigEndian.PutUint16(ip[10:], Checksum(ip[:20], 0))
	tcp := ip[20:]
	binary.BigEndian.PutUint16(tcp[0:], 12345)
	binary.BigEndian.PutUint16(tcp[2:], 80)
	tcp[12], tcp[13] = 0x50, 0x12
	binary.BigEndian.PutUint16(tcp[14:], 0xfaf0)
	copy(tcp[20:], "0123456789")
	// The pseudo header: addresses, protocol, length.
	pseudo := uint32(ProtoTCP) + uint32(len(tcp))
	for i := 12; i < 20; i += 2 {
		pseudo += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	binary.BigEndian.PutUint16(tcp[16:], Checksum(tcp, pseudo))
	return p
}

// Checksum returns the Internet checksum (RFC 1071) of b, continued from sum.
func Checksum(b []byte, sum uint32) uint16 {
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	if len(b)%2 != 0 {
		sum += uint32(b[len(b)-1]) << 8
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// newPacket places data between headroom and tailroom; the guest sees [data, data+len).
func (h *Host) newPacket(name string, data []byte, head, tail, room uint64, readOnly bool) (*Packet, error) {
	if len(data) > MaxPacket {
		return nil, fmt.Errorf("kernel: packet of %d bytes, at most %d", len(data), MaxPacket)
	}
	p := &Packet{k: h, ro: readOnly, room: room}
	if err := p.placeAt(name, data, head, tail); err != nil {
		return nil, err
	}
	h.packets = append(h.packets, p)
	return p, nil
}

func (p *Packet) placeAt(name string, data []byte, head, tail uint64) error {
	head = (head + 15) &^ 15
	size := head + uint64(len(data)) + tail
	if p.room != 0 {
		size = (size+bufferAlign-1)&^(bufferAlign-1) + p.room
	}
	r, err := p.k.Mem().Alloc(size, mem.Region{Kind: mem.Packet, Name: name, ReadOnly: p.ro, Owner: p})
	if err != nil {
		return fmt.Errorf("kernel: packet: %w", err)
	}
	copy(p.k.Mem().Bytes(r)[head:], data)
	p.region = r
	p.min, p.max = r.Base, r.Base+head+uint64(len(data))+tail
	p.data = r.Base + head
	p.end, p.meta = p.data+uint64(len(data)), p.data
	return p.bound()
}

// bound sets the guest's bounds to those of the packet.
func (p *Packet) bound() error { return p.k.Mem().SetBounds(p.region, p.meta, p.end) }

// save returns a copy that shares nothing mutable.
func (p *Packet) save() Packet {
	was := *p
	was.frags = slices.Clone(p.frags)
	was.places = slices.Clone(p.places)
	return was
}

// load makes a packet what it was when it was saved.
func (p *Packet) load(was *Packet) {
	*p = *was
	p.frags, p.places = slices.Clone(was.frags), slices.Clone(was.places)
}

func (p *Packet) Free() {
	p.dropPlaces()
	p.release(p.region)
	for _, f := range p.frags {
		p.k.Mem().Free(f.region)
	}
	p.k.packets = slices.DeleteFunc(p.k.packets, func(q *Packet) bool { return q == p })
}

// Data returns the address of the packet's first byte.
func (p *Packet) Data() uint64 { return p.data }

// DataEnd returns the address after the packet's last byte.
func (p *Packet) DataEnd() uint64 { return p.end }

// Meta returns the address where metadata starts, equal to Data if there is none.
func (p *Packet) Meta() uint64 { return p.meta }

// Len returns the length of the packet in bytes, fragments included.
func (p *Packet) Len() int {
	if len(p.frags) == 0 {
		return int(p.end-p.data) + p.before + p.after
	}
	return p.Linear() + p.fragsLen()
}

// Headroom returns how many bytes the packet can grow at its start without being copied.
func (p *Packet) Headroom() int { return int(p.data - p.min) }

// Tailroom returns how many bytes the packet can grow at its end without being copied.
func (p *Packet) Tailroom() int { return int(p.max - p.end) }

// ReadOnly reports whether the program must not store to the packet.
func (p *Packet) ReadOnly() bool { return p.ro }

// Region returns the packet's memory.
func (p *Packet) Region() *mem.Region { return p.region }

// Bytes returns the bytes of the packet's linear part for the simulation itself, valid until the
// packet is moved or copied.
func (p *Packet) Bytes() []byte { return p.window(p.data, p.end) }

func (p *Packet) window(lo, hi uint64) []byte {
	base, _ := p.region.Extent()
	return p.k.Mem().ExtentBytes(p.region)[lo-base : hi-base]
}

func (p *Packet) Out() []byte {
	from := p.data
	if p.xdp {
		from = p.meta // metadata is returned with the packet
	}
	out := append(make([]byte, p.lead), p.window(from-uint64(p.before), p.end+uint64(p.after))...)
	for _, f := range p.frags {
		out = append(out, f.bytes(p)...)
	}
	return out
}

// AdjustHead implements bpf_xdp_adjust_head: data moves by delta bytes, and metadata with it.
// -EINVAL if less than an Ethernet header would remain, or if the headroom (down to the 40 bytes of
// struct xdp_frame) is exceeded.
func (p *Packet) AdjustHead(delta int32) uapi.Errno {
	metalen := p.data - p.meta
	data := p.data + uint64(int64(delta))
	if int64(data-(p.min+xdpFrameHead+metalen)) < 0 || int64(p.end-EthHeader-data) < 0 {
		return uapi.EINVAL
	}
	if metalen != 0 {
		meta := append([]byte(nil), p.window(p.meta, p.data)...)
		copy(p.window(data-metalen, data), meta)
	}
	p.data, p.meta = data, data-metalen
	return p.rebound()
}

// AdjustTail implements bpf_xdp_adjust_tail: the end moves by delta bytes, new bytes are zero.
// -EINVAL if less than an Ethernet header would remain, or if the frame is exceeded.
func (p *Packet) AdjustTail(delta int32) uapi.Errno {
	if len(p.frags) > 0 {
		return p.adjustFragsTail(int(delta))
	}
	end := p.end + uint64(int64(delta))
	if int64(p.max-end) < 0 || int64(end-(p.data+EthHeader)) < 0 {
		return uapi.EINVAL
	}
	if end > p.end {
		clear(p.window(p.end, end))
	}
	p.end = end
	return p.rebound()
}

// AdjustMeta implements bpf_xdp_adjust_meta: the start of metadata moves by delta bytes. -EINVAL
// outside the headroom, -EACCES for a length that is not a multiple of 4 or over [Host.MostMeta].
func (p *Packet) AdjustMeta(delta int32) uapi.Errno {
	meta := p.meta + uint64(int64(delta))
	if int64(meta-(p.min+xdpFrameHead)) < 0 || int64(p.data-meta) < 0 {
		return uapi.EINVAL
	}
	if n := p.data - meta; n%4 != 0 || n > p.k.MostMeta() {
		return uapi.EACCES
	}
	p.meta = meta
	return p.rebound()
}

// MostMeta returns the limit in bytes of the metadata before an XDP packet (xdp_metalen_invalid):
// 32, and 252 from 6.6 on.
func (h *Host) MostMeta() uint64 {
	if since.Of(h.Version()).Has(since.MetaWide) {
		return 252
	}
	return 32
}

// MostMetaIn returns the limit of the metadata that a test run gives to an XDP packet: the headroom
// also has a struct xdp_frame.
func (h *Host) MostMetaIn() uint64 { return min(h.MostMeta(), xdpHeadroom-xdpFrameHead) }

func (p *Packet) rebound() uapi.Errno {
	if err := p.bound(); err != nil {
		p.k.Fail(err)
		return uapi.EFAULT
	}
	return 0
}

// Resize changes the packet as sk_buff operations do: it inserts (n > 0, zeroed) or removes (n < 0)
// bytes at an offset from Data, between 0 and the length. If there is not enough room, the packet
// is copied to a new place and old pointers are dangling, as in the kernel. Metadata is dropped.
// -EINVAL for a range outside the packet, -ENOMEM.
func (p *Packet) Resize(at, n int) uapi.Errno {
	length := p.Len()
	if at < 0 || at > length || n < 0 && -n > length-at || n > MaxPacket-length {
		return uapi.EINVAL
	}
	if len(p.frags) > 0 || p.cloned {
		need := at
		if n < 0 {
			need -= n
		}
		if errno := p.Pull(need); errno != 0 {
			return errno
		}
		length = p.Linear()
	}
	old := append([]byte(nil), p.Bytes()...)
	data := make([]byte, 0, length+max(n, 0))
	data = append(data, old[:at]...)
	if n >= 0 {
		data = append(append(data, make([]byte, n)...), old[at:]...)
	} else {
		data = append(data, old[at-n:]...)
	}
	switch {
	case n < 0 && at-n == length || at == length && n >= 0 && n <= p.Tailroom():
		p.end += uint64(int64(n))
	case n <= p.Headroom(): // bytes before at move
		p.data -= uint64(int64(n))
	default:
		region, name := p.region, p.region.Name
		if err := p.placeAt(name, data, skbHeadroom, skbTailroom); err != nil {
			p.k.Fail(err)
			return uapi.ENOMEM
		}
		p.leave(region)
		return 0
	}
	p.meta = p.data
	copy(p.Bytes(), data)
	return p.rebound()
}

// Unclone gives the packet a place of its own with at least that much headroom and tailroom, as
// pskb_expand_head does: afterwards old pointers are dangling.
func (p *Packet) Unclone(head, tail int) uapi.Errno {
	data, region := append([]byte(nil), p.Bytes()...), p.region
	if err := p.placeAt(region.Name, data, uint64(max(head, p.Headroom())), uint64(max(tail, p.Tailroom()))); err != nil {
		p.k.Fail(err)
		return uapi.ENOMEM
	}
	p.leave(region)
	return 0
}

const ProtoUDP = 17
