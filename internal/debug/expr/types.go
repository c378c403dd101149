package expr

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// Types finds types by name: in the object's BTF, the kernel's BTF, and the object's DWARF. Its
// state is fixed for a kernel.
type Types struct {
	*ground
	Basic     *basicTypes
	fromDWARF *btf.Spec // from the object's DWARF, nil without
}

// KfuncArgs returns the number of arguments of a kfunc, at most 5; 0 if it is unknown.
func (ty *Types) KfuncArgs(name string) int {
	for _, sp := range ty.Specs() {
		if id, ok := sp.FindID(btf.KindFunc, name); ok {
			return ty.ProtoArgs(sp, id)
		}
	}
	return 0
}

// ProtoArgs returns the number of arguments of a BTF function, at most 5; 0 if it is unknown.
func (ty *Types) ProtoArgs(spec *btf.Spec, fn btf.ID) int {
	if spec == nil || fn == 0 {
		return 0
	}
	f, err := spec.Type(fn)
	if err != nil || f.Kind != btf.KindFunc {
		return 0
	}
	return min(len(spec.SkipMods(f.Ref).Params), 5)
}

// typeIn names a type and where it comes from.
func (ty *Types) typeIn(t Type) string {
	if t.Spec == ty.linked.Target.BTF && t.Spec != nil && ty.linked.Target.Name != "" {
		return fmt.Sprintf("%s of %s", t, ty.linked.Target.Name)
	}
	return t.String()
}

// pathError names the missing member in an error about a path.
func (ty *Types) pathError(t Type, err error) error {
	var pe *btf.PathError
	if errors.As(err, &pe) {
		return &UnknownError{What: "member", Name: pe.At, In: ty.typeIn(t), Nearest: pe.Nearest}
	}
	return err
}

// bytesType returns an unsigned integer type of n bytes, or an array of bytes.
func (ty *Types) bytesType(n int) Type {
	switch n {
	case 1:
		return ty.Basic.Named("unsigned char")
	case 2:
		return ty.Basic.Named("unsigned short")
	case 4:
		return ty.Basic.Named("unsigned int")
	case 8:
		return ty.Basic.Named("unsigned long long")
	}
	t := ty.Basic.Named("unsigned char")
	t.Elems = n
	return t
}

// Type is the type of a value: a BTF type, with the pointers and the array that the expression
// applied to it.
type Type struct {
	Spec *btf.Spec
	ID   btf.ID
	// Ptr is the number of pointers applied to it.
	Ptr int
	// Elems makes it an array of that many elements; 0 for no array.
	Elems int
}

// String formats the type in C syntax.
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

// base returns the BTF type without typedefs and qualifiers, ignoring the pointers and the array
// applied to it.
func (t Type) base() *btf.Type {
	if t.Spec == nil {
		return &btf.Type{}
	}
	return t.Spec.SkipMods(t.ID)
}

func (t Type) Kind() btf.Kind {
	switch {
	case t.Elems > 0:
		return btf.KindArray
	case t.Ptr > 0:
		return btf.KindPtr
	}
	return t.base().Kind
}

// Elem returns the target type of a pointer or the element type of an array.
func (t Type) Elem() (Type, bool) {
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

// Count returns the number of elements of an array.
func (t Type) Count() int {
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

// Size returns the size in bytes; the error is btf's for types without a size.
func (t Type) Size() (int64, error) {
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

// IsComposite reports whether the type has members.
func (t Type) IsComposite() bool {
	k := t.Kind()
	return k.IsComposite() || k == btf.KindDatasec
}

// IsChar reports whether the type is a character type.
func (t Type) IsChar() bool {
	if t.Ptr > 0 || t.Elems > 0 {
		return false
	}
	b := t.base()
	return b.Kind == btf.KindInt && b.Size == 1 && (b.Int.Encoding&btf.IntChar != 0 || strings.HasSuffix(b.Name, "char") && b.Name != "unsigned char")
}

// Specs returns the BTFs to search for types, in order: the object's, the kernel's, its modules',
// and the one built from the object's DWARF.
func (ty *Types) Specs() []*btf.Spec {
	var out []*btf.Spec
	if sp := ty.linked.Object.BTF; sp != nil {
		out = append(out, sp)
	}
	if sp := ty.linked.Target.BTF; sp != nil {
		out = append(out, sp)
	}
	for _, m := range ty.linked.Target.Modules {
		out = append(out, m.BTF)
	}
	if ty.fromDWARF != nil { // BTF omits types that only local variables use
		out = append(out, ty.fromDWARF)
	}
	return out
}

// isType reports whether a word on its own is a type.
func (ty *Types) isType(name string) bool {
	if _, ok := ty.Basic.byName[name]; ok {
		return true
	}
	for _, sp := range ty.Specs() {
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

// FindType returns the type with a name: "struct task_struct", "u32". The object's types take
// precedence over the kernel's.
func (ty *Types) FindType(tag, name string) (Type, error) {
	if tag == "" {
		if id, ok := ty.Basic.byName[name]; ok {
			return Type{Spec: ty.Basic.spec, ID: id}, nil
		}
	}
	for _, sp := range ty.Specs() {
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
	return Type{}, &UnknownError{What: what, Name: name, Nearest: Near(name, ty.TypeNames(tag, name[:min(1, len(name))]))}
}

// TypeNames lists the types of a kind ("struct", "union", "enum", "" for typedefs) whose names
// begin with prefix.
func (ty *Types) TypeNames(tag, prefix string) []string {
	seen := map[string]bool{}
	kinds := tagKinds[tag]
	if tag == "" {
		kinds = kinds[:1]
		for n := range ty.Basic.byName {
			if strings.HasPrefix(n, prefix) {
				seen[n] = true
			}
		}
	}
	for _, sp := range ty.Specs() {
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

// ObjectTypes lists the named types in the object's BTF whose names contain text.
func (ty *Types) ObjectTypes(text string) []string {
	sp := ty.linked.Object.BTF
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
