package cover

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/loader"
)

const root = "../../.."

func open(t *testing.T, path string) *loader.Object {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	obj, err := loader.OpenBytes(filepath.Base(path), data)
	require.NoError(t, err)
	return obj
}

func target(t *testing.T) *loader.Target {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	return loader.NewTarget(embedded.Name, spec)
}

// ran runs all programs of an object once and returns their coverage.
func ran(t *testing.T, obj *loader.Object, engine machine.Engine) *Profile {
	t.Helper()
	linked, err := obj.Load(target(t), loader.LoadOptions{})
	require.NoError(t, err)
	c := NewCollector()
	m, err := machine.New(linked, machine.Config{Seed: 1, Boot: time.Hour, MaxInsns: 1 << 18, Engine: engine, Cover: c, EagerLoops: true})
	require.NoError(t, err)
	defer m.Close()
	for _, name := range m.Names() {
		if _, ok := m.ImageOf(name); ok {
			_, _ = m.Run(context.Background(), name, machine.Input{}) // one that is refused has run nothing
		}
	}
	p, err := c.Profile()
	require.NoError(t, err)
	return p
}

// TestEqualToTrace compares coverage with what the interpreter's trace says, instruction by
// instruction and branch by branch, on both engines.
func TestEqualToTrace(t *testing.T) {
	paths, err := filepath.Glob(root + "/examples/*/*.o")
	require.NoError(t, err)
	more, err := filepath.Glob(root + "/testdata/objects/clang-14/*.o")
	require.NoError(t, err)
	compared, insns, ways := 0, 0, 0
	for _, path := range testsize.Some(4, append(paths, more...)) {
		rel, err := filepath.Rel(root, path)
		require.NoError(t, err)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		obj, err := loader.OpenBytes(filepath.Base(path), data)
		if err != nil {
			continue // no BPF object
		}
		linked, err := obj.Load(target(t), loader.LoadOptions{})
		if err != nil {
			continue // not for this kernel
		}
		want := traced(t, linked)
		if want == nil {
			continue
		}
		compared++
		for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
			got := ran(t, obj, engine)
			require.Equal(t, want.Objects, got.Objects, "%s engine %v", rel, engine)
		}
		for _, f := range want.Objects[0].Kernels[0].Functions {
			for _, n := range f.Hits {
				insns += max(n, 0)
			}
			for _, b := range f.Branches {
				ways += max(b.Taken, 0) + max(b.Fell, 0)
			}
		}
	}
	assert.GreaterOrEqual(t, compared, testsize.Sample(30, 7), "objects")
	assert.Greater(t, insns, testsize.Sample(2000, 200))
	assert.Greater(t, ways, testsize.Sample(200, 20))
	t.Logf("%d objects, %d instructions, %d branches", compared, insns, ways)
}

// tracer counts what a run executes from its trace alone.
type tracer struct {
	m    *machine.Machine
	seen map[*loader.LinkedProgram]map[int]bool
	ways map[*loader.LinkedProgram]map[int][2]bool
	last *loader.LinkedProgram
	pc   int
}

// Step implements machine.Tracer.
func (x *tracer) Step(lp *loader.LinkedProgram, pc, _ int, _, _ *[11]uint64) { x.note(lp, pc) }

// note notes that an instruction is executed, and which way the one before went if that is a
// conditional jump.
func (x *tracer) note(lp *loader.LinkedProgram, pc int) {
	if x.last == lp {
		in := lp.Insns[x.pc]
		target, ok := in.Target(x.pc)
		if ok && in.Info().Has(decode.FlagBranch) && target != x.pc+1 {
			if x.ways[lp] == nil {
				x.ways[lp] = map[int][2]bool{}
			}
			w := x.ways[lp][x.pc]
			w[0] = w[0] || pc == target
			w[1] = w[1] || pc == x.pc+1
			x.ways[lp][x.pc] = w
		}
	}
	if x.seen[lp] == nil {
		x.seen[lp] = map[int]bool{}
	}
	x.seen[lp][pc] = true
	x.last, x.pc = lp, pc
}

