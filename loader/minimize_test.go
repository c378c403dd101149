package loader

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
)

// answer is what became of a relocation; ids of types are not compared.
type answer struct {
	function, kind, result, target string
	insn                           int
	old, now                       uint64
	size                           [2]int
}

func answers(t *testing.T, o *Object, spec *btf.Spec) ([]answer, []string) {
	l, err := o.Load(NewTarget("6.6", spec), LoadOptions{AnyByteOrder: true})
	require.NoError(t, err)
	var out []answer
	var cores []string
	ids := false
	for _, f := range l.Functions {
		for i := range f.Relocs {
			r := &f.Relocs[i]
			a := answer{function: f.Name, kind: r.Kind.String(), insn: r.FuncInsn, old: r.Patch.Old, now: r.Patch.New, size: [2]int{r.Patch.OldSize, r.Patch.NewSize}}
			if r.Err != nil {
				a.result = "error"
			} else if r.Poisoned() {
				a.result = "poison"
			}
			if r.Target != nil {
				a.target = r.Target.Field()
			}
			if r.Kind == corerelo.TypeIDTarget {
				a.now, ids = min(a.now, 1), true
			}
			out = append(out, a)
		}
		if !ids {
			cores = append(cores, f.Core())
		}
		ids = false
	}
	return out, cores
}

// checkMinimized relocates objects for a BTF and for what is left of it, made for all of them
// together.
func checkMinimized(t *testing.T, spec *btf.Spec, objects []*Object) (records, types int) {
	m, err := corerelo.NewMinimizer(spec)
	require.NoError(t, err)
	for _, o := range objects {
		if o.BTF != nil {
			m.Add(o.BTF, o.CORERecords())
		}
	}
	small, ids, err := m.Spec()
	require.NoError(t, err)
	require.Equal(t, spec.PointerSize(), small.PointerSize())
	for from, to := range ids {
		require.Equal(t, spec.Name(from), small.Name(to))
		require.Equal(t, spec.Kind(from), small.Kind(to))
	}
	for _, o := range objects {
		if o.BTF == nil {
			continue
		}
		want, wantCores := answers(t, o, spec)
		got, gotCores := answers(t, o, small)
		require.Equal(t, want, got, o.Name)
		require.Equal(t, wantCores, gotCores, o.Name)
		records += len(want)
	}
	return records, small.NumTypes()
}

func openAll(t *testing.T, pattern string) []*Object {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	var out []*Object
	for _, f := range files {
		o, err := Open(f)
		if errors.Is(err, ErrNotObject) {
			continue
		}
		require.NoError(t, err, f)
		out = append(out, o)
	}
	require.NotEmpty(t, out, pattern)
	return out
}

// TestMinimizedProbes: every probe of every rule on its own target.
func TestMinimizedProbes(t *testing.T) {
	targets, err := filepath.Glob("../testdata/core/btf/*.btf")
	require.NoError(t, err)
	total := 0
	for _, path := range targets {
		name := strings.SplitN(filepath.Base(path), ".", 2)[0]
		object, err := Open("../testdata/core/clang-22/" + name + ".o")
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		spec, err := btffile.Load(path, nil)
		require.NoError(t, err)
		n, _ := checkMinimized(t, spec, []*Object{object})
		total += n
	}
	assert.Greater(t, total, 400)
}

// TestMinimizedExamples: all examples and test objects together, on a kernel.
func TestMinimizedExamples(t *testing.T) {
	spec, err := testbtf.Load("../testdata/btf/linux-7.2.13-amd64.btf.xz")
	require.NoError(t, err)
	objects := append(openAll(t, "../examples/*/*.o"), openAll(t, "../testdata/objects/clang-14/*.o")...)
	records, types := checkMinimized(t, spec, objects)
	assert.Greater(t, records, 50)
	assert.Less(t, types, 400, "of %d types", spec.NumTypes())
}

// TestMinimizedCorpus: real objects on real kernels.
func TestMinimizedCorpus(t *testing.T) {
	dir := os.Getenv("BPFRUN_CORPUS")
	if dir == "" {
		t.Skip("BPFRUN_CORPUS is not set: no real objects to test with")
	}
	objects := openAll(t, filepath.Join(dir, "objects/*/*/*.o"))
	kernels, err := filepath.Glob(filepath.Join(dir, "btf/*.btf.xz"))
	require.NoError(t, err)
	total := 0
	for _, k := range kernels {
		spec, err := btffile.Load(k, nil)
		require.NoError(t, err)
		n, types := checkMinimized(t, spec, objects)
		t.Logf("%s: %d records, %d of %d types", filepath.Base(k), n, types, spec.NumTypes())
		total += n
	}
	t.Logf("%d records", total)
}
