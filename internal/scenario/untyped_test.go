package scenario

import (
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// untyped has maps without types, and a program that writes to each.
const untyped = `.map h hash 4 8 4
.map a array 4 8 2
.map p percpu_array 4 8 1
.map q queue 0 4 3
.map s stack 0 4 3
.map long hash 4 40 4
.prog work tc
    *(u32 *)(r10 - 4) = 1
    *(u64 *)(r10 - 16) = 7
    r1 = map_fd(h)
    r2 = r10
    r2 += -4
    r3 = r10
    r3 += -16
    r4 = 0
    call bpf_map_update_elem
    r1 = map_fd(a)
    r2 = r10
    r2 += -4
    r3 = r10
    r3 += -16
    r4 = 0
    call bpf_map_update_elem
    r1 = map_fd(q)
    r2 = r10
    r2 += -4
    r3 = 0
    call bpf_map_push_elem
    r1 = map_fd(s)
    r2 = r10
    r2 += -16
    r3 = 0
    call bpf_map_push_elem
    *(u32 *)(r10 - 4) = 0
    r1 = map_fd(p)
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    *(u64 *)(r0 + 0) = 5
    r1 = map_fd(h)
    r2 = r10
    r2 += -4
    call bpf_map_delete_elem
out:
    r0 = 0
    exit
`

// TestMapsWithoutTypes: contents that are given as numbers and bytes, and what is said of others.
func TestMapsWithoutTypes(t *testing.T) {
	data, err := assembly.Object("untyped.s", untyped, nil)
	require.NoError(t, err)
	obj, err := loader.OpenBytes("untyped.o", data)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	target := loader.NewTarget(embedded.Name, spec)
	for _, tt := range []struct{ name, maps, expect, want string }{
		{"a number", "{}", "maps: {h: {1: 7}}", ""},
		{"bytes", "{}", "maps: {h: {1: !hex 0700000000000000}}", ""},
		{"any", "{}", "maps: {h: {1: !any x}}", ""},
		{"another number", "{}", "maps: {h: {1: 8}}", "h[1]: want 0800000000000000, got 0700000000000000"},
		{"another key", "{}", "maps: {h: {2: 8}}", "h[2]: want an element, got none"},
		{"an array's", "{a: [3]}", "maps: {a: [3, 7]}", ""},
		{"an array's others", "{a: [3]}", "maps: {a: [7, 3]}", "a[0]: want 0700000000000000, got 0300000000000000\na[1]: want 0300000000000000, got 0700000000000000"},
		{"one CPU's", "{}", "maps: {p: {0: 5}}", ""},
		{"all CPUs'", "{p: {0: !percpu [1, 2]}}", "maps: {p: {0: !percpu [5, 2]}}", ""},
		{"another CPU's", "{p: {0: !percpu [1, 2]}}", "maps: {p: {0: !percpu [5, 3]}}", "p[0] cpu 1: want 0300000000000000, got 0200000000000000"},
		{"a queue", "{q: [4]}", "maps: {q: [4, 1]}", ""},
		{"a queue in another order", "{q: [4]}", "maps: {q: [1, 4]}", "q[0]: want 01000000, got 04000000\nq[1]: want 04000000, got 01000000"},
		{"a longer queue", "{q: [4]}", "maps: {q: [4, 1, 2]}", "elements of q: want 3, got 2"},
		{"a stack", "{s: [4]}", "maps: {s: [7, 4]}", ""},
		{"how many", "{}", "maps: {h: 1, a: 1, p: 1}", ""},
		{"others that are written", "{}", "others: unchanged, maps: {a: {1: 7}, q: [1], s: [7], p: {0: 5}}", "h[01000000]: want unchanged, got 0700000000000000"},
		{"others that are deleted", "{h: {0: 9}}", "others: unchanged, maps: {a: {1: 7}, q: [1], s: [7], p: {0: 5}}", "h[00000000]: want unchanged, got deleted\nh[01000000]: want unchanged, got 0700000000000000"},
		{"a text", "{long: {1: abc}}", "maps: {long: {1: 'abc'}}", ""},
		{"a negative number", "{long: {1: -1}}", "maps: {long: {1: !hex " + strings.Repeat("ff", 40) + "}}", ""},
		{"the largest number", "{h: {3: 0xffffffffffffffff}}", "maps: {h: {3: -1}}", ""},
		{"a truth", "{h: {3: true}}", "maps: {h: {3: 1}}", ""},
		{"too large a number", "{h: {3: 0x10000000000000000}}", "", "refused s.yaml:1:15: 0x10000000000000000 does not fit into 8 bytes"},
		{"the smallest number", "{h: {3: -0x8000000000000000}}", "maps: {h: {3: 0x8000000000000000}}", ""},
		{"too small a number", "{h: {3: -0x8000000000000001}}", "", "refused s.yaml:1:15: -0x8000000000000001 does not fit into 8 bytes"},
		{"too long a text", "{h: {3: '123456789'}}", "", "refused s.yaml:1:15: got 9 bytes, want 8"},
		{"too many bytes", "{h: {3: !hex 000000000000000000}}", "", "refused s.yaml:1:15: got 9 bytes, want 8"},
		{"a list", "{h: {3: [1]}}", "", "refused s.yaml:1:15: want one value, got a list"},
		{"nothing", "{h: {3: null}}", "", "refused s.yaml:1:15: the map has no BTF types: want a number, a string or !hex, got null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := "maps: " + tt.maps + "\nruns: [{prog: work, expect: {ret: 0, " + tt.expect + "}}]\n"
			f, err := Parse("s.yaml", []byte(text))
			require.NoError(t, err)
			r, err := Open(f, obj, target, Options{Config: machine.Config{Seed: 1}})
			if want, refused := strings.CutPrefix(tt.want, "refused "); refused {
				require.EqualError(t, err, want)
				return
			}
			require.NoError(t, err)
			defer r.Close()
			results, err := r.All(t.Context(), nil)
			require.NoError(t, err)
			assert.Equal(t, tt.want, failures(results[0]))
		})
	}
}
