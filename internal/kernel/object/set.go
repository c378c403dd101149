package object

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
)

// ErrValue is wrapped by [*ValueError].
var ErrValue = errors.New("value does not fit the field")

// ValueError is a value that does not fit a field.
type ValueError struct {
	Role, Path, Type string
	Value            any
	Why              string
}

// Error names the field, its type, the value and the reason.
func (e *ValueError) Error() string {
	return fmt.Sprintf("%s%s (%s): cannot set to %v: %s", e.Role, Dotted(e.Path), e.Type, e.Value, e.Why)
}

// Unwrap returns ErrValue.
func (e *ValueError) Unwrap() error { return ErrValue }

// Pointer is an address as a value for [Object.Set].
type Pointer uint64

// Set sets the field at path. A path consists of members (including those of anonymous structs),
// indices and pointers: "cred.uid.val", "comm[3]", "real_parent->tgid". A pointer on the path that
// is not set yet gets a new object.
//
// Values: integers and bool (refused if out of the field's range), an enumerator's name for enums,
// string and []byte for arrays of characters and bytes (the rest is zeroed), a string for char * (a
// new string object); *Object, Pointer or nil for pointers; []any for arrays; map[string]any for
// structs and, through a new object, for pointers to structs. The errors are [*PathError] and
// [*ValueError].
func (o *Object) Set(path string, v any) error { return o.put(path, v, Given) }

// SetUint sets an integer, enum or pointer field, truncating the value to its width.
func (o *Object) SetUint(path string, v uint64) error {
	at, f, err := o.find(path, true, Given)
	if err != nil {
		return err
	}
	at.StoreField(f, v, Given)
	return nil
}

// SetBytes sets the first bytes of a field of any type; p must not be longer than the field.
func (o *Object) SetBytes(path string, p []byte) error {
	at, f, err := o.find(path, true, Given)
	if err != nil {
		return err
	}
	if uint64(len(p)) > f.Size || f.BitSize != 0 {
		return at.valueError(f, fmt.Sprintf("%d bytes", len(p)), fmt.Sprintf("the field has %d", f.Size))
	}
	at.Poke(f.Off, p, Given)
	return nil
}

// SetPtr makes a pointer field point to an object; nil means NULL.
func (o *Object) SetPtr(path string, to *Object) error {
	if to == nil {
		return o.Set(path, nil)
	}
	return o.Set(path, to)
}

// Has reports whether a path exists in the type, following pointers.
func (o *Object) Has(path string) bool {
	l := o.Layout()
	if l == nil {
		return false
	}
	// An object counts as the first of an array, like the target of a pointer.
	if index, next, ok := cutIndex(path); ok && l.Type.Kind != btf.KindArray {
		if index >= o.count {
			return false
		}
		path = next
	}
	return o.k.types.has(l, path)
}

// HasField reports whether a path exists in a type of the vmlinux BTF, following pointers; the
// error names what is missing and similar names.
func (s *Space) HasField(typ btf.ID, path string) error {
	l := s.types.Of(s.btf, typ)
	if l == nil {
		return &PathError{Type: fmt.Sprintf("type %d", typ), Path: path, Name: path, Err: ErrNoField}
	}
	return s.types.check(l, path)
}

func (ts *Types) has(l *Layout, path string) bool { return ts.check(l, path) == nil }

func (ts *Types) check(l *Layout, path string) error {
	whole := path
	for range MaxNesting {
		f, rest, err := l.Place(path)
		if err != nil {
			return err
		}
		if rest == "" {
			return nil
		}
		to := Target(f.Spec, f.Type)
		if to.Type == nil {
			return &PathError{Type: "void", Path: whole, Name: rest, Err: ErrBadPath}
		}
		if l = ts.Of(f.Spec, to.Type.ID); l == nil {
			return &PathError{Type: f.Spec.TypeString(to.Type.ID), Path: whole, Name: rest, Err: ErrBadPath}
		}
		if _, next, ok := cutIndex(rest); ok && l.Type.Kind != btf.KindArray {
			rest = next
		}
		path = rest
	}
	return &PathError{Type: l.Name, Path: whole, Name: path, Err: ErrBadPath}
}

