// Package dedup merges equal types of BTF as libbpf's btf__dedup does: equal types of several
// compilation units become one, and forward declarations become the types they declare. It works on
// self-contained BTF and on BTF that continues a base (split BTF).
//
// Start at [Of], or at [New] and [Types.Add]; then call [Types.Dedup] and [Types.Marshal].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package dedup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
)

// Errors; test with [errors.Is].
var (
	// ErrLoop: a reference cycle that contains no struct or union.
	ErrLoop = errors.New("loop of types that no struct breaks")
	// ErrTooMany: there are more types than ids.
	ErrTooMany = errors.New("too many types")
	// ErrBadID: a reference to a type that does not exist.
	ErrBadID = errors.New("reference to a type that does not exist")
)

// maxTypes limits the types of one BTF (BTF_MAX_NR_TYPES of libbpf).
const maxTypes = 0x7fffffff

// Types is BTF under construction: types as words, and their strings.
type Types struct {
	base  *btf.Spec
	first uint32
	// words holds all types one after another, including the base's; at has their indexes. Index 0
	// is void.
	words []uint32
	at    []uint32
	strs  map[string]uint32
	table []byte // own strings
	start uint32 // offset of the first own string
}

// New returns an empty set of types that continues base if that is not nil.
func New(base *btf.Spec) (*Types, error) {
	t := &Types{base: base, first: 1, at: []uint32{0}, words: []uint32{0, 0, 0}, strs: map[string]uint32{"": 0}, table: []byte{0}}
	if base == nil {
		return t, nil
	}
	t.table, t.start = nil, base.StringsSize()
	base.EachString(func(off uint32, s string) {
		if _, ok := t.strs[s]; !ok {
			t.strs[s] = off
		}
	})
	for id := btf.ID(1); int(id) < base.NumTypes(); id++ {
		if err := t.addType(base.MustType(id)); err != nil {
			return nil, err
		}
	}
	t.first = uint32(len(t.at))
	return t, nil
}

