package fuzz_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/app/fuzz"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
)

// branches counts the sides of jumps that runs take, by program.
type branches map[string]map[[2]int]bool

func (b branches) Begin(m *machine.Machine) func([]machine.Covered) {
	return func(ran []machine.Covered) {
		for i := range ran {
			c := &ran[i]
			if b[c.Prog.Name] == nil {
				b[c.Prog.Name] = map[[2]int]bool{}
			}
			m.Branches(c.Prog, func(pc int) {
				taken, fell := c.Ways(pc)
				for way, gone := range [2]bool{taken, fell} {
					if gone {
						b[c.Prog.Name][[2]int{pc, way}] = true
					}
				}
			})
		}
	}
}

// TestKeptInputsReachWhatTheSearchReached: with other constants and events before, too.
func TestKeptInputsReachWhatTheSearchReached(t *testing.T) {
	f := prepare(t, inDir(t, gates), fuzz.Options{Runs: 6000, Seed: 2})
	defer f.Close()
	r, err := f.Run(context.Background())
	require.NoError(t, err)
	got := branches{}
	left, err := f.Cover(context.Background(), got)
	require.NoError(t, err)
	assert.Zero(t, left)
	require.NotEmpty(t, r.Programs)
	for _, p := range r.Programs {
		assert.Len(t, got[p.Name], p.Reached, p.Name)
		assert.Greater(t, p.Reached, p.Default, p.Name)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	left, err = f.Cover(ended, branches{})
	require.NoError(t, err)
	assert.Equal(t, r.Corpus, left)
}

// TestReportsOfDevicesAreInput: bits of a report decide what a HID program does, on a kernel that
// has such programs.
func TestReportsOfDevicesAreInput(t *testing.T) {
	spec, err := testbtf.Load("../../../testdata/btf/linux-7.2.13-amd64.btf.xz")
	require.NoError(t, err)
	kernel := loader.NewTarget("7.2", spec)
	object := inDir(t, "../../../examples/hidmouse/hidmouse.bpf.o")
	keep := filepath.Join(filepath.Dir(object), "found")
	opt := fuzz.Options{Runs: 600, Seed: 1, Keep: keep, ObjectPath: object, Note: func(text string) { t.Errorf("note: %s", text) }}
	opt.Scenario.Config.Seed = 1
	f, err := fuzz.New(context.Background(), open(t, object), kernel, opt)
	require.NoError(t, err)
	defer f.Close()
	r, err := f.Run(context.Background())
	require.NoError(t, err)
	reached := map[string]int{}
	for _, p := range r.Programs {
		reached[p.Name] = p.Reached
	}
	// Not reached: a report of less than four bytes, and one that is no input report.
	assert.Equal(t, map[string]int{"remap": 6, "probe": 1}, reached)
	require.Len(t, r.Skipped, 1, "nobody asks this mouse for a report")
	assert.Equal(t, "guard", r.Skipped[0].Run)
	assert.Empty(t, r.Findings)
	require.NotEmpty(t, r.Suite)
	runs := 0
	for _, s := range r.Suite {
		file, err := scenario.ParseFile(s.Path)
		require.NoError(t, err)
		again, err := scenario.Open(file, open(t, object), kernel, scenario.Options{})
		require.NoError(t, err)
		results, err := again.All(context.Background(), nil)
		require.NoError(t, err)
		for _, res := range results {
			assert.Empty(t, res.Failed(), s.Path)
			runs++
		}
		again.Close()
	}
	assert.Greater(t, runs, 1)
}
