package btf

import (
	"encoding/binary"
	"strings"
	"sync"
)

// fewLookups is the number of symbols that are searched; then the index is made, which takes as
// long as seven searches.
const fewLookups = 6

// symbolSearch is a search for the symbols of one essential name: what it found so far, and where
// it goes on. A name is often looked up again: programs share hooks, and the loader and the machine
// both look for them.
type symbolSearch struct {
	name        string
	first, mask uint64 // the first 8 bytes of the name, or fewer

	mu    sync.Mutex
	found []uint32 // positions in Spec.offs, ascending
	next  int      // the position after the last one compared
}

// search returns the search for a symbol, or nil if others were looked up before and the index is
// to be made.
func (x *nameIndex) search(essential string) *symbolSearch {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, q := range x.searches {
		if q.name == essential {
			return q
		}
	}
	if len(x.searches) >= fewLookups {
		return nil
	}
	q := &symbolSearch{name: strings.Clone(essential)}
	var first [8]byte
	n := copy(first[:], essential)
	q.first, q.mask = binary.LittleEndian.Uint64(first[:]), ^uint64(0)>>(64-8*n)
	x.searches = append(x.searches, q)
	return q
}

// searchSymbols is eachNamed for symbols without an index.
func (s *Spec) searchSymbols(q *symbolSearch, f func(id ID, k Kind, name string) bool) {
	for i := 0; ; i++ {
		position, ok := s.foundSymbol(q, i)
		if !ok || !s.named(position, q.name, f) {
			return
		}
	}
}

// foundSymbol returns the position of the i-th symbol that a search finds, where those before are
// known. It compares the beginning of every name; kinds are compared after names, since no branch
// predictor can learn their order.
func (s *Spec) foundSymbol(q *symbolSearch, i int) (position uint32, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i < len(q.found) {
		return q.found[i], true
	}
	want, mask := q.first, q.mask
	table, types := s.strTable, s.types
	for at, start := range s.offs[q.next:] {
		off := uint64(u32(types[start:])) - uint64(s.strBase) // a name in the base's table is out of range
		if off+8 <= uint64(len(table)) && off < off+8 && binary.LittleEndian.Uint64(table[off:])&mask != want {
			continue
		}
		position := uint32(q.next + at)
		if s.kindAt(start).isSymbol() && !s.named(position, q.name, func(ID, Kind, string) bool { return false }) {
			q.found, q.next = append(q.found, position), int(position)+1
			return position, true
		}
	}
	q.next = len(s.offs)
	return 0, false
}
