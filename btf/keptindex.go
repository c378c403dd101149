package btf

import (
	"encoding/binary"
	"unsafe"
)

// keptWords are the words before the tables of a kept index: what it was made of, and by which
// version of this package.
type keptWords struct {
	version, kinds, hash  uint32 // the hash of a name, so that an index of another hash is none
	raw                   uint32 // size of the BTF
	typeOff, typeLen      uint32
	strOff, strLen        uint32
	ptrSize               uint32
	types                 uint32
	typeNames, typeSlots  uint32 // length of entries and of starts
	symbolNames, symSlots uint32
}

// keptVersion changes with what tables mean.
const keptVersion = 1

const keptSize = unsafe.Sizeof(keptWords{}) / 4

// kept returns the words for the index of a Spec without its tables' lengths.
func (s *Spec) kept() keptWords {
	return keptWords{
		version: keptVersion, kinds: uint32(kindCount), hash: hashName("task_struct"), raw: uint32(len(s.raw)),
		typeOff: s.hdr.typeOff, typeLen: s.hdr.typeLen, strOff: s.hdr.strOff, strLen: s.hdr.strLen,
	}
}

// Index returns what parsing the BTF found, where each type is and which have which names, for
// [LoadIndexed]. It is a third of the BTF's size. It returns nil for split BTF.
func (s *Spec) Index() []byte {
	if s.base != nil {
		return nil
	}
	names, symbols := s.names(KindStruct), s.names(KindFunc)
	w := s.kept()
	w.ptrSize, w.types = uint32(s.ptrSize), uint32(len(s.offs))
	w.typeNames, w.typeSlots = uint32(len(names.entries)), uint32(len(names.starts))
	w.symbolNames, w.symSlots = uint32(len(symbols.entries)), uint32(len(symbols.starts))
	var out []byte
	for _, table := range [][]uint32{(*[keptSize]uint32)(unsafe.Pointer(&w))[:], s.offs, names.entries, names.starts, symbols.entries, symbols.starts} {
		for _, v := range table {
			out = binary.LittleEndian.AppendUint32(out, v)
		}
	}
	return out
}

// LoadIndexed is [LoadBytes] for raw BTF whose [Spec.Index] was kept: types are not read before
// someone asks for them. The index must be that of the same bytes, and neither may change. ok is
// false if it is obviously not, or of another version of this package.
func LoadIndexed(name string, raw, index []byte) (s *Spec, ok bool) {
	words := asWords(index)
	if len(words) < int(keptSize) {
		return nil, false
	}
	s, err := open(raw, nil)
	if err != nil {
		return nil, false
	}
	w := *(*keptWords)(unsafe.Pointer(&words[0]))
	want := s.kept()
	want.ptrSize, want.types = w.ptrSize, w.types
	want.typeNames, want.typeSlots, want.symbolNames, want.symSlots = w.typeNames, w.typeSlots, w.symbolNames, w.symSlots
	tables := words[keptSize:]
	if w != want || !powerOfTwo(w.typeSlots-1) || !powerOfTwo(w.symSlots-1) ||
		uint64(w.types)+uint64(w.typeNames)+uint64(w.typeSlots)+uint64(w.symbolNames)+uint64(w.symSlots) != uint64(len(tables)) {
		return nil, false
	}
	next := func(n uint32) (table []uint32) {
		table, tables = tables[:n:n], tables[n:]
		return table
	}
	s.name, s.ptrSize, s.offs = name, int(w.ptrSize), next(w.types)
	s.typeNames.keep(next(w.typeNames), next(w.typeSlots))
	s.symbolNames.keep(next(w.symbolNames), next(w.symSlots))
	s.makePages()
	return s, true
}

// keep sets the tables of an index, which is not made then.
func (x *nameIndex) keep(entries, starts []uint32) {
	x.once.Do(func() {
		x.entries, x.starts = entries, starts
		x.made.Store(true)
	})
}

func powerOfTwo(n uint32) bool { return n > 0 && n&(n-1) == 0 }

// asWords returns the little-endian words of b: b itself where the host has them so, else a copy.
func asWords(b []byte) []uint32 {
	n := len(b) / 4
	if n == 0 {
		return nil
	}
	one := uint16(1)
	if p := unsafe.Pointer(&b[0]); uintptr(p)%4 == 0 && *(*byte)(unsafe.Pointer(&one)) == 1 {
		return unsafe.Slice((*uint32)(p), n)
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = u32(b[4*i:])
	}
	return out
}
