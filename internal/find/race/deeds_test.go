package race

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/loader"
)

// TestElementsOfOneCPU: which lookups are of the element with the number of the CPU.
func TestElementsOfOneCPU(t *testing.T) {
	const head = ".map a array 4 8 64\n.map b array 4 8 64\n.map h hash 4 8 64\n.prog p tc\n"
	const key = "*(u32 *)(r10 - 4) = r0\nr2 = r10\nr2 += -4\n"
	const ask, look, end = "call bpf_get_smp_processor_id\n", "call bpf_map_lookup_elem\n", "r0 = 0\nexit\n"
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"the number", ask + key + "r1 = map_fd(a)\n" + look, true},
		{"of another map", ask + key + "r1 = map_fd(b)\n" + look, false},
		{"of a hash", ask + key + "r1 = map_fd(h)\n" + look, false},
		{"through another register", ask + key + "r6 = map_fd(a)\nr1 = r6\n" + look, true},
		{"of a map that a call took", "r1 = map_fd(a)\n" + ask + key + look, false},
		{"cut", ask + "r0 &= 63\n" + key + "r1 = map_fd(a)\n" + look, true},
		{"cut to 32 bits", ask + "w0 &= 63\n" + key + "r1 = map_fd(a)\n" + look, true},
		{"shifted", ask + "r0 <<= 32\nr0 >>= 32\n" + key + "r1 = map_fd(a)\n" + look, true},
		{"moved", ask + "r6 = r0\nr0 = r6\n" + key + "r1 = map_fd(a)\n" + look, true},
		{"moved in 32 bits", ask + "w6 = w0\nr0 = r6\n" + key + "r1 = map_fd(a)\n" + look, true},
		{"one more", ask + "r0 += 1\n" + key + "r1 = map_fd(a)\n" + look, false},
		{"twice", ask + "r0 *= 2\n" + key + "r1 = map_fd(a)\n" + look, false},
		{"another number", "call bpf_get_prandom_u32\n" + key + "r1 = map_fd(a)\n" + look, false},
		{"replaced", ask + key + "*(u32 *)(r10 - 4) = 1\nr1 = map_fd(a)\n" + look, false},
		{"elsewhere", ask + "*(u32 *)(r10 - 8) = r0\nr2 = r10\nr2 += -4\nr1 = map_fd(a)\n" + look, false},
		{"after another call", ask + "r6 = r0\ncall bpf_get_prandom_u32\nr0 = r6\n" + key + "r1 = map_fd(a)\n" + look, true},
		{"after a call of its own", ask + "r6 = r0\nr1 = 1\ncall f\nr0 = r6\n" + key + "r1 = map_fd(a)\n" + look + end + "f:\nr0 = 0\nexit\n", true},
		{"of a map before a call of its own", ask + key + "r1 = map_fd(a)\ncall f\n" + look + end + "f:\nr0 = 0\nexit\n", false},
		{"updated", ask + key + "r1 = map_fd(a)\nr3 = r10\nr3 += -4\nr4 = 0\ncall bpf_map_update_elem\n", false},
	} {
		data, err := assembly.Object("x.s", head+tt.text+end, nil)
		require.NoError(t, err, tt.name)
		o, err := loader.OpenBytes("x.o", data)
		require.NoError(t, err, tt.name)
		spec, err := embedded.Spec()
		require.NoError(t, err)
		l, err := o.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
		require.NoError(t, err, tt.name)
		lp, ok := l.Program("p")
		require.True(t, ok)
		for _, name := range []string{"a", "h"} {
			def, ok := l.Map(name)
			require.True(t, ok)
			assert.Equal(t, tt.want && name == "a", byCPU(lp, def), "%s, map %s", tt.name, name)
		}
	}
}

// TestWhatOnlyEventsMake: elements of maps that programs fill, unless they are like one of theirs.
func TestWhatOnlyEventsMake(t *testing.T) {
	filled := map[string]bool{"m": true}
	for _, tt := range []struct {
		name string
		o    search.Override
		want bool
	}{
		{"an element", search.Override{Kind: search.Element, Place: search.Place{Name: "m"}}, true},
		{"an element of another map", search.Override{Kind: search.Element, Place: search.Place{Name: "n"}}, false},
		{"one like others", search.Override{Kind: search.Element, Place: search.Place{Name: "m"}, Like: []byte{1}}, false},
		{"a value", search.Override{Kind: search.Memory, Place: search.Place{Name: "m", Input: search.MapValue}}, true},
		{"a value that is like others", search.Override{Kind: search.Memory, Place: search.Place{Name: "m", Input: search.MapValue}, Like: []byte{1}}, true},
		{"a value of another map", search.Override{Kind: search.Memory, Place: search.Place{Name: "n", Input: search.MapValue}}, false},
		{"a variable", search.Override{Kind: search.Memory, Place: search.Place{Name: "m", Input: search.Global}}, false},
		{"what a helper returns", search.Override{Kind: search.Result}, true},
	} {
		assert.Equal(t, tt.want, byEvents(tt.o, filled), tt.name)
	}
}