// Of returns the types of spec, which continue its base if it has one.
func Of(spec *btf.Spec) (*Types, error) {
	t, err := New(spec.Base())
	if err != nil {
		return nil, err
	}
	for id := spec.FirstID(); int(id) < spec.NumTypes(); id++ {
		if err := t.addType(spec.MustType(id)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Str returns the offset of a string, adding it if it is new.
func (t *Types) Str(s string) uint32 {
	if off, ok := t.strs[s]; ok {
		return off
	}
	off := t.start + uint32(len(t.table))
	t.table = append(append(t.table, s...), 0)
	t.strs[s] = off
	return off
}

// StrBytes is Str for bytes, which are copied if they are new.
func (t *Types) StrBytes(s []byte) uint32 {
	if off, ok := t.strs[string(s)]; ok {
		return off
	}
	return t.Str(string(s))
}

// NextID returns the id of the next type.
func (t *Types) NextID() uint32 { return uint32(len(t.at)) }

// Info returns the second word of a type.
func Info(kind btf.Kind, vlen int, flag bool) uint32 {
	return uint32(btf.MakeInfo(kind, vlen, flag))
}

// Add appends a type and returns its id. The words are name, info, size or type, and the kind's
// data. Dedup and Marshal check references.
func (t *Types) Add(words ...uint32) uint32 {
	id := t.NextID()
	t.at = append(t.at, uint32(len(t.words)))
	t.words = append(t.words, words...)
	return id
}

// Extend appends words to the last type.
func (t *Types) Extend(words ...uint32) { t.words = append(t.words, words...) }

// Of returns the words of a type, which the caller may change.
func (t *Types) Of(id uint32) []uint32 {
	end := len(t.words)
	if int(id)+1 < len(t.at) {
		end = int(t.at[id+1])
	}
	return t.words[t.at[id]:end:end]
}

// Own returns the number of types without the base's.
func (t *Types) Own() int { return len(t.at) - int(t.first) }

// First returns the id of the first type after the base's.
func (t *Types) First() uint32 { return t.first }

// Kind returns the kind of a type.
func (t *Types) Kind(id uint32) btf.Kind { return kindOf(t.words[t.at[id]:]) }

func kindOf(w []uint32) btf.Kind { return btf.Info(w[1]).Kind() }
func vlenOf(w []uint32) int      { return int(btf.Info(w[1]).Vlen()) }
func flagOf(w []uint32) bool     { return btf.Info(w[1]).Flag() }

func (t *Types) addType(x *btf.Type) error {
	if len(t.at) >= maxTypes || uint64(len(t.words)) > 1<<31 {
		return fmt.Errorf("%w: more than %d", ErrTooMany, len(t.at))
	}
	vlen := len(x.Members) + len(x.Values) + len(x.Params) + len(x.Vars)
	third := x.Size
	switch x.Kind {
	case btf.KindFunc:
		vlen, third = int(x.Linkage), uint32(x.Ref)
	case btf.KindPtr, btf.KindTypedef, btf.KindVolatile, btf.KindConst, btf.KindRestrict, btf.KindFuncProto, btf.KindVar, btf.KindDeclTag, btf.KindTypeTag:
		third = uint32(x.Ref)
	}
	t.Add(t.Str(x.Name), Info(x.Kind, vlen, x.Flag), third)
	switch x.Kind {
	case btf.KindInt:
		t.Extend(uint32(x.Int.Encoding)<<24 | uint32(x.Int.Offset)<<16 | uint32(x.Int.Bits))
	case btf.KindArray:
		t.Extend(uint32(x.Ref), uint32(x.Array.Index), x.Array.Nelems)
	case btf.KindVar:
		t.Extend(x.Linkage)
	case btf.KindDeclTag:
		t.Extend(uint32(x.ComponentIdx))
	}
	for i := range x.Members {
		m := &x.Members[i]
		off := m.BitOffset
		if x.Flag {
			off |= m.BitfieldSize << 24
		}
		t.Extend(t.Str(m.Name), uint32(m.Type), off)
	}
	for _, v := range x.Values {
		t.Extend(t.Str(v.Name), uint32(v.Value))
		if x.Kind == btf.KindEnum64 {
			t.Extend(uint32(v.Value >> 32))
		}
	}
	for _, p := range x.Params {
		t.Extend(t.Str(p.Name), uint32(p.Type))
	}
	for _, v := range x.Vars {
		t.Extend(uint32(v.Type), v.Offset, v.Size)
	}
	return nil
}

// wordsOf is where the words of a kind's types are that hold ids and names.
type wordsOf struct {
	ids      []int // of every type
	stride   int   // words of an entry
	id, name int   // in an entry; -1: none
}

var kindWords = sync.OnceValue(func() *[128]wordsOf {
	var out [128]wordsOf
	for k := range out {
		fixed, entry := btf.Kind(k).Words()
		w := &out[k]
		*w = wordsOf{stride: len(entry), id: slices.Index(entry, btf.WordID), name: slices.Index(entry, btf.WordName)}
		for i, word := range fixed {
			if word == btf.WordID {
				w.ids = append(w.ids, 2+i)
			}
		}
	}
	return &out
})

// eachRef calls f for each word of a type that holds a type id.
func eachRef(w []uint32, f func(*uint32)) {
	at := &kindWords()[kindOf(w)]
	for _, i := range at.ids {
		f(&w[i])
	}
	if at.id >= 0 {
		for i := 3 + at.id; i < len(w); i += at.stride {
			f(&w[i])
		}
	}
}

// eachName calls f for each word of a type that holds a string offset.
func eachName(w []uint32, f func(*uint32)) {
	f(&w[0])
	if at := &kindWords()[kindOf(w)]; at.name >= 0 {
		for i := 3 + at.name; i < len(w); i += at.stride {
			f(&w[i])
		}
	}
}

// checkRefs returns ErrBadID when a type refers to one that does not exist.
func (t *Types) checkRefs() error {
	n := t.NextID()
	for id := t.first; id < n; id++ {
		var bad uint32
		eachRef(t.Of(id), func(r *uint32) {
			if *r >= n {
				bad = *r
			}
		})
		if bad != 0 {
			return fmt.Errorf("%w: [%d] %s refers to [%d] of %d", ErrBadID, id, t.Kind(id), bad, n)
		}
	}
	return nil
}

// Marshal returns the types without the base's as raw BTF, with only the strings they use. It
// returns ErrBadID for a reference to a missing type.
func (t *Types) Marshal(bo binary.ByteOrder) ([]byte, error) {
	order := binary.AppendByteOrder(binary.LittleEndian)
	if endian.IsBig(bo) {
		order = binary.BigEndian
	}
	if err := t.checkRefs(); err != nil {
		return nil, err
	}
	var table []byte
	if t.base == nil {
		table = append(table, 0)
	}
	moved := map[uint32]uint32{}
	types := make([]byte, 0, 4*len(t.words))
	var w []uint32
	for id := t.first; id < t.NextID(); id++ {
		w = append(w[:0], t.Of(id)...)
		eachName(w, func(name *uint32) {
			off := *name
			if off < t.start || off == 0 {
				return
			}
			to, ok := moved[off]
			if !ok {
				s := t.table[off-t.start:]
				n := 0
				for s[n] != 0 {
					n++
				}
				to = t.start + uint32(len(table))
				table = append(table, s[:n+1]...)
				moved[off] = to
			}
			*name = to
		})
		for _, v := range w {
			types = order.AppendUint32(types, v)
		}
	}
	out := make([]byte, 0, 24+len(types)+len(table))
	out = order.AppendUint16(out, 0xeb9f)
	out = append(out, 1, 0)
	for _, v := range []int{24, 0, len(types), len(types), len(table)} {
		out = order.AppendUint32(out, uint32(v))
	}
	return append(append(out, types...), table...), nil
}
