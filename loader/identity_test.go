package loader

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func hashOf(t *testing.T, target *Target) [32]byte {
	t.Helper()
	h := sha256.New()
	require.NoError(t, target.Hash(h))
	return [32]byte(h.Sum(nil))
}

func specOf(t *testing.T, name string, base *btf.Spec) *btf.Spec {
	t.Helper()
	b := btf.NewBuilder(base)
	b.Struct(name, 8)
	raw, err := b.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	s, err := btf.LoadBytes("source of "+name, raw, base)
	require.NoError(t, err)
	return s
}

// What objects see of a kernel is in its hash, each field of it; its name and where its types came
// from are not.
func TestHashOfTarget(t *testing.T) {
	kfuncs := func(name string, flags proto.KfuncFlags, types ...uapi.ProgType) *proto.Declared {
		return proto.Declare([]proto.KfuncSet{{Flags: map[string]proto.KfuncFlags{name: flags}, Programs: types}})
	}
	vmlinux := specOf(t, "one", nil)
	// Several values of each field, none equal to another one. An exported field without values
	// fails.
	values := map[string][]any{
		"BTF": {specOf(t, "one", nil), specOf(t, "two", nil)},
		"Modules": {[]Module{{Name: "m"}}, []Module{{Name: "n"}}, []Module{{Name: "m"}, {Name: "n"}}, []Module{{Name: "m", BTF: specOf(t, "a", vmlinux)}},
			[]Module{{Name: "m", BTF: specOf(t, "b", vmlinux)}}, []Module{{Name: "m", Kfuncs: kfuncs("f", proto.Acquire)}}},
		"Kfuncs": {kfuncs("f", proto.Acquire), kfuncs("g", proto.Acquire), kfuncs("f", proto.ReturnsNull), kfuncs("f", proto.Acquire, uapi.ProgTypeXDP),
			proto.Declare(nil)},
		"Release":      {"6.1", "6.1-x"},
		"Version":      {uint32(1), uint32(2)},
		"VersionLow":   {uint32(1), uint32(2)},
		"VersionKnown": {"given", "name"},
		"Arch":         {"x86", "arm64"},
		"Kconfig":      {map[string]string{}, map[string]string{"CONFIG_A": "y"}, map[string]string{"CONFIG_A": "m"}, map[string]string{"CONFIG_B": "y"}},
		"KconfigWhole": {true},
		"Lent":         {true},
		"Kallsyms":     {map[string]uint64{}, map[string]uint64{"a": 1}, map[string]uint64{"a": 2}, map[string]uint64{"b": 1}},
	}
	seen := map[[32]byte]string{hashOf(t, &Target{}): "nothing"}
	typ := reflect.TypeFor[Target]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		if !f.IsExported() || f.Name == "Name" {
			continue
		}
		require.NotEmpty(t, values[f.Name], "no values of %s", f.Name)
		for _, v := range values[f.Name] {
			target := &Target{Name: "kernel"}
			reflect.ValueOf(target).Elem().Field(i).Set(reflect.ValueOf(v))
			h := hashOf(t, target)
			assert.Empty(t, seen[h], "%s = %v has the hash of another", f.Name, v)
			seen[h] = f.Name
			other := target.Called("other")
			assert.Equal(t, h, hashOf(t, other), f.Name)
			assert.Equal(t, v, reflect.ValueOf(other).Elem().Field(i).Interface())
			assert.Equal(t, "other", other.Name)
			assert.Equal(t, "kernel", target.Name)
		}
	}
	named, err := btf.LoadBytes("elsewhere", vmlinux.Raw(), nil)
	require.NoError(t, err)
	assert.Equal(t, hashOf(t, NewTarget("a", vmlinux)), hashOf(t, NewTarget("b", named)))
}

func TestHashOfObject(t *testing.T) {
	data, err := os.ReadFile("../examples/xdp/xdp.bpf.o")
	require.NoError(t, err)
	seen := map[[32]byte]string{}
	for name, opened := range map[string]func() (*Object, error){
		"plain":       func() (*Object, error) { return OpenBytes("a.o", data) },
		"other name":  func() (*Object, error) { return OpenBytes("b.o", data) },
		"other type":  func() (*Object, error) { return OpenBytes("a.o", data, WithType("filter", uapi.ProgTypeXDP)) },
		"other types": func() (*Object, error) { return OpenBytes("a.o", data, WithType("filter", uapi.ProgTypeKprobe)) },
		"dialect":     func() (*Object, error) { return OpenBytes("a.o", data, WithDialect(DialectAya)) },
		"other file":  func() (*Object, error) { return OpenBytes("a.o", append(append([]byte{}, data...), 0)) },
	} {
		var sums [2][32]byte
		for i := range sums {
			o, err := opened()
			require.NoError(t, err, name)
			h := sha256.New()
			o.Hash(h)
			sums[i] = [32]byte(h.Sum(nil))
		}
		assert.Equal(t, sums[0], sums[1], name)
		assert.Empty(t, seen[sums[0]], name)
		seen[sums[0]] = name
	}
}
