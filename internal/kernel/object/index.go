package object

// Nodes of an xarray have this many slots (XA_CHUNK_SIZE).
const (
	chunkBits = 6
	chunk     = 1 << chunkBits
)

// Index makes an array of pointers (struct xarray; struct radix_tree_root is the same) lead from an
// index to an address, as default content (xas_create, xas_store). An empty array gets a first node
// of the shift, which is that of the largest index it will have; an array without nodes has index 0
// alone. What the user set stays.
func (b Builder) Index(path string, shift, index, addr uint64) {
	head, ok := b.Field(path + ".xa_head")
	if !ok || b.Taken(head) || addr == 0 {
		return
	}
	s := b.Object.k
	entry := b.Object.storedWord(head.Off)
	if entry == 0 {
		o := s.indexNode(b.Role(path), b.AddrOf(path), shift, b.Object)
		if o == nil {
			return
		}
		entry = o.Addr() | 2 // xa_mk_node
		b.Object.PokeWord(head.Off, entry)
	}
	for o := s.objectAt(entry &^ 3); o != nil; {
		n := Fill(o)
		slots, ok := n.Field("slots")
		f, known := n.Field("shift")
		if !ok || !known || slots.Size%chunk != 0 {
			return
		}
		at := o.Stored(f)
		if index>>at >= chunk { // of the first node alone: those below have a part of the index
			return
		}
		word, slot := slots.Size/chunk, index>>at
		index &= 1<<at - 1
		next := o.storedWord(slots.Off + slot*word)
		count, _ := n.Field("count")
		switch {
		case at == 0:
			if next == 0 {
				n.Num("count", o.Stored(count)+1)
			}
			o.PokeWord(slots.Off+slot*word, addr)
			return
		case next == 0:
			child := s.indexNode(o.role+".slots", b.AddrOf(path), at-chunkBits, o)
			if child == nil {
				return
			}
			Fill(child).Ptr("parent", o)
			Fill(child).Num("offset", slot)
			n.Num("count", o.Stored(count)+1)
			next = child.Addr() | 2
			o.PokeWord(slots.Off+slot*word, next)
		}
		o = s.objectAt(next &^ 3)
	}
}

// indexNode makes an empty node of an array.
func (s *Space) indexNode(role string, array, shift uint64, parent *Object) *Object {
	l := s.LayoutNamed("xa_node")
	if l == nil || l.Size == 0 {
		return nil
	}
	o, err := s.Make(role, l, 1, parent)
	if err != nil {
		s.Fail(err)
		return nil
	}
	o.builtin = true
	o.Poke(0, make([]byte, o.size), Made)
	Fill(o).Num("shift", shift)
	Fill(o).Num("array", array)
	return o
}
