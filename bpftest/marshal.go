package bpftest

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/bpfrun/bpfrun/internal/endian"
)

// ErrSize means that a Go value's size differs from that of the map's key or value, the variable or
// the record.
var ErrSize = errors.New("wrong size")

// layout computes the offsets of a Go type's fields. There are two layouts: packed, as in
// encoding/binary, and aligned, as in C on 64-bit machines. A Go struct may thus be written with or
// without the padding of its C counterpart.
type layout bool

const (
	packed  layout = false
	aligned layout = true
)

// extent returns the size and alignment of a type in bytes; ok is false for types without a fixed
// size.
func (l layout) extent(t reflect.Type) (size, align int, ok bool) {
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Uint8, reflect.Int16, reflect.Uint16, reflect.Int32, reflect.Uint32, reflect.Float32, reflect.Int64, reflect.Uint64, reflect.Float64:
		return int(t.Size()), int(t.Size()), true
	case reflect.Array:
		size, align, ok = l.extent(t.Elem())
		return size * t.Len(), align, ok
	case reflect.Struct:
		align = 1
		for i := range t.NumField() {
			n, a, ok := l.extent(t.Field(i).Type)
			if !ok {
				return 0, 0, false
			}
			if l == aligned {
				size = roundUp(size, a)
			}
			size, align = size+n, max(align, a)
		}
		if l == aligned {
			size = roundUp(size, align)
		}
		return size, align, true
	}
	return 0, 0, false
}

func roundUp(n, align int) int { return (n + align - 1) / align * align }

// fitting chooses the layout in which a type has the wanted size.
func fitting(what string, t reflect.Type, size int) (layout, error) {
	n, _, ok := packed.extent(t)
	if !ok {
		return packed, fmt.Errorf("%s: %v has no fixed size: want integers with a width, arrays, structs of them, []byte, or a type with MarshalBinary and UnmarshalBinary", what, t)
	}
	m, _, _ := aligned.extent(t)
	switch size {
	case n:
		return packed, nil
	case m:
		return aligned, nil
	}
	text := fmt.Sprint(n)
	if m != n {
		text = fmt.Sprintf("%d (%d with C's padding)", n, m)
	}
	return packed, fmt.Errorf("%s has %d bytes, %v has %s: %w", what, size, t, text, ErrSize)
}

// marshal encodes a Go value in size bytes: []byte and string as they are (a string may be shorter,
// the rest is zero), encoding.BinaryMarshaler as it marshals itself, other types as their fields in
// order.
func marshal(what string, v any, size int, order binary.ByteOrder) ([]byte, error) {
	exact := func(b []byte) ([]byte, error) {
		if len(b) != size {
			return nil, fmt.Errorf("%s has %d bytes, got %d: %w", what, size, len(b), ErrSize)
		}
		return append([]byte(nil), b...), nil
	}
	switch v := v.(type) {
	case nil:
		return nil, fmt.Errorf("%s: nil is not a value", what)
	case []byte:
		return exact(v)
	case string:
		if len(v) > size {
			return nil, fmt.Errorf("%s has %d bytes, the string has %d: %w", what, size, len(v), ErrSize)
		}
		return append([]byte(v), make([]byte, size-len(v))...), nil
	case encoding.BinaryMarshaler:
		b, err := v.MarshalBinary()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return exact(b)
	}
	r := reflect.ValueOf(v)
	for r.Kind() == reflect.Pointer && !r.IsNil() {
		r = r.Elem()
	}
	// Untyped constants are int in Go; their width is that of the BPF type.
	if k := r.Kind(); k == reflect.Int || k == reflect.Uint {
		return marshalWord(what, r, size, order)
	}
	if r.Kind() == reflect.Pointer {
		return nil, fmt.Errorf("%s: %v is nil", what, r.Type())
	}
	l, err := fitting(what, r.Type(), size)
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	c := cursor{b, order, l}
	c.write(0, r)
	return b, nil
}

// marshalWord writes an int or uint in the given number of bytes.
func marshalWord(what string, r reflect.Value, size int, order binary.ByteOrder) ([]byte, error) {
	var u uint64
	fits := false
	bits := uint(8 * size)
	switch {
	case size != 1 && size != 2 && size != 4 && size != 8:
		return nil, fmt.Errorf("%s has %d bytes, which is not an integer: %w", what, size, ErrSize)
	case r.CanInt():
		i := r.Int()
		u = uint64(i)
		fits = size == 8 || i >= 0 && u>>bits == 0 || i < 0 && i >= -(1<<(bits-1))
	default:
		u = r.Uint()
		fits = size == 8 || u>>bits == 0
	}
	if !fits {
		return nil, fmt.Errorf("%s has %d bytes, %v does not fit: %w", what, size, r, ErrSize)
	}
	b := make([]byte, size)
	endian.PutUint(order, b, u)
	return b, nil
}

