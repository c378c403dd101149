package btf

import "encoding/binary"

// fewLookups is the number of lookups that search; then the index is made, which takes as long as some ten of them.
const fewLookups = 6

// search is eachNamed without an index: it compares the beginning of every name. Kinds are compared after names, since
// no branch predictor can learn their order.
func (s *Spec) search(k Kind, essential string, f func(id ID, k Kind, name string) bool) {
	var first [8]byte
	n := copy(first[:], essential)
	want, mask := binary.LittleEndian.Uint64(first[:]), ^uint64(0)>>(64-8*n)
	table, types := s.strTable, s.types
	differs := func(at uint32) bool {
		name := u32(types[at:])
		off := uint64(name) - uint64(s.strBase) // a name in the base's table is out of range
		return off+8 <= uint64(len(table)) && off < off+8 && binary.LittleEndian.Uint64(table[off:])&mask != want
	}
	if !k.isSymbol() {
		for _, i := range s.namedTypes {
			if !differs(s.offs[i]) && !s.named(i, essential, f) {
				return
			}
		}
		return
	}
	for i, at := range s.offs {
		if !differs(at) && s.kindAt(at).isSymbol() && !s.named(uint32(i), essential, f) {
			return
		}
	}
}
