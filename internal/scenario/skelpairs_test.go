package scenario

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// skeletonOf writes the scenario of an object and reads it back.
func skeletonOf(t *testing.T, path string) (string, *File) {
	t.Helper()
	obj, err := loader.Open(path)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, Skeleton(context.Background(), &b, linked, "x.o", nil, Options{Config: machine.Config{Seed: 1}}))
	f, err := Parse("skeleton.yaml", []byte(b.String()))
	require.NoError(t, err)
	return b.String(), f
}

// TestSkeletonsRunEntriesBeforeReturns: programs of one function or system call are a sequence, so
// that a return finds what its entry left, and what it deletes is expected to be gone. Arguments of
// system calls are written as people read them.
func TestSkeletonsRunEntriesBeforeReturns(t *testing.T) {
	text, f := skeletonOf(t, "../../examples/perfbuf/perfbuf.bpf.o")
	require.Equal(t, []string{"on_enter", "on_exit"}, names(f), text)
	assert.NotContains(t, text, "not with these fields alone")
	assert.Contains(t, text, "null", "the return deletes what the entry stored: %s", text)

	text, _ = skeletonOf(t, "../../testdata/objects/clang-14/filtered.o")
	assert.NotRegexp(t, `1844674407370955\d{4}`, text)
	assert.Regexp(t, `args: \{dfd: AT_FDCWD, filename: "/[^"]+", flags: \d+, mode: \d+\}`, text)
}

func names(f *File) []string {
	var out []string
	for _, r := range f.Sequence {
		out = append(out, r.Name)
	}
	return out
}