// traced makes the profile that a trace says: every run of a machine whose coverage is not
// recorded.
func traced(t *testing.T, linked *loader.Linked) *Profile {
	t.Helper()
	m, err := machine.New(linked, machine.Config{Seed: 1, Boot: time.Hour, MaxInsns: 1 << 18, Uncovered: true})
	if err != nil {
		return nil
	}
	defer m.Close()
	c := NewCollector()
	b := c.bind(m)
	require.NoError(t, c.err)
	any := false
	for _, name := range m.Names() {
		if _, ok := m.ImageOf(name); !ok {
			continue
		}
		tr := &tracer{m: m, seen: map[*loader.LinkedProgram]map[int]bool{}, ways: map[*loader.LinkedProgram]map[int][2]bool{}}
		res, err := m.Run(context.Background(), name, machine.Input{Trace: tr})
		if err != nil || !res.Ran {
			continue
		}
		if f := res.Fault; f != nil && f.Fault.Image != nil { // the trace has no line of what faulted
			if lp, ok := m.ProgramOf(f.Fault.Image); ok && f.Fault.PC < len(lp.Insns) {
				tr.note(lp, f.Fault.PC)
			}
		}
		any = true
		b.kernel.Runs++
		counted := map[*Function]map[int]bool{}
		waysOf := map[*Function]map[int][2]bool{}
		for lp, slots := range tr.seen {
			for at, f := range b.funcs[lp] {
				fn := lp.Funcs[at]
				for pc := range slots {
					if pc < fn.Start || pc >= fn.Start+fn.Len {
						continue
					}
					if counted[f.Function] == nil {
						counted[f.Function], waysOf[f.Function] = map[int]bool{}, map[int][2]bool{}
					}
					counted[f.Function][pc-fn.Start] = true
					w, v := tr.ways[lp][pc], waysOf[f.Function][pc-fn.Start]
					waysOf[f.Function][pc-fn.Start] = [2]bool{w[0] || v[0], w[1] || v[1]}
				}
			}
		}
		for f, slots := range counted {
			for i := range slots {
				f.Hits[i]++
			}
			for i := range f.Branches {
				w := waysOf[f][f.Branches[i].Slot]
				if w[0] {
					f.Branches[i].Taken = max(f.Branches[i].Taken, 0) + 1
				}
				if w[1] {
					f.Branches[i].Fell = max(f.Branches[i].Fell, 0) + 1
				}
			}
		}
	}
	if !any {
		return nil
	}
	p, err := c.Profile()
	require.NoError(t, err)
	return p
}

// TestMerge: counts add up, and merging with nothing changes nothing.
func TestMerge(t *testing.T) {
	obj := open(t, "examples/xdp/xdp.bpf.o")
	p, q := ran(t, obj, machine.EngineInterpreter), ran(t, obj, machine.EngineInterpreter)
	before := p.Source("").Totals
	require.NoError(t, p.Merge(q))
	assert.Equal(t, before, p.Source("").Totals)
	for _, f := range p.Objects[0].Kernels[0].Functions {
		for _, n := range f.Hits {
			assert.Contains(t, []int{-1, 0, 2}, n)
		}
	}
	assert.Equal(t, 2*q.Objects[0].Kernels[0].Runs, p.Objects[0].Kernels[0].Runs)
	other := ran(t, open(t, "examples/exec/exec.bpf.o"), machine.EngineInterpreter)
	require.NoError(t, p.Merge(other))
	assert.Len(t, p.Objects, 2)
	empty := New()
	require.NoError(t, empty.Merge(q))
	assert.Equal(t, written(t, q), written(t, empty))
}

func written(t *testing.T, p *Profile) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	return b.String()
}

// TestFileRoundTrip: what is written is read as it was.
func TestFileRoundTrip(t *testing.T) {
	p := ran(t, open(t, "examples/exec/exec.bpf.o"), machine.EngineInterpreter)
	text := written(t, p)
	q, err := Read(strings.NewReader(text))
	require.NoError(t, err)
	assert.Equal(t, text, written(t, q))
}

