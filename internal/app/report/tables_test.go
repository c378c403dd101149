package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// same compares a text with a file of testdata, or writes it.
func same(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite.Flag {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"))
}

// everyWord is a matrix with a cell of each word, and what cells and rows may have besides.
func everyWord() *MatrixDocument {
	d := &MatrixDocument{Summary: map[string]int{}, Targets: []string{"linux-6.1.1-amd64", "linux-6.12.5-amd64-generic", "linux-6.18.0"}}
	d.Kernels = []MatrixKernel{
		{Target: Target{Name: d.Targets[0], Release: "6.1.1-amd64", Version: "6.1.1", VersionFrom: "name (known)", Arch: "x86"}},
		{Target: Target{Name: d.Targets[1], Release: "5.14.0-427.el9.x86_64", Arch: "x86"}, Unverified: "a kernel of Red Hat Enterprise Linux, whose rules are not those of its release"},
		{Target: Target{Name: d.Targets[2]}, Error: "no such file"},
	}
	cell := func(word, detail string, change ...func(*MatrixCell)) MatrixCell {
		c := MatrixCell{Word: word, Detail: detail}
		for _, f := range change {
			f(&c)
		}
		return c
	}
	baked := func(ran, found int) func(*MatrixCell) {
		return func(c *MatrixCell) { c.Baked, c.BakedFound = ran, found }
	}
	for i, w := range matrixWords {
		d.Rows = append(d.Rows, MatrixRow{Object: fmt.Sprintf("%c.o", 'a'+i/8), Program: "p_" + w.word, Cells: []MatrixCell{cell("ok", "fine"), cell(w.word, "why\nand where"), cell(w.word, "why\nand where")}})
		d.Summary[w.word] = i
	}
	d.Rows = append(d.Rows,
		MatrixRow{Object: "c.o", Program: "everywhere", Cells: []MatrixCell{cell("differs", "why"), cell("differs", "why"), cell("differs", "why")}},
		MatrixRow{Object: "c.o", Program: "without reason", Cells: []MatrixCell{cell("differs", ""), cell("differs", "one"), cell("fault", "one")}},
		MatrixRow{Object: "c.o", Program: "after others", Optional: true, Cells: []MatrixCell{cell("ok", "follows a", func(c *MatrixCell) { c.Follows = true }), cell("ok", "not known", func(c *MatrixCell) { c.Verifier = &Verdict{Verdict: "unknown"} }), cell("ok", "known", func(c *MatrixCell) { c.Verifier = &Verdict{Verdict: "accepted"} })}},
		MatrixRow{Object: "c.o", Program: "at fixed offsets", Cells: []MatrixCell{cell("ok", "", baked(2, 2)), cell("ok", "", baked(3, 2)), cell("ok", "")}},
		MatrixRow{Object: "c.o", Program: "at some", Cells: []MatrixCell{cell("ok", "", baked(2, 4)), cell("ok", "", baked(3, 1)), cell("ok", "")}},
		MatrixRow{Object: "c.o", Program: "at none that ran", Cells: []MatrixCell{cell("ok", "", baked(0, 1)), cell("ok", ""), cell("ok", "")}},
	)
	return d
}

// TestTablesOfMatrices writes such a matrix as tables of each kind.
func TestTablesOfMatrices(t *testing.T) {
	d := everyWord()
	width := tableWidth(matrixCells(d, d.Rows, kernelHeads(d), style{}, false))
	var b strings.Builder
	for _, o := range []struct {
		name string
		opt  MatrixOptions
	}{
		{"plain", MatrixOptions{}}, {"verbose", MatrixOptions{TableOptions: TableOptions{Verbose: true}}}, {"quiet", MatrixOptions{TableOptions: TableOptions{Quiet: true}}},
		{"narrow", MatrixOptions{Width: width - 1}}, {"in color", MatrixOptions{TableOptions: TableOptions{Color: true}}},
	} {
		fmt.Fprintf(&b, "=== %s\n", o.name)
		require.NoError(t, WriteMatrix(&b, d, o.opt))
	}
	b.WriteString("=== Markdown\n")
	require.NoError(t, WriteMatrixMarkdown(&b, d))
	same(t, "matrices.txt", b.String())
	var fits, plain strings.Builder
	require.NoError(t, WriteMatrix(&fits, d, MatrixOptions{Width: width}))
	require.NoError(t, WriteMatrix(&plain, d, MatrixOptions{}))
	assert.Equal(t, plain.String(), fits.String(), "it just fits")
	b.Reset()
	require.NoError(t, WriteMatrix(&b, &MatrixDocument{Targets: []string{"linux-6.1"}}, MatrixOptions{}))
	assert.Equal(t, "PROGRAM  6.1\n\n0 programs on 1 kernel: nothing to run\n", b.String())
	b.Reset()
	require.NoError(t, WriteMatrixMarkdown(&b, &MatrixDocument{Targets: []string{"linux-6.1"}}))
	assert.Equal(t, "| program | 6.1 |\n|---|---|\n\n0 programs on 1 kernel: nothing to run\n\n", b.String())
}

// TestHeadsOfMatrices: what all kernels have in common is left out, and long names take two lines.
func TestHeadsOfMatrices(t *testing.T) {
	for _, tt := range []struct{ names, heads string }{
		{"linux-6.1", "6.1"}, {"linux-6.1 linux-6.2", "6.1 6.2"}, {"linux-6.1-a linux-6.12-a", "6.1-a 6.12-a"},
		{"linux-6.1.1-amd linux-6.1.12-amd", "6.1.1-amd 6.1.12/amd"}, {"linux-6.1-amd64 linux-6.1-arm64", "amd64 arm64"}, {"a/x b/y", "a/x b/y"}, {"a/x a/x", "x x"}, {"linux-6.1 linux-6.1", "6.1 6.1"}, {"-abcdefghij x", "-abcdefghij x"},
	} {
		var got []string
		for _, h := range kernelHeads(&MatrixDocument{Targets: strings.Fields(tt.names)}) {
			if h[1] != "" {
				h[0] += "/"
			}
			got = append(got, h[0]+h[1])
		}
		assert.Equal(t, tt.heads, strings.Join(got, " "), tt.names)
	}
	assert.Empty(t, commonPrefix(nil))
}

// needs has programs with all that `require` tells of them.
func needs() *RequireDocument {
	hold := func(kind, name, since, source string) *RequireHold {
		return &RequireHold{Release: "6.1", Kind: kind, Name: name, Since: since, Message: "no such thing", Source: source}
	}
	r := func(release, outcome, reason string, change ...func(*RequireRelease)) RequireRelease {
		x := RequireRelease{Release: release, Outcome: outcome, Reason: reason}
		for _, f := range change {
			f(&x)
		}
		return x
	}
	rules := func(x *RequireRelease) { x.ByRules = true }
	types := func(x *RequireRelease) { x.Types = []string{"amd64", "arm64"} }
	update := func(x *RequireRelease) { x.Update = "6.1.5" }
	programs := []RequireProgram{
		{Name: "simple", Section: "xdp", Oldest: "5.10", From: "5.10", Releases: []RequireRelease{r("5.10", "loads", "", types), r("5.11", "loads", "", types), r("5.12", "loads", "")}},
		{Name: "by_rules", Section: "tc", Oldest: "6.2", ByRules: true, From: "6.2", HeldBy: hold("helper", "bpf_x", "6.2", "x.c:1"), Releases: []RequireRelease{r("6.1", "refused", "no"), r("6.2", "loads", "", rules)}},
		{Name: "update", Section: "tc", Oldest: "6.1", Update: "6.1.5", From: "6.2", HeldBy: hold("rule", "Loops", "", ""), Without: &RequireNext{Oldest: "5.15", ByRules: true, HeldBy: hold("kfunc", "f", "", "")}, Releases: []RequireRelease{r("6.0", "refused", "no"), r("6.1", "loads", "", update), r("6.2", "loads", "")}},
		{Name: "again", Section: "tc", Oldest: "6.1", From: "", Without: &RequireNext{Oldest: "5.15"}, Releases: []RequireRelease{r("6.0", "refused", "no"), r("6.1", "loads", ""), r("6.2", "refused", "a"), r("6.3", "refused", "a"), r("6.4", "refused", "b"), r("6.5", "unknown", ""), r("6.6", "unknown", "", rules)}},
		{Name: "never", Section: "tc", Releases: []RequireRelease{r("6.0", "refused", "no"), r("6.1", "refused", "no"), r("6.2", "unknown", "x")}},
		{Name: "held", Section: "tc", HeldBy: hold("symbol", "s", "", ""), Releases: []RequireRelease{r("6.0", "refused", "no")}},
	}
	object := func(change func(*RequireObject)) RequireObject {
		o := RequireObject{Object: "a.o", Kernels: []string{"linux-6.1", "linux-6.12"}, Releases: []string{"5.10", "7.2"}, counted: true}
		change(&o)
		return o
	}
	return &RequireDocument{AtLeast: "6.1", Objects: []RequireObject{
		object(func(o *RequireObject) { o.Programs = programs }),
		object(func(o *RequireObject) { o.Programs, o.Oldest, o.From = programs[:1], "5.10", "5.10" }),
		object(func(o *RequireObject) { o.Programs, o.Oldest, o.From, o.Update = programs[2:3], "6.1", "6.2", "6.1.5" }),
		object(func(o *RequireObject) { o.Programs, o.Oldest = programs[3:4], "6.1" }),
		object(func(o *RequireObject) { o.Programs, o.Fails = programs[4:], []string{"never", "held"} }),
		object(func(o *RequireObject) { o.Programs, o.counted = programs[:1], false }),
		object(func(o *RequireObject) { o.Updates = []string{"6.1.5", "6.6.7"} }),
	}}
}

func TestTablesOfNeeds(t *testing.T) {
	var b strings.Builder
	for _, o := range []TableOptions{{}, {Verbose: true}, {Quiet: true}, {Color: true}} {
		fmt.Fprintf(&b, "=== %+v\n", o)
		require.NoError(t, WriteRequire(&b, needs(), o))
	}
	d := needs()
	d.AtLeast, d.Objects = "", d.Objects[:2]
	b.WriteString("=== without a least release\n")
	require.NoError(t, WriteRequire(&b, d, TableOptions{}))
	b.WriteString("=== Markdown\n")
	require.NoError(t, WriteRequireMarkdown(&b, needs()))
	same(t, "needs.txt", b.String())
}

// differences has programs that changed in each way.
func differences() *DiffDocument {
	facts := func(status string, n int, oldest string) *DiffFacts {
		return &DiffFacts{Section: "xdp", Type: "xdp", Status: status, Processed: n, States: n, Stack: 8 * n, Insns: n, Oldest: oldest}
	}
	changed := func(f *DiffFacts, change func(*DiffFacts)) *DiffFacts { change(f); return f }
	programs := []DiffProgram{
		{Name: "same", Old: facts("ok", 10, "6.1"), New: facts("ok", 10, "6.1"), Inputs: 1},
		{Name: "larger", Old: facts("ok", 10, "6.1"), New: facts("ok", 12, "6.2"), Inputs: 1, Exceeds: []DiffExcess{{LimitInsns, 10, 12, 5}, {LimitStack, 0, 3, 2.5}}},
		{Name: "refused", Old: facts("ok", 10, "6.1"), New: changed(facts("refused", 10, ""), func(f *DiffFacts) { f.Reason, f.Source = "no", "x.c:2" }), Refused: true},
		{Name: "loads", Old: facts("refused", 10, ""), New: changed(facts("ok", 10, "6.1"), func(f *DiffFacts) { f.ByRules = true })},
		{Name: "other", Old: facts("ok", 10, "6.1"), New: facts("ok", 10, "6.1"), Inputs: 2, Differences: []DiffDifference{{Input: "default", Text: "ret 1, was 2"}}},
		{Name: "added", New: facts("ok", 1, "6.1")},
		{Name: "removed", Old: facts("ok", 1, "6.1")},
	}
	return &DiffDocument{Old: Build{"a.o", 100}, New: Build{"b.o", 110}, Results: []DiffResult{
		{Target: &Target{Name: "linux-6.1", Arch: "x86"}, Programs: programs, Maps: []DiffMap{{Name: "new", New: "hash"}, {Name: "old", Old: "hash"}, {Name: "both", Old: "hash", New: "hash", Changes: []string{"one", "two"}}}, Left: []DiffLeft{{Program: "same", Input: "x", Reason: "why"}, {Input: "y", Reason: "why"}}},
		{Target: &Target{Name: "linux-6.2"}, Programs: programs[:1]},
		{Target: &Target{Name: "linux-6.3"}, Programs: programs[:1], Maps: []DiffMap{{Name: "old", Old: "hash"}}},
	}}
}

func TestTablesOfDifferences(t *testing.T) {
	var b strings.Builder
	for _, o := range []TableOptions{{}, {Verbose: true}, {Color: true}} {
		fmt.Fprintf(&b, "=== %+v\n", o)
		require.NoError(t, WriteDiff(&b, differences(), o))
	}
	b.WriteString("=== annotations\n")
	d := differences()
	require.NoError(t, WriteDiffAnnotations(&b, d))
	d.Paths = map[string]string{"x.c": "src/x.c", "b.o": "out/b.o"}
	require.NoError(t, WriteDiffAnnotations(&b, d))
	same(t, "differences.txt", b.String())
}

// tested has suites of two files on two kernels with each outcome.
func tested() []*Suite {
	ok := TestCase{Name: "passes", Took: time.Second}
	bad := TestCase{Name: "fails", Failures: []string{"x.yaml:1:2: ret: want 1, got 2", "second"}}
	skipped := TestCase{Name: "skipped", Skipped: "no hook\x01"}
	return []*Suite{
		{File: "a.yaml", Target: "linux-6.1", Cases: []TestCase{ok, bad, skipped}, Took: 2 * time.Second},
		{File: "a.yaml", Target: "linux-6.2", Cases: []TestCase{ok, bad, skipped}, Took: time.Second},
		{File: "b|b.o", Target: "linux-6.1", Cases: []TestCase{ok, ok}},
		{File: "c.yaml", Target: "linux-6.2", Cases: []TestCase{skipped}},
		{File: "d.yaml", Target: "linux-6.1", Err: errors.New("first\nsecond\tline \xff")},
		{File: "e.yaml", Cases: []TestCase{bad}},
	}
}

func TestTablesOfTests(t *testing.T) {
	var b strings.Builder
	covered := []Covered{{What: "lines", Hit: 7, All: 8, Percent: "87.5%"}}
	for _, c := range [][]Covered{nil, covered} {
		fmt.Fprintf(&b, "=== Markdown, %d\n", len(c))
		require.NoError(t, WriteTestsMarkdown(&b, tested(), c...))
		fmt.Fprintf(&b, "=== JUnit, %d\n", len(c))
		require.NoError(t, WriteJUnit(&b, tested(), c...))
	}
	b.WriteString("=== Markdown, no kernel\n")
	require.NoError(t, WriteTestsMarkdown(&b, []*Suite{{File: "f.yaml", Err: errors.New("f.yaml:1:1: unknown key")}}))
	same(t, "tests.txt", b.String())
	assert.Equal(t, "a\nb\tc?? é", printable("a\nb\tc\x1f\r é"))
}

// TestFiguresOfBenchmarks: at both sides of where a unit or the words for an engine change.
func TestFiguresOfBenchmarks(t *testing.T) {
	for ns, want := range map[float64]string{0: "0.0 ns", 9999: "9999.0 ns", 1e4: "10.0 µs", 9999900: "9999.9 µs", 1e7: "10.0 ms"} {
		assert.Equal(t, want, nanoseconds(ns))
	}
	for _, tt := range []struct {
		engine string
		native float64
		insns  uint64
		want   string
	}{
		{"interp", 0, 0, "0.00 ns an instruction\nload 3.0 ns, of that compile 4.0 ns\nexecuted by the interpreter\n"},
		{"jit", 1, 4, "0.50 ns an instruction\nload 3.0 ns, of that compile 4.0 ns\nexecuted by the native code\n"},
		{"jit", 0.995, 4, "executed by the native code\n"},
		{"jit", 0.99, 4, "executed by the native code (99 % of the instructions are native)\n"},
		{"interp", 0.01, 4, "executed by the interpreter (1 % of the instructions are native)\n"},
	} {
		var b strings.Builder
		require.NoError(t, WriteBench(&b, &BenchDocument{Object: "a.o", Program: "p", Ret: "0", Engine: tt.engine, Native: tt.native, Insns: tt.insns, Min: 2, Median: 3, LoadNS: 3, CompileNS: 4}))
		assert.Contains(t, b.String(), tt.want)
	}
}

// TestErrorsOfPrograms: the location that an error carries, and what to do.
func TestErrorsOfPrograms(t *testing.T) {
	assert.Nil(t, NewError(nil))
	e := NewError(errors.New("one\ntwo"))
	assert.Equal(t, "error", e.Kind)
	assert.Equal(t, []string{"one", "two"}, e.Lines)
	for _, tt := range []struct {
		err  loader.Error
		want []string
		insn int
	}{
		{loader.Error{Insn: -1, Detail: "bad"}, []string{"bad"}, -1},
		{loader.Error{Insn: 0, Detail: "bad", Err: loader.ErrMalformed}, []string{"insn 0: " + loader.ErrMalformed.Error() + ": bad"}, 0},
		{loader.Error{Insn: 7, Detail: "bad", Source: "x.c:1", Hint: "do this"}, []string{"insn 7: bad", "at x.c:1", "do this"}, 7},
	} {
		e := NewError(fmt.Errorf("load: %w", &tt.err))
		assert.Equal(t, "load", e.Kind)
		assert.Equal(t, tt.want, e.Lines)
		if tt.insn < 0 {
			assert.Nil(t, e.Insn)
		} else {
			assert.Equal(t, tt.insn, *e.Insn)
		}
	}
	for _, insn := range []int{-1, 0, 3} {
		e := NewError(&verifier.RefusedError{Program: "p", Verdict: &verifier.Verdict{Insn: insn}})
		assert.Equal(t, "verifier", e.Kind)
		assert.Equal(t, insn >= 0, e.Insn != nil)
		assert.Empty(t, e.Source)
	}
}