// unmarshal decodes bytes into out: *[]byte and *string (up to the first NUL) take all of them, an
// encoding.BinaryUnmarshaler reads them, and other types must have exactly their size.
func unmarshal(what string, b []byte, out any, order binary.ByteOrder) error {
	switch out := out.(type) {
	case *[]byte:
		*out = append([]byte(nil), b...)
		return nil
	case *string:
		*out = CString(b)
		return nil
	case encoding.BinaryUnmarshaler:
		if err := out.UnmarshalBinary(append([]byte(nil), b...)); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	r := reflect.ValueOf(out)
	if r.Kind() != reflect.Pointer || r.IsNil() {
		return fmt.Errorf("%s: want a pointer to store it in, got %T", what, out)
	}
	r = r.Elem()
	if r.Kind() == reflect.Int || r.Kind() == reflect.Uint {
		return fmt.Errorf("%s: the width of %v depends on the machine: use int32, uint64 or another type of fixed width", what, r.Type())
	}
	l, err := fitting(what, r.Type(), len(b))
	if err != nil {
		return err
	}
	if name := unexported(r.Type()); name != "" {
		return fmt.Errorf("%s: field %s of %v cannot be set: export it, or call it _ when it is padding", what, name, r.Type())
	}
	c := cursor{b, order, l}
	c.read(0, r)
	return nil
}

// unexported returns a field that reflection cannot set, or "".
func unexported(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Array:
		return unexported(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if f.Name == "_" {
				continue
			}
			if !f.IsExported() {
				return f.Name
			}
			if name := unexported(f.Type); name != "" {
				return f.Name + "." + name
			}
		}
	}
	return ""
}

// CString returns the text before the first NUL, for C strings in fixed arrays such as comm[16] in
// a record.
func CString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// cursor walks a type and its bytes in parallel.
type cursor struct {
	b     []byte
	order binary.ByteOrder
	l     layout
}

// fields calls do for the parts of an array or a struct, with their offsets; it returns the end
// offset.
func (c *cursor) fields(off int, r reflect.Value, do func(off int, part reflect.Value) int) int {
	if r.Kind() == reflect.Array {
		for i := range r.Len() {
			off = do(off, r.Index(i))
		}
		return off
	}
	size, _, _ := c.l.extent(r.Type())
	at := off
	for i := range r.NumField() {
		f := r.Field(i)
		n, align, _ := c.l.extent(f.Type())
		if c.l == aligned {
			at = off + roundUp(at-off, align)
		}
		if r.Type().Field(i).Name != "_" {
			do(at, f)
		}
		at += n
	}
	return off + size
}

func (c *cursor) write(off int, r reflect.Value) int {
	if k := r.Kind(); k == reflect.Array || k == reflect.Struct {
		return c.fields(off, r, c.write)
	}
	n := int(r.Type().Size())
	endian.PutUint(c.order, c.b[off:off+n], bitsOf(r))
	return off + n
}

func bitsOf(r reflect.Value) uint64 {
	switch {
	case r.CanInt():
		return uint64(r.Int())
	case r.CanUint():
		return r.Uint()
	case r.Kind() == reflect.Float32:
		return uint64(math.Float32bits(float32(r.Float())))
	case r.CanFloat():
		return math.Float64bits(r.Float())
	case r.Kind() == reflect.Bool && r.Bool():
		return 1
	}
	return 0
}

func (c *cursor) read(off int, r reflect.Value) int {
	if k := r.Kind(); k == reflect.Array || k == reflect.Struct {
		return c.fields(off, r, c.read)
	}
	n := int(r.Type().Size())
	u := endian.Uint(c.order, c.b[off:off+n])
	switch {
	case r.CanInt():
		shift := 64 - 8*uint(n)
		r.SetInt(int64(u<<shift) >> shift)
	case r.CanUint():
		r.SetUint(u)
	case r.Kind() == reflect.Float32:
		r.SetFloat(float64(math.Float32frombits(uint32(u))))
	case r.CanFloat():
		r.SetFloat(math.Float64frombits(u))
	default:
		r.SetBool(u != 0)
	}
	return off + n
}

// sizeOf returns the size in bytes of a Go value, or of its pointee, with C's padding.
func sizeOf(what string, v any) (int, error) {
	switch v := v.(type) {
	case []byte:
		return len(v), nil
	case string:
		return len(v), nil
	case encoding.BinaryMarshaler:
		b, err := v.MarshalBinary()
		return len(b), err
	}
	t := reflect.TypeOf(v)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return 0, fmt.Errorf("%s: nil is not a value", what)
	}
	size, _, ok := aligned.extent(t)
	if !ok {
		return 0, fmt.Errorf("%s: %v has no fixed size", what, t)
	}
	return size, nil
}