// TestMistakenMerges: files of other versions and kernels are refused, and nothing of them is
// added.
func TestMistakenMerges(t *testing.T) {
	base := ran(t, open(t, "examples/exec/exec.bpf.o"), machine.EngineInterpreter)
	text := written(t, base)
	for name, tc := range map[string]struct {
		change func(p *Profile)
		want   string
	}{
		"another version of the object": {func(p *Profile) { p.Objects[0].Digest = strings.Repeat("0", 64) }, "two versions of the object"},
		"another kernel of the name":    {func(p *Profile) { p.Objects[0].Kernels[0].Functions[0].Code = "x" }, "two kernels have this name"},
		"another length":                {func(p *Profile) { f := p.Objects[0].Kernels[0].Functions[0]; f.Hits = append(f.Hits, 0) }, "two kernels have this name"},
		"other branches":                {func(p *Profile) { p.Objects[0].Kernels[0].Functions[0].Branches[0].Slot++ }, "other places"},
	} {
		q, err := Read(strings.NewReader(text))
		require.NoError(t, err)
		tc.change(q)
		into, err := Read(strings.NewReader(text))
		require.NoError(t, err)
		err = into.Merge(q)
		var mismatch *MismatchError
		require.ErrorAs(t, err, &mismatch, name)
		assert.Contains(t, err.Error(), tc.want, name)
		assert.Equal(t, text, written(t, into), name)
	}
}

// TestBadFiles: what is not a file of coverage, or says what cannot be, is refused.
func TestBadFiles(t *testing.T) {
	for _, bad := range []string{
		"", "{", "[]", "null", "{}", `{"format":"bpfrun-coverage","version":2}`, `{"format":"bpfrun-coverage","version":1,"objects":[null]}`,
		`{"format":"bpfrun-coverage","version":1,"objects":[{"name":"a","kernels":[null]}]}`,
		`{"format":"bpfrun-coverage","version":1,"objects":[{"name":"a","files":[null]}]}`,
		`{"format":"bpfrun-coverage","version":1,"objects":[{"name":"a","kernels":[{"name":"k","functions":[null]}]}]}`,
		`{"format":"bpfrun-coverage","version":1,"objects":[{"name":"a","kernels":[{"name":"k","functions":[{"name":"f","hits":[1],"dead":[[0,5]]}]}]}]}`,
		`{"format":"bpfrun-coverage","version":1,"objects":[{"name":"a","kernels":[{"name":"k","functions":[{"name":"f","hits":[1],"lines":[[0,0,1]]}]}]}]}`,
		`{"format":"bpfrun-coverage","version":1,"objects":[{"name":"a","kernels":[{"name":"k","functions":[{"name":"f","hits":[1],"branches":[{"slot":1}]}]}]}]}`,
	} {
		_, err := Read(strings.NewReader(bad))
		var f *FormatError
		assert.ErrorAs(t, err, &f, bad)
	}
}

// TestFilesHaveALimit: one byte more than that is no damage of the file, and is called what it is.
func TestFilesHaveALimit(t *testing.T) {
	text := strings.TrimSpace(written(t, ran(t, open(t, "examples/exec/exec.bpf.o"), machine.EngineInterpreter)))
	size := int64(len(text))
	for most, want := range map[int64]string{size + 1: "", size: "", size - 1: fmt.Sprintf("the file has more than %d bytes", size-1), 1: "the file has more than 1 bytes"} {
		_, err := read(strings.NewReader(text), most)
		if want == "" {
			assert.NoError(t, err, most)
			continue
		}
		assert.ErrorContains(t, err, want)
	}
	_, err := read(strings.NewReader(text[:size-1]), size)
	assert.ErrorContains(t, err, "the file is truncated")
}

