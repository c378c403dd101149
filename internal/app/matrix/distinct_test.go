package matrix

import (
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/filecache"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// Equal cells are one, and each thing that a cell or its verdict tells makes another of it.
func TestDistinctCells(t *testing.T) {
	base := func() *Cell {
		return &Cell{Load: LoadOK, Result: RunOK, Detail: "d", Verdict: &verifier.Verdict{Message: "m", Source: &verifier.Line{File: "a.c", Line: 3}}}
	}
	d := newDistinct()
	first := d.cell(base())
	assert.Same(t, first, d.cell(base()))
	kept := []*Cell{first}
	for name, change := range map[string]func(c *Cell){
		"relocations":    func(c *Cell) { c.Relocations.PoisonedMay++ },
		"baked":          func(c *Cell) { c.Baked++ },
		"found":          func(c *Cell) { c.Found++ },
		"load":           func(c *Cell) { c.Load = LoadAbsent },
		"result":         func(c *Cell) { c.Result = RunFault },
		"detail":         func(c *Cell) { c.Detail = "e" },
		"mismatch":       func(c *Cell) { c.Mismatch = true },
		"refused":        func(c *Cell) { c.Refused = true },
		"disabled":       func(c *Cell) { c.Disabled = true },
		"follows":        func(c *Cell) { c.Follows = true },
		"differences":    func(c *Cell) { c.differs = "x" },
		"no verdict":     func(c *Cell) { c.Verdict = nil },
		"verdict":        func(c *Cell) { c.Verdict.Outcome++ },
		"message":        func(c *Cell) { c.Verdict.Message = "n" },
		"path":           func(c *Cell) { c.Verdict.Path = []verifier.Branch{{Insn: 1}} },
		"stack":          func(c *Cell) { c.Verdict.StackDepth = []int{8} },
		"verdict's line": func(c *Cell) { c.Verdict.Source.Line++ },
		"without line":   func(c *Cell) { c.Verdict.Source = nil },
	} {
		c := base()
		change(c)
		c = d.cell(c)
		assert.NotContains(t, addresses(kept), c, name)
		kept = append(kept, c)
	}
}

// addresses returns a set of pointers: assert compares pointers in slices by what they point to.
func addresses(cells []*Cell) map[*Cell]bool {
	out := map[*Cell]bool{}
	for _, c := range cells {
		out[c] = true
	}
	return out
}

func TestDistinctOutcomes(t *testing.T) {
	def := &loader.Map{Name: "m"}
	base := func() *outcome {
		return &outcome{ret: 1, packet: []byte{1}, events: []event{{"rb", 1, []byte{2}}}, effects: []string{"e"},
			changes: []change{{id: "m1", place: "m[1]", def: def, val: []byte{3}}}, names: map[uint64]string{7: "current", 8: "init"}}
	}
	seen := map[digest]string{base().digest(): "base"}
	assert.Contains(t, seen, base().digest())
	for name, change := range map[string]func(o *outcome){
		"return":     func(o *outcome) { o.ret++ },
		"verdict":    func(o *outcome) { o.verdict = "XDP_PASS" },
		"packet":     func(o *outcome) { o.packet[0]++ },
		"no packet":  func(o *outcome) { o.packet = nil },
		"empty":      func(o *outcome) { o.packet = []byte{} },
		"event":      func(o *outcome) { o.events[0].data[0]++ },
		"event type": func(o *outcome) { o.events[0].typ++ },
		"channel":    func(o *outcome) { o.events[0].channel = "x" },
		"effects":    func(o *outcome) { o.effects = []string{"e", "f"} },
		"untyped":    func(o *outcome) { o.untyped = true },
		"map":        func(o *outcome) { o.changes[0].def = &loader.Map{Name: "m", KeyType: 1} },
		"deleted":    func(o *outcome) { o.changes[0].deleted = true },
		"value":      func(o *outcome) { o.changes[0].val[0]++ },
		"name":       func(o *outcome) { o.names[7] = "init" },
	} {
		o := base()
		change(o)
		assert.NotContains(t, seen, o.digest(), name)
		seen[o.digest()] = name
	}
}

// Equal kernels are one kernel's work, whatever they are called, and whatever they are compared
// with; what makes a kernel another one makes it one of its own.
func TestEqualKernelsShareResults(t *testing.T) {
	objects := open(t, "examples/exec/exec.bpf.o", "examples/tp_btf/tp_btf.bpf.o", "testdata/objects/clang-14/faults.o", "testdata/objects/clang-14-eb/isa.o",
		"testdata/objects/clang-14/follow.o")
	version := loader.WithVersion(5<<16 | 10<<8 | 1)
	all := append(kernels(k72), columnsOf(t, k510, map[string][]loader.TargetOption{"a": nil, "b": nil, "other version": {version}, "the other again": {version}})...)
	for _, base := range []int{0, 1, len(all) - 1} {
		r := newRunner(t.Context(), objects, all, Config{Parallel: 2, Base: base})
		r.run()
		assert.Len(t, r.distinctKernels, 3)
		m := r.matrix()
		alone := func(k int) *Matrix {
			m, err := Run(t.Context(), objects, []Kernel{all[base], all[k]}, Config{})
			require.NoError(t, err)
			return m
		}
		for k := range all {
			at := r.targets[k].first().index
			assert.Equal(t, m.Targets[k].Facts, m.Targets[at].Facts)
			want := alone(k)
			for i, row := range m.Rows {
				assert.Equal(t, want.Rows[i].Cells[1], row.Cells[k], "%s %s on %s", row.Object, row.Program, m.Targets[k].Name)
			}
		}
	}
}

// A kernel is opened once under all its names, with and without a cache; one that is not what its
// key says is opened for each.
func TestKernelsWithOneKeyAreOpenedOnce(t *testing.T) {
	objects := open(t, "examples/exec/exec.bpf.o", "examples/tp_btf/tp_btf.bpf.o")
	for name, tt := range map[string]struct {
		keys   []string
		opened int32
	}{
		"one key": {[]string{"k", "k", "k", "k"}, 1}, "two keys": {[]string{"k", "l", "k", "l"}, 2}, "none": {[]string{"", "", "", ""}, 4},
	} {
		for _, cache := range []*Cache{nil, {Store: &filecache.Dir{Path: filepath.Join(t.TempDir(), "results"), Suffix: ".res", Magic: "test", Limit: 64 << 20, Largest: 16 << 20}, Build: "test"}} {
			var opened atomic.Int32
			columns := columnsOf(t, k510, map[string][]loader.TargetOption{"a": nil, "b": nil, "c": nil, "d": nil})
			for i, key := range tt.keys {
				load := columns[i].Open
				columns[i].Key = func() string { return key }
				columns[i].Open = func() (*loader.Target, error) { opened.Add(1); return load() }
			}
			m, err := Run(t.Context(), objects, columns, Config{Parallel: 1, Cache: cache})
			require.NoError(t, err)
			assert.Equal(t, tt.opened, opened.Load(), "%s, cache: %t", name, cache != nil)
			want, err := Run(t.Context(), objects, columnsOf(t, k510, map[string][]loader.TargetOption{"a": nil, "b": nil, "c": nil, "d": nil}), Config{})
			require.NoError(t, err)
			assert.Equal(t, want.Rows, m.Rows, name)
			for i := range want.Targets {
				assert.Equal(t, want.Targets[i].Facts, m.Targets[i].Facts, name)
			}
		}
	}
}

// columnsOf returns columns of one kernel's types with other options, by name.
func columnsOf(t *testing.T, kernel string, options map[string][]loader.TargetOption) []Kernel {
	t.Helper()
	var out []Kernel
	for _, name := range slices.Sorted(maps.Keys(options)) {
		out = append(out, Kernel{Name: name, Open: func() (*loader.Target, error) {
			spec, err := testbtf.Load(filepath.Join("../../../testdata/btf", kernel+".btf.xz"))
			return loader.NewTarget(name+" "+kernel, spec, options[name]...), err
		}})
	}
	return out
}
