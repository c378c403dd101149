package debug

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/mem"
)

// Type is the type of a value: one of a BTF, with pointers and an array that the expression put around it.
type Type struct {
	Spec *btf.Spec
	ID   btf.ID
	// Ptr is the number of pointers around it.
	Ptr int
	// Elems makes an array of that many, when not 0.
	Elems int
}

// String writes the type in C.
func (t Type) String() string {
	if t.Spec == nil {
		return "void"
	}
	text := t.Spec.TypeString(t.ID)
	if t.Ptr > 0 {
		if !strings.HasSuffix(text, "*") {
			text += " "
		}
		text += strings.Repeat("*", t.Ptr)
	}
	if t.Elems > 0 {
		text += fmt.Sprintf("[%d]", t.Elems)
	}
	return text
}

// base is the type behind typedefs and qualifiers, when there are no pointers and no array around it.
func (t Type) base() *btf.Type {
	if t.Spec == nil {
		return &btf.Type{}
	}
	return t.Spec.SkipMods(t.ID)
}

func (t Type) kind() btf.Kind {
	switch {
	case t.Elems > 0:
		return btf.KindArray
	case t.Ptr > 0:
		return btf.KindPtr
	}
	return t.base().Kind
}

// elem is what a pointer points to or an array consists of.
func (t Type) elem() (Type, bool) {
	switch {
	case t.Elems > 0:
		return Type{Spec: t.Spec, ID: t.ID, Ptr: t.Ptr}, true
	case t.Ptr > 0:
		return Type{Spec: t.Spec, ID: t.ID, Ptr: t.Ptr - 1}, true
	}
	if b := t.base(); b.Kind == btf.KindPtr || b.Kind == btf.KindArray {
		return Type{Spec: t.Spec, ID: b.Ref}, true
	}
	return Type{}, false
}

// count is the number of elements of an array.
func (t Type) count() int {
	if t.Elems > 0 {
		return t.Elems
	}
	if b := t.base(); t.Ptr == 0 && b.Kind == btf.KindArray {
		return int(b.Array.Nelems)
	}
	return 0
}

func (t Type) pointer() Type {
	return Type{Spec: t.Spec, ID: t.ID, Ptr: t.Ptr + 1}
}

// size in bytes; the error is btf's for types without one.
func (t Type) size() (int64, error) {
	if t.Spec == nil {
		return 0, btf.ErrUnsized
	}
	n, err := int64(t.Spec.PointerSize()), error(nil)
	if t.Ptr == 0 {
		n, err = t.Spec.Sizeof(t.ID)
	}
	if t.Elems > 0 {
		n *= int64(t.Elems)
	}
	return n, err
}

// isComposite reports whether the type has members.
func (t Type) isComposite() bool {
	k := t.kind()
	return k.IsComposite() || k == btf.KindDatasec
}

// isChar reports whether the type is a character.
func (t Type) isChar() bool {
	if t.Ptr > 0 || t.Elems > 0 {
		return false
	}
	b := t.base()
	return b.Kind == btf.KindInt && b.Size == 1 && (b.Int.Encoding&btf.IntChar != 0 || strings.HasSuffix(b.Name, "char") && b.Name != "unsigned char")
}

// basicWords are the words C's own types are made of, and the usual short names.
var basicWords = map[string]bool{
	"void": true, "char": true, "short": true, "int": true, "long": true, "signed": true, "unsigned": true, "bool": true, "_Bool": true,
}

// basicTypes are the types that exist without any BTF.
type basicTypes struct {
	spec   *btf.Spec
	byName map[string]btf.ID
}

func newBasicTypes(order binary.ByteOrder, ptr int) (*basicTypes, error) {
	b := btf.NewBuilder(nil)
	t := &basicTypes{byName: map[string]btf.ID{}}
	add := func(size uint32, enc uint8, name string, also ...string) {
		id := b.Int(name, size, enc)
		for _, n := range append(also, name) {
			t.byName[n] = id
		}
	}
	long := uint32(ptr)
	// The first INT that is some spelling of long decides the pointer size, so it comes first.
	add(long, btf.IntSigned, "long", "long int", "signed long")
	add(long, 0, "unsigned long", "long unsigned", "long unsigned int", "unsigned long int")
	add(1, btf.IntSigned|btf.IntChar, "char", "signed char")
	add(1, 0, "unsigned char", "u8", "__u8", "uint8_t")
	add(1, btf.IntBool, "bool", "_Bool")
	add(2, btf.IntSigned, "short", "short int", "s16", "__s16", "int16_t")
	add(2, 0, "unsigned short", "short unsigned int", "u16", "__u16", "uint16_t")
	add(4, btf.IntSigned, "int", "signed", "signed int", "s32", "__s32", "int32_t")
	add(4, 0, "unsigned int", "unsigned", "u32", "__u32", "uint32_t")
	add(8, btf.IntSigned, "long long", "long long int", "s64", "__s64", "int64_t")
	add(8, 0, "unsigned long long", "long long unsigned int", "u64", "__u64", "uint64_t")
	add(1, btf.IntSigned, "s8", "__s8", "int8_t")
	t.byName["void"] = 0
	var err error
	t.spec, err = b.Spec(order)
	return t, err
}