// TestImpossibleCounts: a file whose counts cannot be, or whose names are missing, is refused,
// since its sums would be wrong without a word.
func TestImpossibleCounts(t *testing.T) {
	text := written(t, ran(t, open(t, "examples/exec/exec.bpf.o"), machine.EngineInterpreter))
	for name, change := range map[string]func(o *Object, k *Kernel, f *Function){
		"negative runs":        func(_ *Object, k *Kernel, _ *Function) { k.Runs = -1 },
		"too many runs":        func(_ *Object, k *Kernel, _ *Function) { k.Runs = math.MaxInt },
		"negative hits":        func(_ *Object, _ *Kernel, f *Function) { f.Hits[0] = -2 },
		"too many hits":        func(_ *Object, _ *Kernel, f *Function) { f.Hits[0] = math.MaxInt },
		"too many jumps":       func(_ *Object, _ *Kernel, f *Function) { f.Branches[0].Taken = math.MaxInt },
		"too many not taken":   func(_ *Object, _ *Kernel, f *Function) { f.Branches[0].Fell = math.MaxInt },
		"kernel without name":  func(_ *Object, k *Kernel, _ *Function) { k.Name = "" },
		"function of no name":  func(_ *Object, _ *Kernel, f *Function) { f.Name = "" },
		"file without a path":  func(o *Object, _ *Kernel, _ *Function) { o.Files[0].Path = "" },
		"object without name":  func(o *Object, _ *Kernel, _ *Function) { o.Name = "" },
		"line before the file": func(_ *Object, _ *Kernel, f *Function) { f.Lines[0][2] = -1 },
	} {
		p, err := Read(strings.NewReader(text))
		require.NoError(t, err)
		o := p.Objects[0]
		change(o, o.Kernels[0], o.Kernels[0].Functions[0])
		_, err = Read(strings.NewReader(written(t, p)))
		var f *FormatError
		assert.ErrorAs(t, err, &f, name)
	}
}

// TestNamesAddNoRecords: a name in a tracefile is one field of one record, and controls no
// terminal.
func TestNamesAddNoRecords(t *testing.T) {
	p := ran(t, open(t, "examples/exec/exec.bpf.o"), machine.EngineInterpreter)
	var plain, odd bytes.Buffer
	require.NoError(t, p.WriteLCOV(&plain))
	o := p.Objects[0]
	o.Files[0].Path += "\nDA:1,99\x1b[2J"
	o.Kernels[0].Functions[0].Name += "\r\nend_of_record"
	require.NoError(t, p.WriteLCOV(&odd))
	assert.Equal(t, strings.Count(plain.String(), "\n"), strings.Count(odd.String(), "\n"))
	assert.NotContains(t, odd.String(), "\x1b")
	assert.NotContains(t, odd.String(), "\r")
}

// FuzzRead: what is read can be merged with itself and shown.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"format":"bpfrun-coverage","version":1,"objects":[{"name":"a","digest":"1","files":[{"path":"a.c","texts":{"3":"x"}}],"kernels":[
		{"name":"k","runs":1,"functions":[{"name":"f","section":"xdp","code":"c","hits":[1,-1,0],"dead":[[2,3]],"lines":[[0,0,3]],"branches":[{"slot":2,"taken":-1,"fell":1}]}]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		q, err := Read(bytes.NewReader(data))
		require.NoError(t, err)
		_ = p.Merge(q) // two kernels of one name in the file are refused
		p.Source("")
		require.NoError(t, p.WriteLCOV(&bytes.Buffer{}))
		require.NoError(t, p.Write(&bytes.Buffer{}))
	})
}

// TestDeadCode: what CO-RE or constants rule out on the kernel does not count as missed.
func TestDeadCode(t *testing.T) {
	p := ran(t, open(t, "examples/guarded/guarded.bpf.o"), machine.EngineInterpreter)
	s := p.Source("")
	require.NotZero(t, s.Totals.Insns.Dead)
	impossible := 0
	for _, f := range s.Files {
		for _, l := range f.Lines {
			if l.Dead {
				assert.Equal(t, "dead", l.State())
				assert.Zero(t, l.Count)
			}
			for _, b := range l.Branches {
				if b.Taken < 0 || b.Fell < 0 {
					impossible++
				}
			}
		}
	}
	assert.NotZero(t, impossible)
}

