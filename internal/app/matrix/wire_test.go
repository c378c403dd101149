package matrix

import (
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// filler sets every field of a value, exported or not, each to another value.
type filler struct {
	t   *testing.T
	n   int64
	obj *loader.Object
}

func (f *filler) fill(v reflect.Value) {
	f.n++
	if !v.CanSet() {
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	switch v.Type() {
	case reflect.TypeFor[*btf.Spec]():
		v.Set(reflect.ValueOf(f.obj.BTF))
		return
	case reflect.TypeFor[*loader.Map]():
		v.Set(reflect.ValueOf(f.obj.Maps[0]))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 9, 9)) // more than a byte of bits
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 3 {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(k)
			f.fill(e)
			v.SetMapIndex(k, e)
		}
	case reflect.String:
		v.SetString(fmt.Sprint("text ", f.n))
	case reflect.Bool:
		v.SetBool(f.n%3 != 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(-f.n)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.n) & 0xff)
	default:
		f.t.Fatalf("no value of a %v", v.Type())
	}
}

// survives fills a value, writes it and reads it back; then each of its fields alone, since another
// one may hide it.
func survives[T any](t *testing.T, obj *loader.Object, handle func(*wire, *T)) {
	t.Helper()
	check := func(v *T, what string) {
		t.Helper()
		out := &wire{}
		handle(out, v)
		require.NoError(t, out.err, what)
		in, got := &wire{reading: true, text: string(out.out)}, new(T)
		handle(in, got)
		require.NoError(t, in.err, what)
		assert.Empty(t, in.text, what)
		assert.Equal(t, v, got, what)
		for n := range out.out { // a part of it is an error
			in := &wire{reading: true, text: string(out.out[:n])}
			handle(in, new(T))
			assert.Error(t, in.err, "%s cut after %d bytes", what, n)
		}
	}
	f := &filler{t: t, obj: obj}
	all := new(T)
	f.fill(reflect.ValueOf(all).Elem())
	check(all, "all fields")
	for i := range reflect.TypeFor[T]().NumField() {
		one := new(T)
		f.n = 3 * int64(i) // the next number is no multiple of 3, so that a truth value is true
		f.fill(reflect.ValueOf(one).Elem().Field(i))
		if o, ok := any(one).(*outcome); ok && o.names == nil {
			o.names = map[uint64]string{} // as all outcomes have
		}
		check(one, reflect.TypeFor[T]().Field(i).Name)
	}
}

func TestEveryFieldIsKept(t *testing.T) {
	obj := open(t, "testdata/objects/clang-14/follow.o")[0]
	require.NotEmpty(t, obj.Maps)
	t.Run("verdict", func(t *testing.T) {
		survives(t, obj, func(w *wire, v *verifier.Verdict) { w.verdict(v) })
	})
	t.Run("cell", func(t *testing.T) {
		survives(t, obj, func(w *wire, c *Cell) {
			w.cell(c)
			optional(w, &c.Verdict, w.verdict) // in an entry, a reference
		})
	})
	t.Run("outcome", func(t *testing.T) {
		survives(t, obj, func(w *wire, o *outcome) { w.outcome(o, obj) })
	})
	t.Run("facts", func(t *testing.T) {
		survives(t, obj, func(w *wire, f *Facts) { w.facts(f) })
	})
}

// What is not the object's cannot be read back, so that such a result is not kept.
func TestWhatIsNotTheObjectsIsNotKept(t *testing.T) {
	objects := open(t, "testdata/objects/clang-14/follow.o", "examples/xdp/xdp.bpf.o")
	obj, other := objects[0], objects[1]
	changed := *obj.Maps[0]
	changed.ValueType++
	for name, o := range map[string]*outcome{
		"types":   {spec: other.BTF},
		"map":     {changes: []change{{def: &loader.Map{Name: "no such map"}}}},
		"changed": {changes: []change{{def: &changed}}},
	} {
		w := &wire{}
		w.outcome(o, obj)
		assert.ErrorIs(t, w.err, errAlien, name)
		k := resultKey{kernel: identity{1}}
		data := encodeResults(map[resultKey]*result{k: {outcomes: []*outcome{o}, cells: []*Cell{{}}}}, obj)
		got, err := decodeResults(data, obj)
		assert.NoError(t, err)
		assert.Empty(t, got, name)
	}
}
