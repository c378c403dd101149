package verifier

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// TestCache: a program that is linked twice is verified once; what differs between the two links
// has a verdict of its own.
func TestCache(t *testing.T) {
	spec, err := btffile.Load("../../testdata/btf/linux-7.2.13-amd64.btf.xz", nil)
	require.NoError(t, err)
	o, err := loader.Open("../../testdata/objects/clang-14/globals.o")
	require.NoError(t, err)
	c := NewCache()
	each := c.Each(t.Context())
	verify := func(version string, opts loader.LoadOptions) {
		t.Helper()
		_, v, _ := loader.ParseRelease(version)
		l, err := o.Load(loader.NewTarget("linux", spec, loader.WithVersion(v)), opts)
		require.NoError(t, err)
		f := each(l)
		for _, lp := range l.Programs {
			assert.True(t, f(lp).Decided, lp.Name)
		}
	}
	verify("7.2.13", loader.LoadOptions{})
	n := len(c.known)
	assert.Len(t, o.Programs, n)
	verify("7.2.13", loader.LoadOptions{})
	assert.Len(t, c.known, n, "the same programs")
	verify("6.12.107", loader.LoadOptions{})
	assert.Len(t, c.known, 2*n, "another kernel")
}

// TestCacheKeyHasEveryField: each field of a kernel and a program changes the key.
func TestCacheKeyHasEveryField(t *testing.T) {
	c := NewCache()
	key := func(k *Kernel, p *Program) [32]byte { return c.key(k, p) }
	seen := map[[32]byte]string{key(&Kernel{}, &Program{}): "nothing"}
	add := func(name string, k [32]byte) {
		t.Helper()
		assert.Empty(t, seen[k], "%s has the key of another", name)
		seen[k] = name
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[Kernel](), reflect.TypeFor[Program]()} {
		for i := range typ.NumField() {
			k, p := &Kernel{}, &Program{}
			v := reflect.ValueOf(k).Elem()
			if typ == reflect.TypeFor[Program]() {
				v = reflect.ValueOf(p).Elem()
			}
			set(v.Field(i))
			add(typ.Field(i).Name, key(k, p))
		}
	}
	m := &Map{Type: uapi.MapTypeArray}
	for name, p := range map[string]*Program{
		"one map":  {Refs: map[int]Ref{0: {Map: m}, 2: {Map: m}}},
		"two maps": {Refs: map[int]Ref{0: {Map: m}, 2: {Map: &Map{Type: uapi.MapTypeArray}}}},
		"frozen":   {Refs: map[int]Ref{0: {Map: &Map{Type: uapi.MapTypeArray, Frozen: []byte{0}}}}},
		"frozen 1": {Refs: map[int]Ref{0: {Map: &Map{Type: uapi.MapTypeArray, Frozen: []byte{1}}}}},
	} {
		add(name, key(&Kernel{}, p))
	}
}

// set makes a value differ from its zero value.
func set(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	default:
		v.SetUint(1)
	}
}
