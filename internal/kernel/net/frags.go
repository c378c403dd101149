package net

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// A packet in several pieces: programs see the linear part directly; the rest is in fragments of at
// most a page. Only bpf_dynptr_slice sees the addresses of fragments.

// maxFrags is MAX_SKB_FRAGS.
const maxFrags = 17

// fragment is a page with bytes of a packet from its start on.
type fragment struct {
	region *mem.Region
	size   int
}

// Linear returns the length of the packet's linear part in bytes.
func (p *Packet) Linear() int { return int(p.end - p.data) }

// Fragments returns the number of fragments after the linear part.
func (p *Packet) Fragments() int { return len(p.frags) }

// Clone marks the packet's bytes as shared with another sk_buff: a write to it moves it first.
func (p *Packet) Clone() { p.cloned = true }

// addFrags adds bytes after the linear part, in pages. -ENOMEM if they do not fit.
func (p *Packet) addFrags(data []byte) error {
	for len(data) > 0 {
		if len(p.frags) == maxFrags {
			return fmt.Errorf("kernel: packet of more than %d fragments: %w", maxFrags, uapi.ENOMEM)
		}
		n := min(len(data), uapi.PageSize)
		if err := p.addFrag(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (p *Packet) addFrag(data []byte) error {
	r, err := p.k.Mem().Alloc(uapi.PageSize, mem.Region{Kind: mem.Packet, Name: p.region.Name + " fragment", ReadOnly: p.ro, Owner: p})
	if err != nil {
		return fmt.Errorf("kernel: packet: %w", err)
	}
	copy(p.k.Mem().Bytes(r), data)
	p.frags = append(p.frags[:len(p.frags):len(p.frags)], fragment{r, len(data)})
	return p.k.Mem().SetBounds(r, r.Base, r.Base+uint64(len(data)))
}

func (f fragment) bytes(p *Packet) []byte { return p.k.Mem().ExtentBytes(f.region)[:f.size] }

// fragsLen returns the number of bytes in fragments.
func (p *Packet) fragsLen() int {
	n := 0
	for _, f := range p.frags {
		n += f.size
	}
	return n
}

// ReadAt copies bytes starting at an offset, across pieces; they must exist.
func (p *Packet) ReadAt(b []byte, off int) {
	p.eachPiece(off, len(b), func(piece []byte, at int) { copy(b[at:], piece) })
}

// WriteAt stores bytes starting at an offset, and notifies the memory.
func (p *Packet) WriteAt(b []byte, off int) {
	p.eachPiece(off, len(b), func(piece []byte, at int) { copy(piece, b[at:]) })
	if n := min(len(b), p.Linear()-off); n > 0 {
		p.k.Mem().NoteWrite(p.data+uint64(off), uint64(n))
	}
}

// eachPiece visits the pieces of a range.
func (p *Packet) eachPiece(off, n int, visit func(piece []byte, at int)) {
	at, start := 0, 0
	one := func(piece []byte) {
		from, to := max(off+at-start, 0), min(off+n-start, len(piece))
		if from < to && at < n {
			visit(piece[from:to], at)
			at += to - from
		}
		start += len(piece)
	}
	one(p.Bytes())
	for _, f := range p.frags {
		one(f.bytes(p))
	}
}

// Whole returns all bytes of the packet, without a copy if it has no fragments.
func (p *Packet) Whole() []byte {
	if len(p.frags) == 0 {
		return p.Bytes()
	}
	b := make([]byte, p.Len())
	p.ReadAt(b, 0)
	return b
}

// Pointer returns the address of a range within one piece; ok is false if it spans several
// (bpf_xdp_pointer).
func (p *Packet) Pointer(off, n int) (addr uint64, ok bool) {
	if off < p.Linear() || len(p.frags) == 0 {
		return p.data + uint64(off), off+n <= p.Linear()
	}
	off -= p.Linear()
	for _, f := range p.frags {
		if off < f.size {
			return f.region.Base + uint64(off), off+n <= f.size
		}
		off -= f.size
	}
	return 0, false
}

// Pull makes the first n bytes linear, as skb_ensure_writable does: -ENOMEM if there are fewer. A
// shared packet is copied. If the packet moves, old pointers are dangling.
func (p *Packet) Pull(n int) uapi.Errno {
	have := p.Linear()
	switch {
	case n > p.Len():
		return uapi.ENOMEM
	case n <= have && !p.cloned:
		return 0
	case n <= have:
		p.cloned = false
		return p.Unclone(0, 0)
	}
	p.cloned = false
	more := make([]byte, n-have)
	p.ReadAt(more, have)
	if n-have > p.Tailroom() {
		if errno := p.Unclone(0, n-have+skbTailroom); errno != 0 {
			return errno
		}
	}
	p.end += uint64(len(more))
	copy(p.window(p.end-uint64(len(more)), p.end), more)
	p.drop(len(more))
	return p.rebound()
}

// drop removes bytes from the front of the fragments.
func (p *Packet) drop(n int) {
	frags := p.frags
	p.frags = nil
	for _, f := range frags {
		cut := min(n, f.size)
		n -= cut
		rest := append([]byte(nil), f.bytes(p)[cut:]...)
		if cut == 0 {
			p.frags = append(p.frags, f)
			continue
		}
		p.k.Mem().Free(f.region)
		if len(rest) > 0 {
			if err := p.addFrag(rest); err != nil {
				p.k.Fail(err)
			}
		}
	}
}

// PullXDP implements bpf_xdp_pull_data: the first n bytes become linear, for which the linear part
// grows at its end and then, with metadata, moves toward its start. -EINVAL if there are fewer
// bytes or the page has no room.
func (p *Packet) PullXDP(n int) uapi.Errno {
	delta := n - p.Linear()
	if delta <= 0 {
		return 0
	}
	headroom := int(p.meta - p.min - xdpFrameHead)
	if n > p.Len() || delta > p.Tailroom()+headroom {
		return uapi.EINVAL
	}
	more := make([]byte, delta)
	p.ReadAt(more, p.Linear())
	if shift := delta - p.Tailroom(); shift > 0 {
		old := append([]byte(nil), p.window(p.meta, p.end)...)
		p.meta, p.data, p.end = p.meta-uint64(shift), p.data-uint64(shift), p.end-uint64(shift)
		copy(p.window(p.meta, p.end), old)
	}
	p.end += uint64(delta)
	copy(p.window(p.end-uint64(delta), p.end), more)
	p.drop(delta)
	return p.rebound()
}

// adjustFragsTail implements bpf_xdp_adjust_tail for a packet with fragments: it grows in the last
// page, and shrinks fragment by fragment.
func (p *Packet) adjustFragsTail(delta int) uapi.Errno {
	if delta >= 0 {
		f := &p.frags[len(p.frags)-1]
		if delta > uapi.PageSize-f.size {
			return uapi.EINVAL
		}
		was := f.size
		p.frags = append([]fragment(nil), p.frags...)
		f = &p.frags[len(p.frags)-1]
		f.size += delta
		clear(f.bytes(p)[was:])
		return p.boundFrag(*f)
	}
	n := -delta
	if n > p.Len()-EthHeader {
		return uapi.EINVAL
	}
	p.frags = append([]fragment(nil), p.frags...)
	for n > 0 && len(p.frags) > 0 {
		f := &p.frags[len(p.frags)-1]
		cut := min(n, f.size)
		n -= cut
		if cut == f.size {
			p.k.Mem().Free(f.region)
			p.frags = p.frags[:len(p.frags)-1]
			continue
		}
		f.size -= cut
		if errno := p.boundFrag(*f); errno != 0 {
			return errno
		}
	}
	if len(p.frags) == 0 {
		p.end -= uint64(n)
	}
	return p.rebound()
}

func (p *Packet) boundFrag(f fragment) uapi.Errno {
	if err := p.k.Mem().SetBounds(f.region, f.region.Base, f.region.Base+uint64(f.size)); err != nil {
		p.k.Fail(err)
		return uapi.EFAULT
	}
	return 0
}
