package object

import "github.com/bpfrun/bpfrun/internal/endian"

// Twin creates an object like another one, with an address of its own: what it has in its fields,
// and what it points to, is the same. What the other one gets only when it is read, the twin gets
// from it. Addresses inside the other one are those inside the twin.
func (s *Space) Twin(o *Object) (*Object, error) {
	t := &Object{
		k: s, role: o.role, layout: o.layout, count: o.count, size: o.size, face: o.face, faceOff: o.faceOff,
		char: o.char, frozen: true, like: o,
	}
	if err := s.place(t); err != nil {
		return nil, err
	}
	if o.st.data != nil {
		t.adopt(0, t.size)
	}
	if len(o.st.members) > 0 {
		st := t.touch()
		st.members = append(st.members, o.st.members...)
	}
	return t, nil
}

// inherit gives a twin the bytes [off, off+size) as far as it has none. In strict mode there may be
// none.
func (o *Object) inherit(off, size uint64) {
	if _, _, f := o.like.read(off, size); f == nil && o.like.st.data != nil {
		o.adopt(off, size)
	}
}

// adopt copies the bytes [off, off+size) that the other object has and the twin does not have.
func (o *Object) adopt(off, size uint64) {
	from, to := o.like.st, o.touch()
	word := uint64(o.k.mem.PointerSize())
	for at := off; at < off+size; {
		n := uint64(1)
		if at%word == 0 && at+word <= off+size && o.status(at, word) == never && o.like.status(at, word) != never {
			n = word
		}
		if to.flags[at] != never || from.flags[at] == never {
			at++
			continue
		}
		copy(to.data[at:at+n], from.data[at:at+n])
		copy(to.flags[at:at+n], from.flags[at:at+n])
		if n == word {
			if v := endian.Uint(o.k.Order(), to.data[at:at+n]); v-o.like.base < o.size {
				endian.PutUint(o.k.Order(), to.data[at:at+n], v-o.like.base+o.base)
			}
		}
		at += n
	}
}
