package corpus

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = rewrite.Flag

// measure runs an object of the repository on a target.
func measure(t *testing.T, path string, target *loader.Target) *Row {
	t.Helper()
	obj, err := loader.Open(path)
	require.NoError(t, err)
	row, err := Measure(context.Background(), obj, target, Config{Seed: 1, Types: object.NewTypes(), Unverified: true})
	require.NoError(t, err)
	row.Package = "examples"
	return row
}

func embeddedTarget(t *testing.T) *loader.Target {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	return loader.NewTarget(embedded.Name, spec)
}

// schedules reports whether an object is a scheduler or a queueing discipline, whose programs run
// only in schedules (schedule.TestDefaultSchedule) or with traffic (traffic.TestDefaultTraffic).
func schedules(path string) bool {
	obj, err := loader.Open(path)
	return err == nil && len(subsys.Simulates(obj)) > 0
}

func TestEveryExampleIsSound(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	files = slices.DeleteFunc(files, schedules)
	target := embeddedTarget(t)
	var rows []*Row
	newest, err := testbtf.Load("../../testdata/btf/linux-7.2.13-amd64.btf.xz")
	require.NoError(t, err)
	for _, f := range files {
		on := target
		if strings.HasPrefix(filepath.Base(f), "hid") { // the embedded kernel has no HID-BPF
			on = loader.NewTarget("linux-7.2.13-amd64", newest)
		}
		row := measure(t, f, on)
		assert.True(t, row.Sound(), "%+v", row)
		share, ok := row.Share()
		assert.True(t, ok)
		assert.Greater(t, share, 0.1, row.Object) // some look first for a name or option that a default context has not
		rows = append(rows, row)
	}
	s := Summarise(rows)
	require.Len(t, s, 2) // one for each kernel
	assert.Equal(t, len(files), s[0].Sound+s[1].Sound)
	for _, one := range s {
		assert.Zero(t, one.Faults)
		assert.Greater(t, one.Median, 0.8)
	}
}

func TestMeasureSaysWhy(t *testing.T) {
	target := embeddedTarget(t)
	byName := func(r *Row) map[string]Program {
		out := map[string]Program{}
		for _, p := range r.Programs {
			out[p.Name] = p
		}
		return out
	}
	missing := measure(t, "../../testdata/objects/clang-14/missing.o", target)
	assert.False(t, missing.Sound())
	old := byName(missing)["on_exit_old"]
	assert.Equal(t, machine.StatusRefused, old.Status)
	assert.Contains(t, old.Why, "struct task_struct has no member state")
	assert.Equal(t, machine.StatusOK, byName(missing)["on_exit_dead"].Status)

	loads := byName(measure(t, "../../testdata/objects/clang-14/loads.o", target))
	assert.Equal(t, machine.StatusFault, loads["err_kprobe"].Status)
	assert.Contains(t, loads["err_kprobe"].Why, "typed pointers")
	assert.Equal(t, Passes, loads["ok_kprobe"].Runs)
}

// What the target's verifier refuses does not run.
func TestMeasureVerifies(t *testing.T) {
	obj, err := loader.Open("../../testdata/objects/clang-14/loads.o")
	require.NoError(t, err)
	row, err := Measure(context.Background(), obj, embeddedTarget(t), Config{Seed: 1, Types: object.NewTypes()})
	require.NoError(t, err)
	for _, p := range row.Programs {
		if p.Name != "err_kprobe" {
			continue
		}
		assert.Equal(t, machine.StatusRefused, p.Status)
		assert.Contains(t, p.Why, "R0 invalid mem access 'scalar'")
		assert.Zero(t, p.Runs)
		return
	}
	assert.Fail(t, "no err_kprobe")
}

// table is a small corpus with every kind of cell.
func table() []*Row {
	ok := func(name string, executed int) Program {
		return Program{Name: name, Status: machine.StatusOK, Reachable: 100, Executed: executed, Runs: Passes}
	}
	bad := func(name string, st machine.Status, why string) Program {
		return Program{Name: name, Status: st, Why: why}
	}
	return []*Row{
		{Package: "tools", Object: "a.o", Target: "linux-6.1.176-amd64", Programs: []Program{ok("one", 80), ok("two", 100)}, Fields: []string{"task_struct.pid", "task_struct.state"}},
		{Package: "tools", Object: "b.o", Target: "linux-6.1.176-amd64", Programs: []Program{bad("one", machine.StatusAbsent, "no such function"), ok("two", 10)}},
		{Package: "tools", Object: "c.o", Target: "linux-6.1.176-amd64", Err: "not an ELF file"},
		{Package: "tools", Object: "a.o", Target: "linux-6.12.107-arm64", Programs: []Program{ok("one", 50), ok("two", 50)}, Fields: []string{"task_struct.__state", "task_struct.pid"}},
		{Package: "tools", Object: "b.o", Target: "linux-6.12.107-arm64", Programs: []Program{bad("one", machine.StatusRefused, "no | member"), bad("two", machine.StatusRefused, "no | member")}},
		{Package: "tools", Object: "c.o", Target: "linux-6.12.107-arm64", Programs: []Program{bad("one", machine.StatusNotSimulated, "helper x"), bad("two", machine.StatusFault, "load of 8 bytes")}},
		{Package: "more", Object: "d.o", Target: "linux-6.1.176-amd64", Programs: []Program{bad("one", machine.StatusUnknownHook, "not in BTF")}},
	}
}

