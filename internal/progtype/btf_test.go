package progtype_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestContextsAreThoseOfTheKernel compares the layouts with the structs in a kernel's BTF: sizes,
// and offset and width of every field.
func TestContextsAreThoseOfTheKernel(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	seen := map[*progtype.Context]bool{progtype.TCPSock: true}
	contexts := []*progtype.Context{progtype.TCPSock}
	for _, r := range progtype.All() {
		if c := r.Context; c.Layout == progtype.StructLayout && c.User != "" && !seen[c] {
			seen[c] = true
			contexts = append(contexts, c)
		}
	}
	// What has no name of its own.
	unlike := map[string]bool{"padding": true}
	for _, c := range contexts {
		t.Run(c.User, func(t *testing.T) {
			typ, ok := spec.Find(btf.KindStruct, c.User)
			require.True(t, ok, "the kernel's BTF has the struct")
			assert.EqualValues(t, typ.Size, c.Size)
			covered := make([]bool, c.Size)
			for _, f := range c.Fields {
				for b := range f.Size {
					covered[f.Off+b] = true
				}
				if unlike[f.Name] {
					continue
				}
				path := f.Name
				got, err := spec.ResolvePath(typ.ID, path)
				if !assert.NoError(t, err, f.Name) {
					continue
				}
				assert.EqualValues(t, f.Off, got.Offset(), "%s: offset", f.Name)
				size, err := spec.Sizeof(got.Type)
				require.NoError(t, err)
				assert.EqualValues(t, f.Size, size, "%s: width", f.Name)
			}
			for _, m := range typ.Members {
				if m.Name != "" {
					assert.True(t, covered[m.BitOffset/8], "%s has no row", m.Name)
				}
			}
		})
	}
}

// TestTypesOfTheEmbeddedKernel compares since when there are program and attach types with the
// enumerators in the BTF of 6.12.
func TestTypesOfTheEmbeddedKernel(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	count := func(name, end string) int {
		e, ok := spec.Find(btf.KindEnum, name)
		require.True(t, ok, name)
		for _, v := range e.Values {
			if v.Name == end {
				return int(v.Value)
			}
		}
		t.Fatalf("%s has no %s", name, end)
		return 0
	}
	types, attaches := count("bpf_prog_type", "__MAX_BPF_PROG_TYPE"), count("bpf_attach_type", "__MAX_BPF_ATTACH_TYPE")
	release := uapi.R(6, 12)
	for _, r := range progtype.All() {
		assert.Equal(t, int(r.Type) < types, release.Has(r.Since), "%v", r.Type)
		for _, a := range r.Attaches {
			assert.Equal(t, int(a.Type) < attaches, release.Has(a.Since), "%v", a.Type)
		}
	}
}
