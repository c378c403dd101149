package object

import (
	"strconv"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
)

// MaxNesting bounds the walk into nested types, so that malformed BTF ends it.
const MaxNesting = 48

// Types answers questions about offsets and paths in the types of one target, and remembers the answers. It is safe
// for concurrent use, so that many kernels of one target may share it ([Config.Types]).
type Types struct {
	mu      sync.Mutex
	layouts map[typeKey]*Layout
	protos  map[typeKey][]btf.ID // FUNCs by FUNC_PROTO, built on first use
	funcs   map[*btf.Spec][]btf.ID
	events  map[*btf.Spec]map[string][]string // event classes by signature
}

type typeKey struct {
	spec *btf.Spec
	id   btf.ID
}

// NewTypes returns an empty cache.
func NewTypes() *Types { return &Types{layouts: make(map[typeKey]*Layout)} }

// Field is a place in an object: a scalar, a pointer, an array or a nested struct.
type Field struct {
	Path string    // "cred.uid.val", "comm[3]"; empty for the whole object
	Spec *btf.Spec // the BTF of Type
	Type btf.ID    // as declared, with typedefs and modifiers
	Off  uint64    // bytes from the start of the object; of a bitfield, of its first byte
	Size uint64    // bytes; of a bitfield, the bytes it touches
	// BitOff and BitSize describe a bitfield: bits from the start of the object in BTF's counting, and width. BitSize is
	// 0 for anything else.
	BitOff  uint64
	BitSize uint32
}

// Layout is what is known of one type.
type Layout struct {
	Spec *btf.Spec
	Type *btf.Type // modifiers and typedefs skipped
	Size uint64
	Name string
	// flexElem is the size of an element of the flexible array at the end, 0 without one.
	flexElem uint64

	mu     sync.Mutex
	places map[string]place
	fields map[fieldKey]Field
	bits   map[uint64][]Field
}

type fieldKey struct {
	off, size uint64
}

// place is the result of a path as far as one object goes; rest is what follows a pointer.
type place struct {
	field Field
	rest  string
	err   error
}

// Home returns the BTF that owns a type id: ids below those of a split BTF belong to its base.
func Home(spec *btf.Spec, id btf.ID) *btf.Spec {
	for b := spec.Base(); b != nil && id < spec.FirstID(); b = spec.Base() {
		spec = b
	}
	return spec
}

// Strip skips modifiers and typedefs; nil for void and broken references.
func Strip(spec *btf.Spec, id btf.ID) *btf.Type {
	t := spec.SkipMods(id)
	if t == nil || t.Kind == btf.KindVoid {
		return nil
	}
	return t
}

