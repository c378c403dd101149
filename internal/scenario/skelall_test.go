package scenario

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/loader"
)

// TestSkeletonsPassForAllObjects: what scenario new writes for an object of the tree is read back,
// runs, and passes.
func TestSkeletonsPassForAllObjects(t *testing.T) {
	const path = "../../testdata/btf/linux-7.2.13-amd64.btf.xz"
	spec, err := btffile.Load(path, nil)
	require.NoError(t, err)
	target := loader.NewTarget("linux-7.2.13-amd64", spec)
	var few []string // of those that were wrong once, one for each reason
	for _, name := range []string{"egress", "iter", "structops", "taskstorage"} {
		few = append(few, "../../examples/"+name)
	}
	all := []string{"../../examples", "../../docs/tutorial", "../../testdata/objects"}
	roots := testsize.Pick(all, append(few, "../../docs/tutorial"), few)
	written := 0
	for _, root := range roots {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".o") {
				return err
			}
			obj, err := loader.Open(path)
			if err != nil {
				return nil //nolint:nilerr // objects that must not open
			}
			l, err := obj.Load(target, loader.LoadOptions{Optional: true})
			if err != nil {
				if !errors.Is(err, loader.ErrByteOrder) {
					t.Logf("%s: %v", path, err)
				}
				return nil
			}
			opt := Options{Config: machine.Config{Seed: 1, MaxInsns: 1 << 20}, Load: loader.LoadOptions{Optional: true}}
			var b bytes.Buffer
			if !assert.NoError(t, Skeleton(context.Background(), &b, l, obj.Name, nil, opt), path) {
				return nil
			}
			f, err := Parse("new.yaml", b.Bytes())
			if !assert.NoError(t, err, path) {
				return nil
			}
			r, err := Open(f, obj, target, opt)
			if !assert.NoError(t, err, path) {
				return nil
			}
			defer r.Close()
			results, err := r.All(context.Background(), nil)
			require.NoError(t, err, path)
			written++
			for _, res := range results {
				for _, e := range res.Failed() {
					assert.Fail(t, path+": "+res.Run.Name, "%v: %v", e.Pos, e.String())
				}
			}
			return nil
		}))
	}
	assert.GreaterOrEqual(t, written, len(few))
}
