package bench

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// startObjects are objects in the size of real tools. With BPFRUN_CORPUS they are libbpf-tools',
// else examples.
func startObjects(t testing.TB) []string {
	dir := os.Getenv("BPFRUN_CORPUS")
	if dir == "" {
		return []string{"../../examples/exec/exec.bpf.o", "../../examples/guarded/guarded.bpf.o", "../../examples/fentry/fentry.bpf.o"}
	}
	var out []string
	for _, name := range []string{"opensnoop", "execsnoop", "biolatency", "klockstat", "tcpconnect"} {
		path := filepath.Join(dir, "objects/debian-bookworm/libbpf-tools", name+".o")
		require.FileExists(t, path)
		out = append(out, path)
	}
	return out
}

// rawTypes is the raw BTF of a full kernel, some 5 MB.
func rawTypes(t testing.TB) []byte {
	f, err := os.Open("../../testdata/btf/linux-7.2.13-amd64.btf.xz")
	require.NoError(t, err)
	defer f.Close()
	r, err := xz.NewReader(f)
	require.NoError(t, err)
	raw, err := io.ReadAll(r)
	require.NoError(t, err)
	return raw
}

const rawName = "linux-7.2.13-amd64"

func parse(t testing.TB, raw []byte) *btf.Spec {
	spec, err := btffile.LoadBytes(rawName+".btf", raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// BenchmarkParse makes a kernel's types usable: the part that does not depend on the object.
func BenchmarkParse(b *testing.B) {
	raw := rawTypes(b)
	b.ReportAllocs()
	for b.Loop() {
		loader.NewTarget(rawName, parse(b, raw))
	}
}

func eachObject(b *testing.B, f func(b *testing.B, data []byte, path string)) {
	for _, path := range startObjects(b) {
		data, err := os.ReadFile(path)
		require.NoError(b, err)
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			f(b, data, path)
		})
	}
}

// BenchmarkOpen reads an object.
func BenchmarkOpen(b *testing.B) {
	eachObject(b, func(b *testing.B, data []byte, path string) {
		for b.Loop() {
			if _, err := loader.OpenBytes(path, data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func open(b *testing.B, path string, data []byte) *loader.Object {
	obj, err := loader.OpenBytes(path, data)
	if err != nil {
		b.Fatal(err)
	}
	return obj
}

func link(b *testing.B, obj *loader.Object, t *loader.Target) *loader.Linked {
	l, err := obj.Load(t, loader.LoadOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func compose(b *testing.B, l *loader.Linked) *machine.Machine {
	m, err := machine.New(l, machine.Config{})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func runAll(b *testing.B, m *machine.Machine, doc *report.RunDocument) {
	for _, name := range m.Names() {
		res, err := m.Run(context.Background(), name, machine.Input{})
		if err != nil {
			b.Fatal(err)
		}
		doc.Add(m, res)
	}
	doc.Finish(m)
	if err := report.WriteTable(io.Discard, doc, report.TableOptions{}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRelocate links an object for types of which nothing was looked up before: CO-RE,
// externs, linking, judging.
func BenchmarkRelocate(b *testing.B) {
	raw := rawTypes(b)
	eachObject(b, func(b *testing.B, data []byte, path string) {
		for b.Loop() {
			b.StopTimer()
			obj, target := open(b, path, data), loader.NewTarget(rawName, parse(b, raw))
			b.StartTimer()
			link(b, obj, target)
		}
	})
}

// BenchmarkLoad makes a machine of a linked object.
func BenchmarkLoad(b *testing.B) {
	spec := parse(b, rawTypes(b))
	eachObject(b, func(b *testing.B, data []byte, path string) {
		l := link(b, open(b, path, data), loader.NewTarget(rawName, spec))
		for b.Loop() {
			compose(b, l).Close()
		}
	})
}

// BenchmarkRun runs every program once on a new machine and writes the table.
func BenchmarkRun(b *testing.B) {
	spec := parse(b, rawTypes(b))
	eachObject(b, func(b *testing.B, data []byte, path string) {
		l := link(b, open(b, path, data), loader.NewTarget(rawName, spec))
		for b.Loop() {
			b.StopTimer()
			m := compose(b, l)
			doc := report.NewRunDocument(l, rawName)
			b.StartTimer()
			runAll(b, m, doc)
			b.StopTimer()
			m.Close()
			b.StartTimer()
		}
	})
}

// BenchmarkEndToEnd does it all, from the bytes of object and types to the table.
func BenchmarkEndToEnd(b *testing.B) {
	raw := rawTypes(b)
	eachObject(b, func(b *testing.B, data []byte, path string) {
		for b.Loop() {
			l := link(b, open(b, path, data), loader.NewTarget(rawName, parse(b, raw)))
			m := compose(b, l)
			runAll(b, m, report.NewRunDocument(l, rawName))
			m.Close()
		}
	})
}

// TestCommandTime measures the command itself, process start included, when BENCH_COMMAND=1: the
// best of several runs for each object against a raw file. The goal is at most 60 ms.
func TestCommandTime(t *testing.T) {
	if os.Getenv("BENCH_COMMAND") == "" {
		t.Skip("BENCH_COMMAND is not set")
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bpfrun")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	out, err := exec.Command("go", "build", "-o", bin, "../../cmd/bpfrun").CombinedOutput()
	require.NoError(t, err, "%s", out)
	types := filepath.Join(dir, rawName+".btf")
	require.NoError(t, os.WriteFile(types, rawTypes(t), 0o666))
	objects := startObjects(t)
	if corpus := os.Getenv("BPFRUN_CORPUS"); corpus != "" {
		objects, err = filepath.Glob(filepath.Join(corpus, "objects/debian-bookworm/libbpf-tools/*.o"))
		require.NoError(t, err)
	}
	var times []time.Duration
	for _, o := range objects {
		best := time.Hour
		for range 7 {
			var stdout bytes.Buffer
			cmd := exec.Command(bin, o, "--btf", types)
			cmd.Stdout = &stdout
			start := time.Now()
			_ = cmd.Run() // an object that faults or is refused counts too
			best = min(best, time.Since(start))
			require.NotEmpty(t, stdout.String(), o)
		}
		times = append(times, best)
		t.Logf("%-24s %.1f ms", filepath.Base(o), best.Seconds()*1000)
	}
	slices.Sort(times)
	t.Logf("%d objects: best %v, median %v, worst %v", len(times), times[0], times[len(times)/2], times[len(times)-1])
}
