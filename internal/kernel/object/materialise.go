package object

import (
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
)

// materialise assigns default values to the never-set bytes among storage bytes [off, off+size).
func (o *Object) materialise(off, size uint64) {
	defer o.k.lazily(o, off, size)()
	if o.like != nil {
		o.inherit(off, size)
		return
	}
	o.Populate()
	s := o.touch()
	for b := off; b < off+size; {
		if s.flags[b] != never {
			b++
			continue
		}
		b = o.materialiseAt(b, off, size)
		s = o.st
	}
}

// Populate lets the populators of the type fill the object.
func (o *Object) Populate() {
	if !o.st.populated && !o.frozen {
		defer o.k.lazily(o, 0, 0)()
		o.touch().populated = true
		o.k.around.Populate(o)
	}
}

// materialiseAt fills the field that contains storage byte b and returns the next byte to process.
// off and size are those of the access, which selects between the members of a union.
func (o *Object) materialiseAt(b, off, size uint64) uint64 {
	l, base := o.element(b)
	if l == nil {
		o.fillUntyped(b)
		return b + 1
	}
	f := l.FieldAt(b-base, 1)
	if off >= base && size <= 8 && off+size <= base+l.Size+maxFlexible {
		// A field that matches the access exactly is preferred to the first member of a union.
		if g := l.FieldAt(off-base, size); g.BitSize == 0 && IsScalar(g) && base+g.Off <= b && b < base+g.Off+g.Size {
			f = g
		}
	}
	switch {
	case f.BitSize != 0:
		o.fillBits(l, base, b)
		return b + 1
	case f.Size == 0 || !IsScalar(f):
		o.Poke(b, []byte{0}, zeroed) // padding
		return b + 1
	}
	lo := base + f.Off
	if o.fillText(l, base, f) {
		return lo + f.Size
	}
	var v [8]byte
	endian.PutUint(o.k.Order(), v[:min(f.Size, 8)], o.k.defaultValue(o, l, base, f))
	zero := []byte{0}
	for i := uint64(0); i < f.Size && lo+i < o.size; i++ {
		if o.st.flags[lo+i] != never {
			continue
		}
		text := zero // malformed types have numbers of any size
		if i < 8 {
			text = v[i : i+1]
		}
		o.Poke(lo+i, text, Made)
	}
	return max(lo+f.Size, b+1)
}

// element returns the layout of the element at storage byte b, and where it starts.
func (o *Object) element(b uint64) (*Layout, uint64) {
	if o.face != nil && b >= o.faceOff && b < o.faceOff+o.face.Size {
		return o.face, o.faceOff
	}
	if o.layout != nil && o.count > 1 {
		return o.layout, b / o.layout.Size * o.layout.Size
	}
	return o.layout, 0
}

// IsScalar reports whether a field is a leaf: a number, an enum or a pointer.
func IsScalar(f Field) bool {
	t := Strip(f.Spec, f.Type)
	if t == nil {
		return false
	}
	switch t.Kind {
	case btf.KindInt, btf.KindEnum, btf.KindEnum64, btf.KindFloat, btf.KindPtr:
		return true
	}
	return false
}

// fillUntyped sets a byte of untyped memory; strings are complete from the start.
func (o *Object) fillUntyped(b uint64) {
	v := o.k.Hash(o.role, "byte", strconv.FormatUint(b/8, 10)) >> (8 * (b % 8))
	o.Poke(b, []byte{byte(v)}, Made)
}

// fillBits sets all bitfields in one byte, bit by bit, so that fields over several bytes get the
// same value whichever byte is read first.
func (o *Object) fillBits(l *Layout, base, b uint64) {
	var out byte
	for _, f := range l.bitfields(b - base) {
		v := o.k.defaultValue(o, l, base, f) & (1<<min(f.BitSize, 63) - 1)
		unit := make([]byte, f.Size)
		endian.PutBits(o.k.Order(), unit, f.BitOff-8*f.Off, f.BitSize, v)
		out |= unit[b-base-f.Off]
	}
	o.Poke(b, []byte{out}, Made)
}

// fillText fills the array of characters that contains element f with a word derived from its name.
// It reports whether f was such an element and no part of the array had been set.
func (o *Object) fillText(l *Layout, base uint64, f Field) bool {
	if f.Size != 1 || !strings.HasSuffix(f.Path, "]") {
		return false
	}
	t := Strip(f.Spec, f.Type)
	if t == nil || t.Kind != btf.KindInt || !isChar(f.Spec, f.Type) {
		return false
	}
	name := f.Path[:strings.LastIndexByte(f.Path, '[')]
	arr, _, err := l.Place(name)
	if err != nil || arr.Size == 0 || base+arr.Off+arr.Size > o.size {
		return false
	}
	if at := strings.LastIndexAny(name, ".]"); at >= 0 {
		name = name[at+1:]
	}
	text := make([]byte, arr.Size)
	copy(text[:arr.Size-1], o.k.Word(o.role+"."+arr.Path, name))
	for i, c := range text {
		if at := base + arr.Off + uint64(i); o.st.flags[at] == never {
			o.Poke(at, []byte{c}, Made)
		}
	}
	return true
}

// isChar reports whether a type is char as text: an INT of one byte called char, whatever its sign,
// not u8.
func isChar(spec *btf.Spec, id btf.ID) bool {
	t := Strip(spec, id)
	return t != nil && t.Kind == btf.KindInt && t.Size == 1 && (t.Name == "char" || t.Int.Encoding&btf.IntChar != 0)
}

// Word returns a readable string for a field's name and its role: "name-3fa2".
func (s *Space) Word(role, name string) string {
	const hex = "0123456789abcdef"
	h := s.Hash(role, "text")
	return name + "-" + string([]byte{hex[h>>12&15], hex[h>>8&15], hex[h>>4&15], hex[h&15]})
}