// Uint returns the value of an integer, enum, bitfield or pointer field, zero-extended, without
// logging. A field that was not set gets its value according to the mode, as for the guest, but
// reads as 0 in strict mode.
func (o *Object) Uint(path string) (uint64, error) {
	at, f, err := o.find(path, false, Given)
	if err != nil || at == nil {
		return 0, err
	}
	return at.LoadField(f), nil
}

// Num is Uint for builders and the kernel itself: 0 if there is no such field. Paths are
// alternatives separated by |.
func (o *Object) Num(paths string) uint64 {
	if o == nil {
		return 0
	}
	for p := range strings.SplitSeq(paths, "|") {
		if v, err := o.Uint(p); err == nil {
			return v
		}
	}
	return 0
}

// GetBytes returns a copy of the bytes of a field, never-set ones according to the mode, without
// logging.
func (o *Object) GetBytes(path string) ([]byte, error) {
	at, f, err := o.find(path, false, Given)
	if err != nil || at == nil {
		return nil, err
	}
	b := at.Present(f.Off, f.Size)
	return slices.Clone(b), nil
}

// String returns the text of a character array, or that a char pointer points to, up to the first
// NUL.
func (o *Object) String(path string) (string, error) {
	at, f, err := o.find(path, false, Given)
	if err != nil || at == nil {
		return "", err
	}
	var b []byte
	if t := Strip(f.Spec, f.Type); t != nil && t.Kind == btf.KindPtr {
		addr := at.LoadField(f)
		s := o.k.objectAt(addr)
		if s == nil {
			return "", nil
		}
		from := o.k.mem.Truncate(addr) - s.base
		b = s.Present(from, s.size-from)
	} else {
		b = at.Present(f.Off, f.Size)
	}
	if i := slices.Index(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b), nil
}

// Pointee returns the object that a pointer field points to; nil for NULL and for addresses without
// an object.
func (o *Object) Pointee(path string) (*Object, error) {
	v, err := o.Uint(path)
	if err != nil {
		return nil, err
	}
	return o.k.objectAt(v), nil
}

// IsSet reports whether every byte of the field has a value that is not a default.
func (o *Object) IsSet(path string) bool {
	at, f, err := o.find(path, false, Given)
	return err == nil && at != nil && at.status(f.Off, max(f.Size, 1)) == Given
}

// Present returns storage bytes according to the mode, without logging and faults.
func (o *Object) Present(off, size uint64) []byte {
	if o.status(off, size) == never {
		switch {
		case o.k.mode == ModeDefault:
			o.materialise(off, size)
		case o.builtin:
			o.Populate()
		}
	}
	if o.st.data == nil {
		return make([]byte, size)
	}
	return o.st.data[off : off+size]
}

