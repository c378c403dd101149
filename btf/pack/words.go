package pack

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/btf"
)

// headWords are the words that every type starts with: name, info, size or type.
const headWords = 3

// shape is what the words of a type of some kind and number of entries are.
type shape struct {
	fixed, entry []btf.Word
	vlen         int
}

// shapeOf returns the shape of types with an info word; ok is false for unknown kinds.
func shapeOf(info uint32) (s shape, ok bool) {
	s.fixed, s.entry = btf.Info(info).Kind().Words()
	s.vlen = int(btf.Info(info).Vlen())
	return s, s.fixed != nil
}

// len returns the number of words of a type.
func (s *shape) len() int { return 2 + len(s.fixed) + s.vlen*len(s.entry) }

// each calls f for every word but the info.
func (s *shape) each(f func(i int, w btf.Word)) {
	f(0, btf.WordName)
	for i, w := range s.fixed {
		f(2+i, w)
	}
	if len(s.entry) == 0 {
		return
	}
	at := 2 + len(s.fixed)
	for range s.vlen {
		for i, w := range s.entry {
			f(at+i, w)
		}
		at += len(s.entry)
	}
}

// types are the words of types one after another.
type types struct {
	words []uint32
	at    []uint32 // where each starts; the first is of id 1
}

// split finds the types in a type section; ok is false where it is malformed.
func split(section []byte, order binary.ByteOrder) (t types, ok bool) {
	if len(section)%4 != 0 {
		return t, false
	}
	t.words = make([]uint32, len(section)/4)
	for i := range t.words {
		t.words[i] = order.Uint32(section[4*i:])
	}
	for at := 0; at < len(t.words); {
		if len(t.words)-at < headWords {
			return t, false
		}
		s, known := shapeOf(t.words[at+1])
		if !known || s.len() > len(t.words)-at {
			return t, false
		}
		t.at = append(t.at, uint32(at))
		at += s.len()
	}
	return t, true
}

// of returns the words of the type with an index, which is its id minus 1.
func (t *types) of(i int) []uint32 {
	end := len(t.words)
	if i+1 < len(t.at) {
		end = int(t.at[i+1])
	}
	return t.words[t.at[i]:end:end]
}
