package machine_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// bigTarget is a kernel with the types of another, in big-endian byte order.
func bigTarget(t *testing.T, tgt *loader.Target) *loader.Target {
	t.Helper()
	b := btf.NewBuilder(nil)
	b.AddSpec(tgt.BTF)
	spec, err := b.Spec(binary.BigEndian)
	require.NoError(t, err)
	return loader.NewTarget(tgt.Name, spec)
}

// TestBigEndianRuns: programs compiled for big-endian processors do the same on a kernel of their
// byte order as the same source compiled for little-endian ones: results, calls, output, and the
// values of maps and records by their types.
func TestBigEndianRuns(t *testing.T) {
	little := target(t, embedded.Name)
	big := bigTarget(t, little)
	for _, name := range []string{"isa", "subprog", "globals", "maps_values", "ldabs", "packets", "events", "storageiter", "callbacks"} {
		t.Run(name, func(t *testing.T) {
			lm := compose(t, load(t, "../../testdata/objects/clang-14/"+name+".o", little), machine.Config{})
			bm := compose(t, load(t, "../../testdata/objects/clang-14-eb/"+name+".o", big), machine.Config{Engine: machine.EngineBoth, OnDifference: func(string) {}})
			require.Equal(t, lm.Names(), bm.Names())
			if machine.NativeCode() {
				assert.Contains(t, fmt.Sprint(bm.Warnings()), "the interpreter runs this object")
			}
			for range 2 {
				for _, prog := range lm.Names() {
					want, got := run(t, lm, prog), run(t, bm, prog)
					assert.Equal(t, want.Status, got.Status, prog)
					assert.Equal(t, want.Ret, got.Ret, prog)
					assert.Equal(t, want.Helpers, got.Helpers, prog)
					assert.Equal(t, want.Trace, got.Trace, prog)
					assert.Equal(t, want.Output, got.Output, prog)
					assert.Equal(t, want.PacketOut, got.PacketOut, prog)
					assert.Equal(t, want.Effects, got.Effects, prog)
					assert.Equal(t, meanings(t, lm, want), meanings(t, bm, got), prog)
				}
			}
		})
	}
}

// sameBytes are variables that programs access in several widths, so that their values depend on
// the byte order.
var sameBytes = map[string]bool{"mem": true, "point": true}

// meanings lists the changes of maps as values of their types, and the records by their lengths.
func meanings(t *testing.T, m *machine.Machine, r *machine.Result) []string {
	t.Helper()
	spec := m.Linked().Object.BTF
	decoded := func(id btf.ID, b []byte) any {
		if id == 0 || b == nil {
			return len(b)
		}
		v, err := spec.DecodeValue(id, b, btf.DecodeOptions{})
		require.NoError(t, err)
		return v
	}
	value := func(def *loader.Map, b []byte) (out []any) {
		if len(def.Vars) == 0 || b == nil {
			return []any{decoded(def.ValueType, b)}
		}
		for _, v := range def.Vars {
			if !sameBytes[v.Name] {
				out = append(out, v.Name, decoded(v.Type, b[v.Off:v.Off+v.Size]))
			}
		}
		return out
	}
	var out []string
	for _, c := range r.Changes {
		i := slices.IndexFunc(m.Linked().Object.Maps, func(def *loader.Map) bool { return def.Name == c.Map })
		require.GreaterOrEqual(t, i, 0, c.Map)
		def := m.Linked().Object.Maps[i]
		var key any
		if def.Type != uapi.MapTypeSkStorage { // there it is an address
			key = decoded(def.KeyType, c.Key)
		}
		out = append(out, fmt.Sprint(c.Map, key, c.CPU, value(def, c.Old), value(def, c.New)))
	}
	for _, e := range r.Events {
		out = append(out, fmt.Sprint(e.Map, e.Kind, len(e.Data)))
	}
	return out
}