func (b *basicTypes) named(name string) Type { return Type{Spec: b.spec, ID: b.byName[name]} }

// specs are the BTFs types are looked for in: the object's, the target's, its modules', and what the object's DWARF made one.
func (s *Session) specs() []*btf.Spec {
	var out []*btf.Spec
	if sp := s.linked.Object.BTF; sp != nil {
		out = append(out, sp)
	}
	if sp := s.linked.Target.BTF; sp != nil {
		out = append(out, sp)
	}
	for _, m := range s.linked.Target.Modules {
		out = append(out, m.BTF)
	}
	if s.dwarf != nil { // types that no BTF has: BTF leaves out what only local variables use
		out = append(out, s.dwarf.spec)
	}
	return out
}

// isType reports whether a word by itself is a type.
func (s *Session) isType(name string) bool {
	if _, ok := s.basic.byName[name]; ok {
		return true
	}
	for _, sp := range s.specs() {
		if _, ok := sp.FindID(btf.KindTypedef, name); ok {
			return true
		}
	}
	return false
}

var tagKinds = map[string][]btf.Kind{
	"struct": {btf.KindStruct}, "union": {btf.KindUnion}, "enum": {btf.KindEnum, btf.KindEnum64},
	"": {btf.KindTypedef, btf.KindInt, btf.KindFloat, btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64},
}

// FindType returns the type a name means: "struct task_struct", "u32". The object's types come before the target's.
func (s *Session) FindType(tag, name string) (Type, error) {
	if tag == "" {
		if id, ok := s.basic.byName[name]; ok {
			return Type{Spec: s.basic.spec, ID: id}, nil
		}
	}
	for _, sp := range s.specs() {
		for _, k := range tagKinds[tag] {
			if id, ok := sp.FindID(k, name); ok {
				return Type{Spec: sp, ID: id}, nil
			}
		}
	}
	what := tag
	if what == "" {
		what = "type"
	}
	return Type{}, &UnknownError{What: what, Name: name, Nearest: near(name, s.TypeNames(tag, name[:min(1, len(name))]))}
}

// TypeNames lists the types of a sort ("struct", "union", "enum", "" for typedefs) whose names begin with prefix.
func (s *Session) TypeNames(tag, prefix string) []string {
	seen := map[string]bool{}
	kinds := tagKinds[tag]
	if tag == "" {
		kinds = kinds[:1]
		for n := range s.basic.byName {
			if strings.HasPrefix(n, prefix) {
				seen[n] = true
			}
		}
	}
	for _, sp := range s.specs() {
		for id := sp.FirstID(); int(id) < sp.NumTypes(); id++ {
			k := sp.Kind(id)
			for _, want := range kinds {
				if n := ""; k == want {
					if n = sp.Name(id); n != "" && strings.HasPrefix(n, prefix) {
						seen[n] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func (s *Session) resolveType(tn typeName) (Type, error) {
	t, err := s.FindType(tn.tag, tn.name)
	if err != nil {
		return t, err
	}
	t.Ptr = tn.ptr
	switch len(tn.dims) {
	case 0:
	case 1:
		t.Elems = tn.dims[0]
	default:
		return t, fmt.Errorf("arrays of arrays cannot be written here")
	}
	return t, nil
}

// layoutAt returns the type in whose layout a struct at addr is to be read: kernel objects have the target's, whatever the
// object declares.
func (s *Session) layoutAt(t Type, addr uint64) Type {
	target := s.linked.Target.BTF
	if target == nil || t.Ptr > 0 || t.Spec == nil || t.Spec == target {
		return t
	}
	b := t.base()
	switch {
	case b.Kind == btf.KindFwd:
	case b.Kind.IsComposite() && b.Name != "" && s.kernelOwned(addr):
	default:
		return t
	}
	kind := b.Kind
	if kind == btf.KindFwd {
		kind = btf.KindStruct
		if b.Flag {
			kind = btf.KindUnion
		}
	}
	if id, ok := target.FindID(kind, btf.EssentialName(b.Name)); ok {
		return Type{Spec: target, ID: id, Elems: t.Elems}
	}
	return t
}

// kernelOwned reports whether memory has the target's layout: kernel objects, and what programs are called with.
func (s *Session) kernelOwned(addr uint64) bool {
	if s.m.Kernel().ObjectAt(addr) != nil {
		return true
	}
	r := s.m.Memory().Find(addr)
	return r != nil && r.Kind == mem.Context
}

// ObjectTypes lists the named types of the object's BTF whose names contain a text.
func (s *Session) ObjectTypes(text string) []string {
	sp := s.linked.Object.BTF
	if sp == nil {
		return nil
	}
	seen := map[string]bool{}
	for id := sp.FirstID(); int(id) < sp.NumTypes(); id++ {
		switch k := sp.Kind(id); {
		case k.IsComposite(), k.IsEnum(), k == btf.KindTypedef:
			if n := sp.Name(id); n != "" && strings.Contains(n, text) {
				seen[sp.TypeString(id)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
