package kernel

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// builder puts values into an object for those who know its type. Paths are alternatives separated by |, of which the first
// that exists is meant; what the BTF does not have is left out.
type builder struct {
	o   *Object
	how byteState // made: only where nobody has set a value
	in  *layout   // type whose paths are meant, when it is another view of the same memory
}

// build returns a builder whose values count as given.
func build(o *Object) builder { return builder{o: o, how: set} }

// fill returns a builder whose values are defaults: it leaves alone what somebody set.
func fill(o *Object) builder { return builder{o: o, how: made} }

// as speaks of the same memory as another type that starts at the same address.
func (b builder) as(typ string) builder {
	b.in = b.o.k.layoutNamed(typ)
	return b
}

// field finds the first alternative.
func (b builder) field(paths string) (Field, bool) {
	l, shift := b.in, uint64(0)
	if l == nil {
		l, shift = b.o.outer(), b.o.faceOff
	}
	if l == nil {
		return Field{}, false
	}
	for p := range strings.SplitSeq(paths, "|") {
		f, rest, err := l.place(p)
		if err != nil || rest != "" || f.Off+shift+f.Size > b.o.size {
			continue
		}
		f.Off += shift
		f.BitOff += shift * 8
		return f, true
	}
	return Field{}, false
}

// taken reports whether someone else set the field.
func (b builder) taken(f Field) bool {
	if b.how != made || b.o.st.flags == nil {
		return false
	}
	for i := range f.Size {
		if b.o.st.flags[f.Off+i] == set {
			return true
		}
	}
	return false
}

// num is put for numbers that are truncated to the field.
func (b builder) num(paths string, v uint64) {
	if f, ok := b.field(paths); ok && !b.taken(f) && scalarType(f) {
		b.o.storeField(f, v, b.how)
	}
}

// bytes is put for arrays and numbers given as they lie in memory.
func (b builder) bytes(paths string, p []byte) {
	if f, ok := b.field(paths); ok && !b.taken(f) && f.BitSize == 0 {
		b.o.poke(f.Off, p[:min(uint64(len(p)), f.Size)], b.how)
	}
}

// text gives an array of characters or a char pointer a string.
func (b builder) text(paths, s string) {
	f, ok := b.field(paths)
	if !ok || b.taken(f) {
		return
	}
	if t := strip(f.Spec, f.Type); t != nil && t.Kind == btf.KindArray && uint64(len(s)) >= f.Size {
		s = s[:f.Size-min(f.Size, 1)]
	}
	if err := b.o.putField(f, s, b.how); err != nil {
		b.o.k.fail(err)
	}
}

// ptr makes a field point to an object; a nil object leaves the field alone.
func (b builder) ptr(paths string, to *Object) {
	if to != nil {
		b.num(paths, to.Addr())
	}
}

// null makes pointer fields NULL, given by names separated by spaces.
func (b builder) null(fields string) {
	for p := range strings.FieldsSeq(fields) {
		b.num(p, 0)
	}
}

// child makes an object for a pointer field and links it; nil when the BTF lacks the field or its type.
func (b builder) child(paths string) *Object {
	f, ok := b.field(paths)
	if !ok {
		return nil
	}
	if b.taken(f) {
		return b.o.k.objectAt(b.o.loadField(f))
	}
	to := target(f.Spec, f.Type)
	if to.typ == nil || b.o.depth >= maxDepth {
		return nil
	}
	l := b.o.k.types.of(f.Spec, to.typ.ID)
	if l == nil || l.size == 0 {
		return nil
	}
	if s := b.o.k.singleton(l.name); s != nil {
		b.ptr(paths, s)
		return s
	}
	o, err := b.o.k.newObject(b.role(f.Path), l, 1, b.o)
	if err != nil {
		b.o.k.fail(err)
		return nil
	}
	o.builtin = true
	b.ptr(paths, o)
	return o
}

func (b builder) role(path string) string { return b.o.role + dotted2(b.o.role, path) }

// hash derives a value for the object's own key, which does not depend on how a kernel calls the field.
func (b builder) hash(key string) uint64 { return b.o.k.hash(b.o.role, key) }

// in range: base + hash % n.
func (b builder) within(key string, base, n uint64) uint64 { return base + b.hash(key)%n }

// word is a readable string for the object.
func (b builder) word(name string) string { return b.o.k.word(b.o.role, name) }
