package object

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/mem"
)

// Embed creates an object of a type at an offset of untyped memory, which then becomes visible
// there: the registers on a kernel stack. With a nil layout it is size untyped bytes. Parts must
// not overlap.
func (o *Object) Embed(role string, l *Layout, off, size uint64) (*Object, error) {
	if l != nil {
		size = l.Size
	}
	if o.layout != nil || size == 0 || off > o.size || size > o.size-off {
		return nil, fmt.Errorf("kernel: object %s of %d bytes has no room for %d bytes at %d", o.role, o.size, size, off)
	}
	for _, p := range o.parts {
		if at := p.base - o.base; off < at+p.size && at < off+size {
			return nil, fmt.Errorf("kernel: object %s: %s and %s overlap", o.role, role, p.role)
		}
	}
	p := o.k.MakeAt(role, l, size, o.region, o.base+off)
	p.parent, p.depth = o, o.depth+1
	o.parts = append(o.parts, p)
	return p, nil
}

// part returns the part that contains storage byte off, and the end of the range for which the
// result is valid: the end of the part, or the start of the next one.
func (o *Object) part(off uint64) (p *Object, end uint64) {
	end = o.size
	for _, q := range o.parts {
		at := q.base - o.base
		if off >= at && off < at+q.size {
			return q, at + q.size
		}
		if at > off {
			end = min(end, at)
		}
	}
	return nil, end
}

// eachPart calls do for the pieces of [off, off+size) by owner, the object itself or one of its
// parts, with the offset there.
func (o *Object) eachPart(off, size uint64, do func(p *Object, off, from, to uint64) *mem.Fault) *mem.Fault {
	for done := uint64(0); done < size; {
		p, end := o.part(off + done)
		n := min(end, off+size) - off - done
		at := off + done
		if p == nil {
			p = o
		} else {
			at -= p.base - o.base
		}
		if f := do(p, at, done, done+n); f != nil {
			return f
		}
		done += n
	}
	return nil
}

// Forget resets an object, as if nothing in it had been set or read.
func (o *Object) Forget() {
	s := o.touch()
	clear(s.data)
	clear(s.flags)
	s.members, s.populated = nil, false
}
