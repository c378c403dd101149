package loader_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// TestTablesOfReleasesAgreeWithEnumerators: a kernel with the types of another one knows the
// helpers and the types of programs, maps and attachments that the enumerators of its own types
// list.
func TestTablesOfReleasesAgreeWithEnumerators(t *testing.T) {
	lender, err := embedded.Spec()
	require.NoError(t, err)
	for _, name := range []string{"linux-5.10.262-amd64-cloud", "linux-6.1.176-arm64-cloud", "linux-7.2.13-amd64"} {
		spec, err := testbtf.Load("../testdata/btf/" + name + ".btf.xz")
		require.NoError(t, err)
		own := loader.NewTarget(name, spec)
		lent := loader.NewTarget(embedded.Name, lender).As(own.Version)
		for id := range uapi.FuncID(300) {
			assert.Equal(t, own.HasHelper(id) && id.Known() && id != 0, lent.HasHelper(id), "%s: helper %v", name, id)
		}
		for _, m := range uapi.MapTypes() {
			assert.Equal(t, own.HasMapType(m), lent.HasMapType(m), "%s: map type %v", name, m)
		}
		for _, row := range progtype.All() {
			assert.Equal(t, own.HasProgType(row.Type), lent.HasProgType(row.Type), "%s: program type %v", name, row.Type)
		}
		for _, a := range uapi.AttachTypes() {
			assert.Equal(t, own.HasAttachType(a), lent.HasAttachType(a), "%s: attach type %v", name, a)
		}
	}
}

// TestKfuncsOfAnotherRelease: a function that the lending kernel's types have is no kfunc of a
// release before its own.
func TestKfuncsOfAnotherRelease(t *testing.T) {
	lender, err := embedded.Spec()
	require.NoError(t, err)
	obj, err := loader.Open("../testdata/objects/clang-14/needs.o")
	require.NoError(t, err)
	target := loader.NewTarget(embedded.Name, lender)
	for _, c := range []struct {
		release string
		has     bool
	}{{"6.3", false}, {"6.4", true}, {"6.12", true}} {
		_, version, ok := loader.ParseRelease(c.release)
		require.True(t, ok)
		l, err := obj.Load(target.As(version), loader.LoadOptions{})
		require.NoError(t, err)
		for _, e := range l.Externs {
			assert.Equal(t, c.has, e.Resolved, "%s on %s", e.Name, c.release)
		}
		assert.NotEmpty(t, l.Externs)
	}
}
