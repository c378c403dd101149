package object

import (
	"math"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
)

// MaxNesting limits the depth of walks into nested types, so that they end for malformed BTF.
const MaxNesting = 48

// Types looks up offsets and paths in the types of one target, and caches the results. It is safe
// for concurrent use, so that many kernels for one target can share it ([Config.Types]).
type Types struct {
	mu      sync.Mutex
	layouts map[typeKey]*Layout
	protos  map[typeKey][]btf.ID // FUNCs by FUNC_PROTO, of those that were asked for
	funcs   map[*btf.Spec][]btf.ID
	events  map[*btf.Spec]map[string][]string // event classes by signature

	variables map[section][]Variable
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
	Off  uint64    // bytes from the start of the object; for a bitfield, of its first byte
	Size uint64    // bytes; for a bitfield, those that it touches
	// BitOff and BitSize describe a bitfield: bits from the start of the object in BTF's counting,
	// and width. BitSize is 0 for anything else.
	BitOff  uint64
	BitSize uint32
}

// Layout is what is known about one type.
type Layout struct {
	Spec *btf.Spec
	Type *btf.Type // modifiers and typedefs skipped
	Size uint64
	Name string
	// flexElem is the element size in bytes of the flexible array at the end, or 0.
	flexElem uint64

	mu     sync.Mutex
	places map[string]place
	fields map[fieldKey]Field
	bits   map[uint64][]Field
}

type fieldKey struct {
	off, size uint64
}

// place is the part of a path within one object; rest is the part after a pointer.
type place struct {
	field Field
	rest  string
	err   error
}

// Home returns the BTF that contains a type id: for split BTF, lower ids belong to its base.
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

// Of returns the layout of a type, or nil for types without a size (void, function, forward
// declaration).
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
		if size, err := key.spec.Sizeof(t.ID); err == nil {
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
			if err != nil {
				return 0
			}
			return uint64(n)
		}
	}
	return 0
}

// FieldAt returns the innermost field that contains [off, off+size), as [btf.Spec.FieldAt] does.
// For a range of at most eight bytes that holds several bitfields, Path lists all of them.
func (l *Layout) FieldAt(off, size uint64) Field {
	key := fieldKey{off, size}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, ok := l.fields[key]; ok {
		return f
	}
	f := l.search(off, size)
	if l.fields == nil {
		l.fields = make(map[fieldKey]Field)
	}
	l.fields[key] = f
	return f
}

func (l *Layout) search(off, size uint64) Field {
	if off+size > math.MaxUint32/8 || off+size < off { // larger than any type
		return l.field(btf.Field{Type: l.Type.ID})
	}
	_, found, _ := l.Spec.FieldAt(l.Type.ID, uint32(off), int(size))
	f := l.field(found)
	if of := f.BitSize != 0 && (off < f.Off || off+size > f.Off+f.Size); !of && (f.Path != "" || size > 8) {
		return f
	}
	var names []string
	for _, b := range l.Spec.BitfieldsAt(l.Type.ID, uint32(off), int(size)) {
		names = append(names, b.Path)
	}
	if len(names) == 0 {
		return f
	}
	unit := l.Type.ID
	if found.Parent != 0 {
		unit = found.Parent
	}
	return Field{Path: strings.Join(names, ","), Spec: l.Spec, Type: unit, Off: off, Size: size}
}

// bitfields returns the bitfields that touch the byte at off; for a union, those of the first
// member that has any.
func (l *Layout) bitfields(off uint64) []Field {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, ok := l.bits[off]; ok {
		return f
	}
	var out []Field
	if off < math.MaxUint32/8 {
		for _, f := range l.Spec.BitfieldsAt(l.Type.ID, uint32(off), 1) {
			out = append(out, l.field(f))
		}
	}
	if l.bits == nil {
		l.bits = make(map[uint64][]Field)
	}
	l.bits[off] = out
	return out
}

// FollowProto follows a FUNC, a typedef or a pointer to the FUNC_PROTO.
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
