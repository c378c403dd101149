package net

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// struct skb_shared_info is after the buffer of an sk_buff, at skb_end_pointer.

// GSO are the fields of skb_shared_info that __sk_buff shows too.
type GSO struct{ Size, Segs, Stamp uint64 }

// BufferEnd returns the address after the buffer of an sk_buff, where its skb_shared_info is.
func (p *Packet) BufferEnd() uint64 {
	base, size := p.region.Extent()
	return base + size - p.room
}

// buffer returns the bytes of the packet's memory without the struct after it.
func (p *Packet) buffer() []byte {
	b := p.k.Mem().ExtentBytes(p.region)
	return b[:uint64(len(b))-p.room]
}

// ShareInfo puts the packet's skb_shared_info after its buffer, or brings it up to date. It does
// nothing for a packet without room for one, and for BTF that lacks the type.
func (p *Packet) ShareInfo(g GSO) error {
	l := p.k.LayoutNamed("skb_shared_info")
	if l == nil || l.Size > p.room {
		return nil
	}
	o := p.sharedInfo()
	if o == nil {
		o = p.k.MakeAt("skb_shared_info", l, l.Size, p.region, p.BufferEnd())
		o.MarkBuiltin()
		part := mem.Region{Kind: mem.KernelObject, Name: "skb_shared_info", View: o, Owner: o}
		if _, err := p.k.Mem().Attach(p.region, p.BufferEnd(), l.Size, part); err != nil {
			return fmt.Errorf("kernel: packet: %w", err)
		}
	}
	b := object.Build(o)
	if b.All(make([]byte, l.Size)); len(p.frags) > 0 {
		if err := p.shareFrags(b); err != nil {
			return err
		}
	}
	b.Num("gso_size", g.Size)
	b.Num("gso_segs", g.Segs)
	b.Num("hwtstamps.hwtstamp", g.Stamp)
	b.Num("meta_len", p.data-p.meta)
	b.Num("dataref.counter", 1)
	return nil
}

// shareFrags lists the fragments. A fragment is a bio_vec or, from 6.10 on, an skb_frag of the same
// three values.
func (p *Packet) shareFrags(b object.Builder) error {
	b.Num("nr_frags", uint64(len(p.frags)))
	for i, f := range p.frags {
		page, err := p.k.fragmentPage(i)
		if err != nil {
			return err
		}
		at := fmt.Sprintf("frags[%d].", i)
		b.Ptr(at+"netmem|"+at+"bv_page|"+at+"page.p", page)
		b.Num(at+"len|"+at+"bv_len|"+at+"size", uint64(f.size))
		b.Num(at+"offset|"+at+"bv_offset|"+at+"page_offset", 0)
	}
	return nil
}

// fragmentPage returns the struct page of a fragment, nil if the BTF lacks it.
func (h *Host) fragmentPage(i int) (*object.Object, error) {
	key := fmt.Sprintf("skb fragment page %d", i)
	if o := h.Kept(key); o != nil || h.LayoutNamed("page") == nil {
		return o, nil
	}
	o, err := h.NewObjectNamed(key, "page")
	if err != nil {
		return nil, err
	}
	o.MarkBuiltin()
	h.Keep(key, o)
	return o, nil
}

// sharedInfo returns the struct after the buffer, or nil if no one has asked for it.
func (p *Packet) sharedInfo() *object.Object {
	if part := p.region.Part(); part != nil {
		o, _ := part.Owner.(*object.Object)
		return o
	}
	return nil
}

// release frees a place of the packet with the struct after it.
func (p *Packet) release(r *mem.Region) {
	if part := r.Part(); part != nil {
		if o, ok := part.Owner.(*object.Object); ok {
			p.k.Discard(o)
		}
	}
	p.k.Mem().Free(r)
}
