package loader

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/btffile"
)

// corpusObjects opens the objects of distribution packages.
func corpusObjects(t testing.TB) []*Object {
	root := os.Getenv("BPFRUN_CORPUS")
	if root == "" {
		t.Skip("BPFRUN_CORPUS is not set")
	}
	paths, err := filepath.Glob(filepath.Join(root, "objects", "*", "*", "*.o"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	var out []*Object
	for _, p := range paths {
		o, err := Open(p)
		if !assert.NoError(t, err, p) {
			continue
		}
		out = append(out, o)
	}
	return out
}

func corpusTargets(t testing.TB) []*Target {
	paths, err := filepath.Glob(filepath.Join(os.Getenv("BPFRUN_CORPUS"), "btf", "*.btf.xz"))
	require.NoError(t, err)
	var out []*Target
	for _, p := range paths {
		spec, err := btffile.Load(p, nil)
		require.NoError(t, err, p)
		out = append(out, NewTarget(filepath.Base(p), spec))
	}
	return out
}

func TestCorpusOpens(t *testing.T) {
	programs, relocs := 0, 0
	for _, o := range corpusObjects(t) {
		programs += len(o.Programs)
		if o.Ext != nil {
			for _, s := range o.Ext.CORE {
				relocs += len(s.Records)
			}
		}
		for _, p := range o.Programs {
			known := !strings.HasPrefix(p.Section, "filter") && p.Section != "loadbalancer"
			assert.Equal(t, known, p.Known, "%s: %s", o.Name, p.Section)
		}
	}
	assert.Equal(t, 370, programs)
	assert.Equal(t, 622, relocs)
}

func TestCorpusLoads(t *testing.T) {
	objects := corpusObjects(t)
	for _, target := range corpusTargets(t) {
		statuses := map[Status]int{}
		verdicts := map[Verdict]int{}
		reasons := map[string]int{}
		relocs, changed, poisoned := 0, 0, 0
		for _, o := range objects {
			l, err := o.Load(target, LoadOptions{})
			if target.Arch == "s390" {
				assert.ErrorIs(t, err, ErrByteOrder)
				continue
			}
			require.NoError(t, err, o.Name)
			assert.NoError(t, l.Err, "%s on %s", o.Name, target.Name)
			for _, p := range l.Programs {
				statuses[p.Status]++
				if p.Err != nil {
					reasons[p.Status.String()+": "+p.Err.Error()]++
				}
				for _, v := range p.PoisonVerdicts() {
					verdicts[v.Verdict]++
				}
				for i := range p.Relocs {
					relocs++
					if p.Relocs[i].Changed() {
						changed++
					}
					if p.Relocs[i].Poisoned() {
						poisoned++
					}
				}
			}
		}
		t.Logf("%s arch=%s version=%s (%s): %v relocs=%d changed=%d poisoned=%d verdicts=%v", target.Name, target.Arch, target.VersionString(), target.VersionKnown,
			statuses, relocs, changed, poisoned, verdicts)
		if testing.Verbose() {
			var list []string
			for r := range reasons {
				list = append(list, r)
			}
			sort.Strings(list)
			for _, r := range list {
				t.Log("   ", r)
			}
		}
	}
}
