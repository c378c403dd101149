package object

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// Builder puts values into an object for those who know its type. Paths are alternatives separated by |, of which the first
// that exists is meant; what the BTF does not have is left out.
type Builder struct {
	Object *Object
	how    byteState // made: only where nobody has set a value
	in     *Layout   // type whose paths are meant, when it is another view of the same memory
}

// Build returns a builder whose values count as given.
func Build(o *Object) Builder { return Builder{Object: o, how: Given} }

// Fill returns a builder whose values are defaults: it leaves alone what somebody set.
func Fill(o *Object) Builder { return Builder{Object: o, how: Made} }

// As speaks of the same memory as another type that starts at the same address.
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

// Taken reports whether someone else set the field.
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

// Num is put for numbers that are truncated to the field.
func (b Builder) Num(paths string, v uint64) {
	if f, ok := b.Field(paths); ok && !b.Taken(f) && IsScalar(f) {
		b.Object.StoreField(f, v, b.how)
	}
}

// Bytes is put for arrays and numbers given as they lie in memory.
func (b Builder) Bytes(paths string, p []byte) {
	if f, ok := b.Field(paths); ok && !b.Taken(f) && f.BitSize == 0 {
		b.Object.Poke(f.Off, p[:min(uint64(len(p)), f.Size)], b.how)
	}
}

// All gives the object the bytes of its whole type.
func (b Builder) All(p []byte) {
	for i := range min(uint64(len(p)), b.Object.size-b.Object.faceOff) {
		if at := b.Object.faceOff + i; b.how != Made || b.Object.status(at, 1) != Given {
			b.Object.Poke(at, p[i:i+1], b.how)
		}
	}
}

// Text gives an array of characters or a char pointer a string.
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

// Ptr makes a field point to an object; a nil object leaves the field alone.
func (b Builder) Ptr(paths string, to *Object) {
	if to != nil {
		b.Num(paths, to.Addr())
	}
}

// Null makes pointer fields NULL, given by names separated by spaces.
func (b Builder) Null(fields string) {
	for p := range strings.FieldsSeq(fields) {
		b.Num(p, 0)
	}
}

// Child makes an object for a pointer field and links it; nil when the BTF lacks the field or its type.
func (b Builder) Child(paths string) *Object {
	f, ok := b.Field(paths)
	if !ok {
		return nil
	}
	if b.Taken(f) {
		return b.Object.k.objectAt(b.Object.LoadField(f))
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

// Hash derives a value for the object's own key, which does not depend on how a kernel calls the field.
func (b Builder) Hash(key string) uint64 { return b.Object.k.Hash(b.Object.role, key) }

// Within chooses a number in a range: base + hash % n.
func (b Builder) Within(key string, base, n uint64) uint64 { return base + b.Hash(key)%n }

// Word returns a readable string for the object.
func (b Builder) Word(name string) string { return b.Object.k.Word(b.Object.role, name) }