// Of returns the layout of a sized type; nil when the type has no size (void, function, forward declaration).
func (ts *Types) Of(spec *btf.Spec, id btf.ID) *Layout {
	if spec == nil {
		return nil
	}
	key := typeKey{Home(spec, id), id}
	ts.mu.Lock()
	l, ok := ts.layouts[key]
	ts.mu.Unlock()
	if ok {
		return l
	}
	if t := Strip(key.spec, id); t != nil {
		if size, err := key.spec.Sizeof(t.ID); err == nil && size >= 0 {
			switch t.Kind {
			case btf.KindStruct, btf.KindUnion, btf.KindInt, btf.KindEnum, btf.KindEnum64, btf.KindFloat, btf.KindPtr, btf.KindArray:
				l = &Layout{Spec: key.spec, Type: t, Size: uint64(size), Name: t.Name}
				l.flexElem = l.flexible()
				if l.Name == "" {
					l.Name = key.spec.TypeString(id)
				}
			}
		}
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if old, ok := ts.layouts[key]; ok {
		return old
	}
	ts.layouts[key] = l
	return l
}

// named returns the layout of a struct or union by name.
func (ts *Types) named(spec *btf.Spec, name string) *Layout {
	if spec == nil {
		return nil
	}
	for _, k := range [...]btf.Kind{btf.KindStruct, btf.KindUnion} {
		if t, ok := spec.Find(k, name); ok {
			return ts.Of(spec, t.ID)
		}
	}
	return nil
}

// flexible returns the element size of an array without elements that ends the struct.
func (l *Layout) flexible() uint64 {
	t := l.Type
	for range MaxNesting {
		if (t.Kind != btf.KindStruct && t.Kind != btf.KindUnion) || len(t.Members) == 0 {
			return 0
		}
		m := t.Members[len(t.Members)-1]
		if t = Strip(l.Spec, m.Type); t == nil {
			return 0
		}
		if t.Kind == btf.KindArray {
			if t.Array.Nelems != 0 {
				return 0
			}
			n, err := l.Spec.Sizeof(t.Ref)
			if err != nil || n < 0 {
				return 0
			}
			return uint64(n)
		}
	}
	return 0
}

// memberBits returns a member's offset in bits and its width as bitfield, 0 when it is none.
func memberBits(spec *btf.Spec, t *btf.Type, m *btf.Member) (off uint64, width uint32) {
	if t.Flag {
		return uint64(m.BitOffset), m.BitfieldSize
	}
	// Before kind_flag the width stood in the INT of the member (btf.rst 2.2.4).
	if it := Strip(spec, m.Type); it != nil && it.Kind == btf.KindInt && uint32(it.Int.Bits) != it.Size*8 && it.Int.Bits != 0 {
		return uint64(m.BitOffset) + uint64(it.Int.Offset), uint32(it.Int.Bits)
	}
	return uint64(m.BitOffset), 0
}

// FieldAt returns the innermost field that contains [off, off+size), of several in a union the one that fits exactly.
func (l *Layout) FieldAt(off, size uint64) Field {
	key := fieldKey{off, size}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, ok := l.fields[key]; ok {
		return f
	}
	f, _ := l.search(l.Type.ID, 0, off, size, "", 0)
	if l.fields == nil {
		l.fields = make(map[fieldKey]Field)
	}
	l.fields[key] = f
	return f
}

// Qualities of a search result; the best wins, of equals the first.
const (
	qNone = iota
	qAggregate
	qContains
	qExact
)

// search looks in the type id placed at base for the best field containing [off, off+size).
func (l *Layout) search(id btf.ID, base, off, size uint64, path string, depth int) (Field, int) {
	self := Field{Path: path, Spec: l.Spec, Type: id, Off: base}
	t := Strip(l.Spec, id)
	if t == nil || depth > MaxNesting {
		return self, qNone
	}
	if n, err := l.Spec.Sizeof(t.ID); err == nil && n > 0 {
		self.Size = uint64(n)
	}
	exact := self.Off == off && self.Size == size
	switch t.Kind {
	case btf.KindStruct, btf.KindUnion:
		best, bestQ := self, qAggregate
		if exact && path != "" {
			bestQ = qContains
		}
		var bits []string
		for i := range t.Members {
			m := &t.Members[i]
			bitOff, width := memberBits(l.Spec, t, m)
			var f Field
			q := qNone
			if width != 0 {
				lo, hi := base+bitOff/8, base+(bitOff+uint64(width)+7)/8
				if off < hi && lo < off+size {
					bits = append(bits, join(path, m.Name))
				}
				if off >= lo && off+size <= hi {
					f = Field{Path: join(path, m.Name), Spec: l.Spec, Type: m.Type, Off: lo, Size: hi - lo, BitOff: base*8 + bitOff, BitSize: width}
					q = qContains
				}
			} else {
				lo := base + bitOff/8
				if off < lo {
					continue
				}
				if end := l.memberEnd(m.Type, lo, i == len(t.Members)-1); off+size > end {
					continue
				}
				f, q = l.search(m.Type, lo, off, size, join(path, m.Name), depth+1)
			}
			if q > bestQ {
				best, bestQ = f, q
			}
			if q == qExact {
				break
			}
		}
		// A load of the unit that holds several bitfields names all of them.
		if bestQ == qAggregate && len(bits) > 0 && size <= 8 {
			best.Path, best.Off, best.Size = strings.Join(bits, ","), off, size
			bestQ = qContains
		}
		return best, bestQ
	case btf.KindArray:
		es, err := l.Spec.Sizeof(t.Ref)
		if err != nil || es <= 0 || exact {
			return self, qContains
		}
		i := (off - base) / uint64(es)
		if at := base + i*uint64(es); off+size <= at+uint64(es) {
			return l.search(t.Ref, at, off, size, path+"["+strconv.FormatUint(i, 10)+"]", depth+1)
		}
		return self, qContains
	}
	if exact {
		return self, qExact
	}
	return self, qContains
}

// memberEnd is the end of a member at lo; a flexible array at the end of the type has none.
func (l *Layout) memberEnd(id btf.ID, lo uint64, last bool) uint64 {
	n, err := l.Spec.Sizeof(id)
	if err != nil || n < 0 {
		return lo
	}
	if t := Strip(l.Spec, id); last && t != nil {
		if t.Kind == btf.KindArray && t.Array.Nelems == 0 {
			return ^uint64(0) >> 1
		}
		if t.Kind == btf.KindStruct || t.Kind == btf.KindUnion {
			if inner := (&Layout{Spec: l.Spec, Type: t}); inner.flexible() != 0 {
				return ^uint64(0) >> 1
			}
		}
	}
	return lo + uint64(n)
}

// bitfields returns the bitfields that touch the byte at off, of a union those of the first member that has any.
func (l *Layout) bitfields(off uint64) []Field {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, ok := l.bits[off]; ok {
		return f
	}
	f := l.searchBits(l.Type.ID, 0, off, "", 0)
	if l.bits == nil {
		l.bits = make(map[uint64][]Field)
	}
	l.bits[off] = f
	return f
}

func (l *Layout) searchBits(id btf.ID, base, off uint64, path string, depth int) (out []Field) {
	t := Strip(l.Spec, id)
	if t == nil || depth > MaxNesting {
		return nil
	}
	switch t.Kind {
	case btf.KindArray:
		es, err := l.Spec.Sizeof(t.Ref)
		if err != nil || es <= 0 {
			return nil
		}
		i := (off - base) / uint64(es)
		return l.searchBits(t.Ref, base+i*uint64(es), off, path+"["+strconv.FormatUint(i, 10)+"]", depth+1)
	case btf.KindStruct, btf.KindUnion:
		for i := range t.Members {
			m := &t.Members[i]
			bitOff, width := memberBits(l.Spec, t, m)
			lo := base + bitOff/8
			if width != 0 {
				if hi := base + (bitOff+uint64(width)+7)/8; off >= lo && off < hi {
					out = append(out, Field{Path: join(path, m.Name), Spec: l.Spec, Type: m.Type, Off: lo, Size: hi - lo, BitOff: base*8 + bitOff, BitSize: width})
				}
			} else if off >= lo && off < l.memberEnd(m.Type, lo, i == len(t.Members)-1) {
				out = append(out, l.searchBits(m.Type, lo, off, join(path, m.Name), depth+1)...)
			}
			if t.Kind == btf.KindUnion && len(out) > 0 {
				break
			}
		}
	}
	return out
}

// join appends a member to a path; an anonymous member adds nothing.
func join(path, name string) string {
	switch {
	case name == "":
		return path
	case path == "":
		return name
	}
	return path + "." + name
}

// FollowProto goes from a FUNC, a typedef or a pointer to the FUNC_PROTO.
func FollowProto(spec *btf.Spec, id btf.ID) *btf.Type {
	for range MaxNesting {
		t, err := spec.Type(id)
		if err != nil || t == nil {
			return nil
		}
		switch t.Kind {
		case btf.KindFuncProto:
			return t
		case btf.KindFunc, btf.KindPtr, btf.KindTypedef, btf.KindConst, btf.KindVolatile, btf.KindRestrict, btf.KindTypeTag:
			id = t.Ref
		default:
			return nil
		}
	}
	return nil
}