// TestGenhtmlReads: Debian's lcov reads what is written of all examples, more than 30 objects, and
// counts the same.
func TestGenhtmlReads(t *testing.T) {
	tool, err := exec.LookPath("genhtml")
	if err != nil {
		t.Skip("genhtml (Debian's package lcov) is not installed")
	}
	paths, err := filepath.Glob(root + "/examples/*/*.o")
	require.NoError(t, err)
	p, objects := New(), 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		obj, err := loader.OpenBytes(filepath.Base(path), data)
		require.NoError(t, err)
		if _, err := obj.Load(target(t), loader.LoadOptions{}); err != nil {
			continue // not for this kernel
		}
		require.NoError(t, p.Merge(ran(t, obj, machine.EngineJIT)))
		objects++
	}
	require.GreaterOrEqual(t, objects, 30)
	dir := t.TempDir()
	var b bytes.Buffer
	require.NoError(t, p.WriteLCOV(&b))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.info"), b.Bytes(), 0o644))
	cmd := exec.Command(tool, "--branch-coverage", "--ignore-errors", "source", "-o", filepath.Join(dir, "out"), filepath.Join(dir, "x.info"))
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var totals Totals // of files: lcov knows nothing of jumps without a line, which count in Source.Totals
	for _, f := range p.Source("").Files {
		totals.sum(f.Totals)
	}
	for what, c := range map[string]Count{"lines": totals.Lines, "functions": totals.Functions, "branches": totals.Branches} {
		assert.Contains(t, string(out[max(len(out)-400, 0):]), fmt.Sprintf("(%d of %d %s", c.Hit, c.All, what))
	}
	t.Logf("%d objects: %d of %d lines, %d of %d functions, %d of %d branches", objects, totals.Lines.Hit, totals.Lines.All, totals.Functions.Hit, totals.Functions.All, totals.Branches.Hit, totals.Branches.All)
}

// TestHTML: pages stand for themselves, show each kernel, and escape what sources contain.
func TestHTML(t *testing.T) {
	obj := open(t, "examples/xdp/xdp.bpf.o")
	p := ran(t, obj, machine.EngineInterpreter)
	q := ran(t, obj, machine.EngineInterpreter)
	q.Objects[0].Kernels[0].Name = "<other> kernel"
	require.NoError(t, p.Merge(q))
	dir := filepath.Join(t.TempDir(), "new", "dir")
	require.NoError(t, p.WriteHTML(dir, func(string) ([]string, bool) { return nil, false }))
	files, err := filepath.Glob(filepath.Join(dir, "*.html"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		text := string(data)
		assert.NotContains(t, text, "://", "%s needs something else", name)
		assert.NotContains(t, text, "<other>")
		assert.Contains(t, text, "&lt;other&gt; kernel")
		assert.Contains(t, text, "prefers-color-scheme: dark")
		for _, view := range []string{"all", "k1", "k2"} {
			assert.Contains(t, text, `data-view="`+view+`"`)
		}
		if !strings.HasSuffix(name, "index.html") {
			assert.Contains(t, text, `class="part"`)
			assert.Contains(t, text, "···")
		}
	}
}

// TestTracefile: a function that several programs contain is listed once, and jumps of lines that
// did not run have no counts.
func TestTracefile(t *testing.T) {
	p, err := Read(strings.NewReader(`{"format":"bpfrun-coverage","version":1,"objects":[{"name":"a","digest":"1","files":[{"path":"a.c","texts":{"3":"x"}}],"kernels":[
		{"name":"k","runs":2,"functions":[
			{"name":"f","section":"xdp","code":"c","hits":[2,0],"lines":[[0,0,3],[1,0,4]],"branches":[{"slot":0,"taken":2,"fell":0},{"slot":1,"taken":0,"fell":0}]},
			{"name":"f","section":"tc","code":"c","hits":[1,0],"lines":[[0,0,3],[1,0,4]],"branches":[{"slot":1,"taken":0,"fell":-1}]}]}]}]}`))
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, p.WriteLCOV(&b))
	assert.Equal(t, []string{
		"TN:", "SF:a.c", "FN:3,f", "FNDA:2,f", "FNF:1", "FNH:1",
		"BRDA:3,0,0,2", "BRDA:3,0,1,0", "BRDA:4,0,0,-", "BRDA:4,0,1,-", "BRDA:4,1,0,-", "BRF:5", "BRH:1",
		"DA:3,3", "DA:4,0", "LF:2", "LH:1", "end_of_record",
	}, strings.Fields(b.String()))
}

// TestObjectsOfOneName: the second gets a name with its digest, always the same one.
func TestObjectsOfOneName(t *testing.T) {
	c, o := NewCollector(), &loader.Object{Name: "a.o"}
	for _, want := range [][2]string{{"0123456789abcdef", "a.o"}, {"fedcba9876543210", "a.o " + short("fedcba9876543210")}, {"0123456789abcdef", "a.o"}, {"fedcba9876543210", "a.o " + short("fedcba9876543210")}} {
		assert.Equal(t, want[1], c.name(o, want[0]))
	}
}

