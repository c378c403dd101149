// Package valuehash hashes Go values by their content: all fields of structs, exported or not, so
// that none that is added later can be forgotten. It knows nothing about what the values mean.
package valuehash

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash"
	"reflect"
	"slices"
	"strings"
)

// Hasher adds values to a hash. Pointers are followed, each once, because values refer to one
// another.
type Hasher struct {
	hash.Hash
	// Special adds values of types that are not to be followed, and reports whether it did. It may
	// be nil.
	Special func(v reflect.Value) bool

	seen  map[uintptr]int
	wrong error
}

// New returns a Hasher.
func New(h hash.Hash) *Hasher { return &Hasher{Hash: h, seen: map[uintptr]int{}} }

// Err returns which value cannot be hashed, because it has no content to compare: a function, a
// channel. Nil ones can.
func (d *Hasher) Err() error { return d.wrong }

// Number adds a number.
func (d *Hasher) Number(n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	d.Write(b[:])
}

// Bytes adds bytes with their number.
func (d *Hasher) Bytes(b []byte) {
	d.Number(uint64(len(b)))
	d.Write(b)
}

// Add adds a value.
func (d *Hasher) Add(v any) { d.add(reflect.ValueOf(v)) }

func (d *Hasher) add(v reflect.Value) {
	if d.Special != nil && v.IsValid() && d.Special(v) {
		return
	}
	switch v.Kind() {
	case reflect.Invalid:
		d.Number(0)
	case reflect.Pointer:
		d.pointer(v)
	case reflect.Interface:
		d.iface(v)
	case reflect.Struct:
		for i := range v.NumField() {
			d.add(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		d.list(v)
	case reflect.Map:
		d.table(v)
	case reflect.String:
		d.Number(uint64(v.Len()))
		d.Write([]byte(v.String()))
	case reflect.Bool:
		n := uint64(0)
		if v.Bool() {
			n = 1
		}
		d.Number(n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.Number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.Number(v.Uint())
	case reflect.Func, reflect.Chan:
		d.Number(0)
		if !v.IsNil() {
			d.fail(v)
		}
	default:
		d.fail(v)
	}
}

func (d *Hasher) fail(v reflect.Value) {
	if d.wrong == nil {
		d.wrong = fmt.Errorf("a %v has no content to hash", v.Type())
	}
}

func (d *Hasher) iface(v reflect.Value) {
	if v.IsNil() {
		d.Number(0)
		return
	}
	d.Number(1)
	t := v.Elem().Type()
	d.Bytes([]byte(t.PkgPath() + " " + t.String()))
	d.add(v.Elem())
}

// isNil is the length of a nil slice or map, which may mean something else than an empty one.
const isNil = 1<<64 - 1

func (d *Hasher) list(v reflect.Value) {
	if v.Kind() == reflect.Slice {
		if v.IsNil() {
			d.Number(isNil)
			return
		}
		d.Number(uint64(v.Len()))
		switch v.Type().Elem().Kind() {
		case reflect.Uint8:
			d.Write(v.Bytes())
			return
		case reflect.Bool: // one for each instruction of a program
			flags := make([]byte, v.Len())
			for i := range flags {
				if v.Index(i).Bool() {
					flags[i] = 1
				}
			}
			d.Write(flags)
			return
		}
	}
	for i := range v.Len() {
		d.add(v.Index(i))
	}
}

// table adds a map in the order of its keys.
func (d *Hasher) table(v reflect.Value) {
	if v.IsNil() {
		d.Number(isNil)
		return
	}
	d.Number(uint64(v.Len()))
	keys := v.MapKeys()
	order, ok := orders[keyKind(v.Type().Key().Kind())]
	if !ok {
		d.fail(v)
		return
	}
	slices.SortFunc(keys, order)
	for _, k := range keys {
		d.add(k)
		d.add(v.MapIndex(k))
	}
}

var orders = map[reflect.Kind]func(a, b reflect.Value) int{
	reflect.String: func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) },
	reflect.Int:    func(a, b reflect.Value) int { return cmp.Compare(a.Int(), b.Int()) },
	reflect.Uint:   func(a, b reflect.Value) int { return cmp.Compare(a.Uint(), b.Uint()) },
	reflect.Struct: func(a, b reflect.Value) int { return strings.Compare(fmt.Sprintf("%#v", a), fmt.Sprintf("%#v", b)) },
}

// keyKind returns the kind that stands for all kinds of the same order.
func keyKind(k reflect.Kind) reflect.Kind {
	switch {
	case k >= reflect.Int && k <= reflect.Int64:
		return reflect.Int
	case k >= reflect.Uint && k <= reflect.Uint64:
		return reflect.Uint
	}
	return k
}

func (d *Hasher) pointer(v reflect.Value) {
	if v.IsNil() {
		d.Number(0)
		return
	}
	n, ok := d.seen[v.Pointer()]
	if !ok {
		n = len(d.seen)
		d.seen[v.Pointer()] = n
	}
	d.Number(uint64(n) + 1)
	if !ok {
		d.add(v.Elem())
	}
}
