package scenario

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/require"
)

// TestSkeletonsAreTheSame: what scenario new writes for the examples, as inputs come and with
// inputs that get further.
func TestSkeletonsAreTheSame(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	target := loader.NewTarget(embedded.Name, spec)
	paths, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	var all rewrite.Outcomes
	for _, path := range paths {
		obj, err := loader.Open(path)
		require.NoError(t, err)
		linked, err := obj.Load(target, loader.LoadOptions{Optional: true})
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(path), ".bpf.o")
		for how, reach := range map[string]bool{" as it comes": false, " further": true} {
			var b bytes.Buffer
			err := Skeleton(t.Context(), &b, linked, name+".o", nil, Options{Config: machine.Config{Seed: 1, MaxInsns: 1 << 16}, Load: loader.LoadOptions{Optional: true}, Reach: reach})
			if err != nil {
				b.WriteString(err.Error())
			}
			for block := range strings.SplitSeq(b.String(), "\n- ") {
				all.Add(block, name+how+"\t")
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "skeletons.txt"))
}