// TestHalvesOfInstructions: the second half of an instruction is dead where the first one is.
func TestHalvesOfInstructions(t *testing.T) {
	p, halves := ran(t, open(t, "examples/guarded/guarded.bpf.o"), machine.EngineInterpreter), 0
	for _, f := range p.Objects[0].Kernels[0].Functions {
		dead := make([]bool, len(f.Hits))
		for _, r := range f.Dead {
			for i := r[0]; i < r[1]; i++ {
				dead[i] = true
			}
		}
		for i, n := range f.Hits {
			if n < 0 {
				halves++
				assert.Equal(t, dead[i-1], dead[i], "%s, slot %d", f.Name, i)
			}
		}
	}
	assert.NotZero(t, halves)
}

// TestProgramsThatCannotRunAreLeftOut: their instructions are no code that tests could execute.
func TestProgramsThatCannotRunAreLeftOut(t *testing.T) {
	data, err := assembly.Object("x.s", ".prog can xdp\n r0 = 2\n exit\n.prog cannot struct_ops/no_such_member\n r0 = 0\n exit\n.prog absent fentry/no_such_function\n r0 = 0\n exit\n", nil)
	require.NoError(t, err)
	obj, err := loader.OpenBytes("x.o", data)
	require.NoError(t, err)
	linked, err := obj.Load(target(t), loader.LoadOptions{Optional: true})
	require.NoError(t, err)
	c := NewCollector()
	m, err := machine.New(linked, machine.Config{Seed: 1, Cover: c})
	require.NoError(t, err)
	defer m.Close()
	can, cannot := map[string]bool{}, map[string]bool{}
	for _, lp := range linked.Programs {
		for _, f := range lp.Funcs {
			if _, ok := m.ImageOf(lp.Name); ok {
				can[f.Name] = true
			} else {
				cannot[f.Name] = true
			}
		}
	}
	require.NotEmpty(t, can)
	require.NotEmpty(t, cannot)
	for name := range can {
		_, _ = m.Run(t.Context(), name, machine.Input{})
	}
	p, err := c.Profile()
	require.NoError(t, err)
	got := map[string]bool{}
	for _, f := range p.Objects[0].Kernels[0].Functions {
		got[f.Name] = true
	}
	assert.Equal(t, can, got)
}

func TestTextOfMismatches(t *testing.T) {
	for want, e := range map[string]*MismatchError{
		"coverage of o: w": {Object: "o", Why: "w"}, "coverage of o, function f: w": {Object: "o", Function: "f", Why: "w"},
		"coverage of o, on k: w": {Object: "o", Kernel: "k", Why: "w"}, "coverage of o, function f, on k: w": {Object: "o", Function: "f", Kernel: "k", Why: "w"},
	} {
		assert.EqualError(t, e, want)
	}
}

// TestSourceOfOneKernel: lines count what ran on that kernel, or on all of them.
func TestSourceOfOneKernel(t *testing.T) {
	p := ran(t, open(t, "examples/exec/exec.bpf.o"), machine.EngineInterpreter)
	q, err := Read(strings.NewReader(written(t, p)))
	require.NoError(t, err)
	q.Objects[0].Kernels[0].Name = "other"
	require.NoError(t, p.Merge(q))
	name := p.Objects[0].Kernels[0].Name
	if name == "other" {
		name = p.Objects[0].Kernels[1].Name
	}
	most := func(kernel string) (n int) {
		for _, f := range p.Source(kernel).Files {
			for _, l := range f.Lines {
				n = max(n, l.Count)
			}
		}
		return n
	}
	assert.Equal(t, 1, most(name))
	assert.Equal(t, 1, most("other"))
	assert.Equal(t, 2, most(""))
	assert.Zero(t, most("none"))
}

// TestLinesBeginWhereOthersEnd: the slots of one line are one entry.
func TestLinesBeginWhereOthersEnd(t *testing.T) {
	for _, f := range ran(t, open(t, "examples/exec/exec.bpf.o"), machine.EngineInterpreter).Objects[0].Kernels[0].Functions {
		require.Greater(t, len(f.Lines), 1)
		for i := range f.Lines[1:] {
			assert.NotEqual(t, f.Lines[i][1:], f.Lines[i+1][1:], f.Name)
		}
	}
}
