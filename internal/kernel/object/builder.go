package object

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// Builder sets the fields of an object for code that knows its type. Paths are alternatives
// separated by |, of which the first existing one is used; if the BTF has none of them, the call
// has no effect.
type Builder struct {
	Object *Object
	how    byteState // Made: only fields that were not set
	in     *Layout   // type that paths refer to, if it is another view of the same memory
}

// Build returns a builder whose values count as set by the user.
func Build(o *Object) Builder { return Builder{Object: o, how: Given} }

// Fill returns a builder whose values are defaults: it does not change fields that were set.
func Fill(o *Object) Builder { return Builder{Object: o, how: Made} }

// As returns a builder for another type that starts at the same address.
func (b Builder) As(typ string) Builder {
	b.in = b.Object.k.LayoutNamed(typ)
	return b
}

// Field finds the first alternative.
func (b Builder) Field(paths string) (Field, bool) {
	l, shift := b.in, uint64(0)
	if l == nil {
		l, shift = b.Object.Layout(), b.Object.faceOff
	}
	if l == nil {
		return Field{}, false
	}
	for p := range strings.SplitSeq(paths, "|") {
		f, rest, err := l.Place(p)
		if err != nil || rest != "" || f.Off+shift+f.Size > b.Object.size {
			continue
		}
		f.Off += shift
		f.BitOff += shift * 8
		return f, true
	}
	return Field{}, false
}

// Taken reports whether the field was set by the user.
func (b Builder) Taken(f Field) bool {
	if b.how != Made || b.Object.st.flags == nil {
		return false
	}
	for i := range f.Size {
		if b.Object.st.flags[f.Off+i] == Given {
			return true
		}
	}
	return false
}

// Num sets a number, truncated to the field.
func (b Builder) Num(paths string, v uint64) {
	if f, ok := b.Field(paths); ok && !b.Taken(f) && IsScalar(f) {
		b.Object.StoreField(f, v, b.how)
	}
}

// Bytes sets an array or a number from its bytes in memory.
func (b Builder) Bytes(paths string, p []byte) {
	if f, ok := b.Field(paths); ok && !b.Taken(f) && f.BitSize == 0 {
		b.Object.Poke(f.Off, p[:min(uint64(len(p)), f.Size)], b.how)
	}
}

// All sets the bytes of the whole object.
func (b Builder) All(p []byte) {
	for i := range min(uint64(len(p)), b.Object.size-b.Object.faceOff) {
		if at := b.Object.faceOff + i; b.how != Made || b.Object.status(at, 1) != Given {
			b.Object.Poke(at, p[i:i+1], b.how)
		}
	}
}

// Text sets a string in an array of characters or through a char pointer.
func (b Builder) Text(paths, s string) {
	f, ok := b.Field(paths)
	if !ok || b.Taken(f) {
		return
	}
	if t := Strip(f.Spec, f.Type); t != nil && t.Kind == btf.KindArray && uint64(len(s)) >= f.Size {
		s = s[:f.Size-min(f.Size, 1)]
	}
	if err := b.Object.putField(f, s, b.how); err != nil {
		b.Object.k.Fail(err)
	}
}

// Ptr makes a field point to an object; for a nil object it has no effect.
func (b Builder) Ptr(paths string, to *Object) {
	if to != nil {
		b.Num(paths, to.Addr())
	}
}

// AddrOf returns the address of a field, 0 if the BTF lacks it.
func (b Builder) AddrOf(paths string) uint64 {
	f, ok := b.Field(paths)
	if !ok {
		return 0
	}
	return b.Object.base + f.Off
}

// Null sets pointer fields to NULL; names are separated by spaces.
func (b Builder) Null(fields string) {
	for p := range strings.FieldsSeq(fields) {
		b.Num(p, 0)
	}
}

// Child creates an object for a pointer field and links it, or returns the one that is linked
// already; it returns nil if the BTF lacks the field or its type.
func (b Builder) Child(paths string) *Object {
	f, ok := b.Field(paths)
	if !ok {
		return nil
	}
	if b.Taken(f) {
		return b.Object.k.objectAt(b.Object.LoadField(f))
	}
	if o := b.linked(f); o != nil {
		return o
	}
	to := Target(f.Spec, f.Type)
	if to.Type == nil || b.Object.depth >= MaxDepth {
		return nil
	}
	l := b.Object.k.types.Of(f.Spec, to.Type.ID)
	if l == nil || l.Size == 0 {
		return nil
	}
	if s := b.Object.k.Singleton(l.Name); s != nil {
		b.Ptr(paths, s)
		return s
	}
	o, err := b.Object.k.Make(b.Role(f.Path), l, 1, b.Object)
	if err != nil {
		b.Object.k.Fail(err)
		return nil
	}
	o.builtin = true
	b.Ptr(paths, o)
	return o
}

// linked returns the object to which a pointer field leads already, because something that refers
// to this object was filled before it.
func (b Builder) linked(f Field) *Object {
	if f.Size != uint64(b.Object.k.mem.PointerSize()) {
		return nil
	}
	return b.Object.k.objectAt(b.Object.storedWord(f.Off))
}

// Array is Child for a pointer to the first of n elements.
func (b Builder) Array(paths string, n uint64) *Object {
	f, ok := b.Field(paths)
	if !ok || b.Taken(f) {
		return nil
	}
	to := Target(f.Spec, f.Type)
	if to.Type == nil || b.Object.depth >= MaxDepth {
		return nil
	}
	l := b.Object.k.types.Of(f.Spec, to.Type.ID)
	if l == nil || l.Size == 0 {
		return nil
	}
	o, err := b.Object.k.Make(b.Role(f.Path), l, n, b.Object)
	if err != nil {
		b.Object.k.Fail(err)
		return nil
	}
	b.Ptr(paths, o)
	return o
}

func (b Builder) Role(path string) string { return b.Object.role + dotted2(b.Object.role, path) }

// Hash derives a value for one of the object's own keys, independent of field names on different
// kernels.
func (b Builder) Hash(key string) uint64 { return b.Object.k.Hash(b.Object.role, key) }

// Within chooses a number in a range: base + hash % n.
func (b Builder) Within(key string, base, n uint64) uint64 { return base + b.Hash(key)%n }

// Word returns a readable string for the object.
func (b Builder) Word(name string) string { return b.Object.k.Word(b.Object.role, name) }
