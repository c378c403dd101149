package machine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
)

// kernels are the files with whole BTFs: the committed ones, and with BPFRUN_CORPUS those of that
// directory.
var kernels = sync.OnceValue(func() []string {
	files, _ := filepath.Glob("../../testdata/btf/*.btf.xz")
	if dir := os.Getenv("BPFRUN_CORPUS"); dir != "" {
		more, _ := filepath.Glob(filepath.Join(dir, "btf", "*.btf*"))
		for _, f := range more {
			if _, err := os.Stat(filepath.Join("../../testdata/btf", filepath.Base(f))); err != nil {
				files = append(files, f)
			}
		}
	}
	return files
})

var parsed sync.Map // file -> func() (*loader.Target, error)

// target parses a BTF once for all tests.
func target(t testing.TB, file string) *loader.Target {
	t.Helper()
	once, _ := parsed.LoadOrStore(file, sync.OnceValues(func() (*loader.Target, error) {
		if file == embedded.Name {
			spec, err := embedded.Spec()
			return loader.NewTarget(embedded.Name, spec), err
		}
		spec, err := testbtf.Load(file)
		return loader.NewTarget(filepath.Base(file), spec), err
	}))
	tgt, err := once.(func() (*loader.Target, error))()
	require.NoError(t, err)
	return tgt
}

// onKernels runs a test on the embedded kernel and all others there are.
func onKernels(t *testing.T, test func(t *testing.T, tgt *loader.Target)) {
	for _, file := range append([]string{embedded.Name}, kernels()...) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".btf.xz"), func(t *testing.T) { test(t, target(t, file)) })
	}
}

func load(t testing.TB, path string, tgt *loader.Target) *loader.Linked {
	t.Helper()
	obj, err := loader.Open(path)
	require.NoError(t, err)
	linked, err := obj.Load(tgt, loader.LoadOptions{})
	require.NoError(t, err)
	return linked
}

func compose(t testing.TB, linked *loader.Linked, cfg machine.Config) *machine.Machine {
	t.Helper()
	m, err := machine.New(linked, cfg)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

func run(t *testing.T, m *machine.Machine, name string) *machine.Result {
	t.Helper()
	res, err := m.Run(context.Background(), name, machine.Input{})
	require.NoError(t, err)
	return res
}

// examples are the committed example objects.
func examples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// outcome is a Result without what differs between machines without meaning anything: pointers to
// their own objects.
func outcome(r *machine.Result) machine.Result {
	c := *r
	strip := func(list []machine.KernelAccess) []machine.KernelAccess {
		var out []machine.KernelAccess
		for _, a := range list {
			a.Object = nil
			out = append(out, a)
		}
		return out
	}
	c.Reads, c.Writes = strip(r.Reads), strip(r.Writes)
	if r.Fault != nil {
		f := *r.Fault
		f.Fault = nil
		c.Fault = &f
	}
	return c
}

// runAll runs all programs in file order, twice.
func runAll(t *testing.T, m *machine.Machine) []machine.Result {
	t.Helper()
	var out []machine.Result
	for range 2 {
		for _, name := range m.Names() {
			out = append(out, outcome(run(t, m, name)))
		}
	}
	return out
}