func TestWrite(t *testing.T) {
	var got bytes.Buffer
	require.NoError(t, Write(&got, table()))
	const golden = "testdata/table.md"
	if *update {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}

func TestSummarise(t *testing.T) {
	s := Summarise(table())
	require.Len(t, s, 3, "a package that was not measured on a target has no line")
	assert.Equal(t, Summary{Package: "tools", Target: "linux-6.1.176-amd64", Objects: 3, Sound: 2, Refused: 1, Median: 0.5, Ran: 2, Programs: 4}, s[0])
	assert.Equal(t, Summary{Package: "tools", Target: "linux-6.12.107-arm64", Objects: 3, Sound: 1, Faults: 1, Refused: 1, NotSimulated: 1, Median: 0.5, Ran: 1, Programs: 6}, s[1])
	assert.Equal(t, Summary{Package: "more", Target: "linux-6.1.176-amd64", Objects: 1, Sound: 1, Programs: 1}, s[2])
}

// TestRefusals judges programs that their authors marked as to be refused.
func TestRefusals(t *testing.T) {
	row := func(st machine.Status, marked bool) *Row {
		return &Row{Package: "p", Object: "x.o", Target: "k", Programs: []Program{{Name: "f", Status: st, Why: "f insn 3: 4 bytes at 0x10", Refusal: marked, Insns: 5, Reads: 2}}}
	}
	assert.True(t, row(machine.StatusRefused, true).Sound())
	assert.False(t, row(machine.StatusFault, true).Sound(), "it was loaded")
	assert.False(t, row(machine.StatusOK, true).Sound(), "it ran")
	assert.False(t, row(machine.StatusNotSimulated, true).Sound(), "nothing is known of it")
	assert.False(t, row(machine.StatusFault, false).Sound())
	s := Summarise([]*Row{row(machine.StatusRefused, true)})
	assert.Equal(t, Summary{Package: "p", Target: "k", Objects: 1, Sound: 1, Programs: 1, Refusals: 1, Insns: 5, Reads: 2}, s[0])
}

func TestWriteBrief(t *testing.T) {
	var got bytes.Buffer
	require.NoError(t, WriteBrief(&got, table()))
	const golden = "testdata/brief.md"
	if *update {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		in   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 2}, 2}} {
		assert.InDelta(t, tt.want, median(tt.in), 1e-9)
	}
}

func TestPaste(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "C.md")
	read := func() string {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(b)
	}
	section := Begin + "\n\nold\n\n" + End + "\n"
	require.NoError(t, Paste(file, []byte("old\n")))
	assert.Equal(t, section, read(), "a missing file")

	require.NoError(t, os.WriteFile(file, []byte("# Title\n"), 0o644))
	require.NoError(t, Paste(file, []byte("old\n")))
	assert.Equal(t, "# Title\n\n"+section, read(), "a file without marks")

	require.NoError(t, os.WriteFile(file, []byte(read()+"more\n"), 0o644))
	require.NoError(t, Paste(file, []byte("new\n")))
	assert.Equal(t, "# Title\n\n"+Begin+"\n\nnew\n\n"+End+"\nmore\n", read())

	for _, broken := range []string{Begin, End, End + "\n" + Begin} {
		require.NoError(t, os.WriteFile(file, []byte(broken), 0o644))
		require.ErrorIs(t, Paste(file, nil), ErrMarks)
		assert.Equal(t, broken, read())
	}
}

// TestCorpus holds the goals on the tools of a distribution, where they are at hand: in nearly all
// objects every program is ok, absent or of an unknown hook, none faults, and half of the reachable
// instructions are executed in half of the objects.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("BPFRUN_CORPUS")
	if dir == "" {
		t.Skip("BPFRUN_CORPUS is not set (make corpus)")
	}
	objects, err := filepath.Glob(filepath.Join(dir, "objects", "debian-bookworm", "libbpf-tools", "*.o"))
	require.NoError(t, err)
	if len(objects) == 0 {
		t.Skip("the corpus has no libbpf-tools")
	}
	kernels, err := filepath.Glob(filepath.Join(dir, "btf", "linux-*-amd64*.btf*"))
	require.NoError(t, err)
	for _, file := range kernels {
		t.Run(filepath.Base(file), func(t *testing.T) {
			spec, err := btffile.Load(file, nil)
			require.NoError(t, err)
			target := loader.NewTarget(filepath.Base(file), spec)
			var rows []*Row
			for _, o := range objects {
				row := measure(t, o, target)
				for _, p := range row.Programs {
					assert.NotContains(t, []machine.Status{machine.StatusFault, machine.StatusNotSimulated}, p.Status, "%s %s: %s", row.Object, p.Name, p.Why)
				}
				rows = append(rows, row)
			}
			s := Summarise(rows)[0]
			assert.LessOrEqual(t, s.Objects-s.Sound, 4, "%+v", s)
			assert.GreaterOrEqual(t, s.Median, 0.8)
		})
	}
}

// TestRefusalTags: the tag of programs that have to be refused, without and with the number of
// Linux 7.2.
func TestRefusalTags(t *testing.T) {
	for tag, want := range map[string]bool{
		"comment:test_expect_failure": true, "comment:12:test_expect_failure": true, "comment:test_expect_failure_unpriv": false,
		"comment:3:test_expect_msg=test_expect_failure": false, "comment:x:test_expect_failure": false, "test_expect_failure": false, "": false,
	} {
		assert.Equal(t, want, isRefusalTag(tag), tag)
	}
}
