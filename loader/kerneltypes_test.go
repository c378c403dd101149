package loader

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
)

// TestLinkWithoutKernelTypes: objects that need no kernel's types are linked alike with and without
// them, the others are those with something to resolve.
func TestLinkWithoutKernelTypes(t *testing.T) {
	kernel, err := embedded.Spec()
	require.NoError(t, err)
	var paths []string
	for _, dir := range []string{"testdata", "../examples", "../examples/*", "../conformance/testdata/cases"} {
		found, err := filepath.Glob(filepath.Join(dir, "*.o"))
		require.NoError(t, err)
		paths = append(paths, found...)
	}
	counts := map[bool]int{}
	for _, path := range paths {
		o, err := Open(path)
		if err != nil || o.ByteOrder != kernel.ByteOrder() {
			continue
		}
		needs := o.NeedsKernelTypes()
		counts[needs]++
		if needs {
			continue
		}
		var linked [2]*Linked
		for i, target := range []*Target{NewTarget(embedded.Name, kernel), NewTarget(embedded.Name, nil)} {
			linked[i], err = o.Load(target, LoadOptions{LinkOnly: true})
			require.NoError(t, err, path)
		}
		assert.Equal(t, linked[0].Err, linked[1].Err, path)
		assert.Equal(t, linked[0].Warnings, linked[1].Warnings, path)
		assert.Equal(t, linked[0].BTFChanges, linked[1].BTFChanges, path)
		for i, p := range linked[0].Programs {
			q := linked[1].Programs[i]
			assert.Equal(t, p.Insns, q.Insns, "%s %s", path, p.Name)
			assert.Equal(t, p.Err, q.Err, "%s %s", path, p.Name)
			assert.Len(t, q.Refs, len(p.Refs), "%s %s", path, p.Name)
		}
	}
	assert.Greater(t, counts[true], 20)
	assert.Greater(t, counts[false], 20)
}
