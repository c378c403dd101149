package btf

import "encoding/binary"

// fewLookups is the number of lookups of symbols that search; then the index is made, which takes as long as seven of them.
const fewLookups = 6

// searchSymbols is eachNamed for symbols without an index: it compares the beginning of every name. Kinds are compared
// after names, since no branch predictor can learn their order.
func (s *Spec) searchSymbols(essential string, f func(id ID, k Kind, name string) bool) {
	var first [8]byte
	n := copy(first[:], essential)
	want, mask := binary.LittleEndian.Uint64(first[:]), ^uint64(0)>>(64-8*n)
	table, types := s.strTable, s.types
	for i, at := range s.offs {
		off := uint64(u32(types[at:])) - uint64(s.strBase) // a name in the base's table is out of range
		if off+8 <= uint64(len(table)) && off < off+8 && binary.LittleEndian.Uint64(table[off:])&mask != want {
			continue
		}
		if s.kindAt(at).isSymbol() && !s.named(uint32(i), essential, f) {
			return
		}
	}
}