// find resolves a path. The Field's offset is relative to the storage of the returned object. With
// create it creates objects for pointers that are not set; otherwise such a pointer ends the walk
// with a nil object.
func (o *Object) find(path string, create bool, how byteState) (*Object, Field, error) {
	whole, at := path, o
	outer, inner := (*Layout)(nil), uint64(0) // what the last pointer points to, if not the object itself, and where
	for range MaxNesting {
		l := at.Layout()
		if outer != nil {
			l = outer
		}
		if l == nil {
			if path == "" {
				return at, Field{Size: at.size}, nil
			}
			return nil, Field{}, &PathError{Type: at.TypeName(), Path: whole, Name: path, Err: ErrBadPath}
		}
		var elem uint64
		if index, next, ok := cutIndex(path); ok && l.Type.Kind != btf.KindArray {
			if outer == nil && index >= at.count || index >= at.size {
				return nil, Field{}, &PathError{Type: l.Name, Path: whole, Name: fmt.Sprintf("[%d]", index), Err: ErrBadPath}
			}
			elem, path = index*l.Size, next
		}
		f, rest, err := l.Place(path)
		if err != nil {
			if pe := (*PathError)(nil); errors.As(err, &pe) {
				c := *pe
				c.Path = whole
				err = &c
			}
			return nil, Field{}, err
		}
		shift := elem + inner
		if outer == nil {
			shift += at.faceOff
		}
		f.Off += shift
		f.BitOff += shift * 8
		if f.Off > at.size || f.Size > at.size-f.Off {
			return nil, Field{}, &PathError{Type: l.Name, Path: whole, Name: path + " (beyond the end of the object)", Err: ErrBadPath}
		}
		if rest == "" {
			return at, f, nil
		}
		if at.builtin && at.status(f.Off, f.Size) == never {
			at.Populate()
		}
		next := (*Object)(nil)
		if !create || at.status(f.Off, f.Size) != never || o.k.mode == ModeDefault {
			next = o.k.objectAt(at.LoadField(f))
		}
		if next == nil {
			if !create {
				return nil, Field{}, nil
			}
			to := Target(f.Spec, f.Type)
			if to.Type == nil || to.Type.Kind == btf.KindFuncProto {
				return nil, Field{}, &PathError{Type: at.k.typeString(f), Path: whole, Name: rest, Err: ErrBadPath}
			}
			nl := o.k.types.Of(f.Spec, to.Type.ID)
			if nl == nil || nl.Size == 0 {
				return nil, Field{}, &PathError{Type: at.k.typeString(f), Path: whole, Name: rest, Err: ErrBadPath}
			}
			role := at.role + dotted2(at.role, f.Path)
			if next, err = o.k.Make(role, nl, 1, at); err != nil {
				return nil, Field{}, err
			}
			next.builtin = at.builtin
			at.StoreField(f, next.Addr(), how)
		}
		outer, inner = next.inside(at.LoadField(f), o.k.types.Of(f.Spec, Target(f.Spec, f.Type).ID))
		at, path = next, rest
	}
	return nil, Field{}, &PathError{Type: o.TypeName(), Path: whole, Name: path, Err: ErrBadPath}
}

// inside returns what a pointer to a type leads to if not to the object itself, and its offset in
// the storage: the storage, of which the object is a part, or a part of it that has the type.
// Otherwise the layout is nil.
func (o *Object) inside(addr uint64, l *Layout) (*Layout, uint64) {
	off := o.k.mem.Truncate(addr) - o.base
	switch {
	case off == o.faceOff || o.layout == nil:
	case off == 0:
		return o.layout, 0
	case l != nil && l.Size > 0 && off < o.size && l.Size <= o.size-off:
		return l, off
	}
	return nil, 0
}

func (s *Space) typeString(f Field) string { return f.Spec.TypeString(f.Type) }

// LoadField returns the value of a scalar field according to the mode, zero-extended.
func (o *Object) LoadField(f Field) uint64 {
	b := o.Present(f.Off, f.Size)
	if f.BitSize == 0 {
		if len(b) > 8 {
			b = b[:8]
		}
		return endian.Uint(o.k.Order(), b)
	}
	return endian.Bits(o.k.Order(), b, f.BitOff-8*f.Off, min(f.BitSize, 64))
}

// Stored is LoadField for a number of whole bytes, without giving the object any content: 0 if the
// field never had a value.
func (o *Object) Stored(f Field) uint64 {
	if f.BitSize != 0 || o.status(f.Off, f.Size) == never {
		return 0
	}
	return o.LoadField(f)
}

// StoreField writes a scalar field, truncated to its width.
func (o *Object) StoreField(f Field, v uint64, how byteState) {
	if f.BitSize == 0 {
		b := make([]byte, min(f.Size, 16))
		endian.PutUint(o.k.Order(), b, v)
		o.Poke(f.Off, b, how)
		return
	}
	b := slices.Clone(o.Present(f.Off, f.Size))
	endian.PutBits(o.k.Order(), b, f.BitOff-8*f.Off, min(f.BitSize, 64), v)
	o.Poke(f.Off, b, how)
}
