package repl

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/ceiling"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
)

var update = rewrite.Flag

const root = "../../.."

// session opens an object of the repository on the embedded kernel, as the command line would with
// --seed 1.
func session(t testing.TB, path string) *debug.Session { return sessionOn(t, "embedded", path) }

// sessionOn is session on another kernel of the repository.
func sessionOn(t testing.TB, kernel, path string) *debug.Session {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	obj, err := loader.OpenBytes(filepath.Base(path), data)
	require.NoError(t, err)
	cfg := machine.Config{Seed: 1, Boot: time.Hour, MaxInsns: 1 << 22}
	on := func(_ context.Context, kernel string) (debug.Target, error) {
		target, err := targetOf(kernel)
		if err != nil {
			return debug.Target{}, err
		}
		linked, err := obj.Load(target, loader.LoadOptions{})
		if err != nil {
			return debug.Target{}, err
		}
		m, err := machine.New(linked, cfg)
		return debug.Target{Machine: m}, err
	}
	first, err := on(context.Background(), kernel)
	require.NoError(t, err)
	s, err := debug.NewOn(first, debug.Config{Machine: cfg, ELF: data, SourceDirs: []string{root, root + "/internal"}, Kernel: on})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// targetOf makes the target of a kernel: embedded, or a file of the repository.
func targetOf(kernel string) (*loader.Target, error) {
	if kernel == "embedded" {
		spec, err := embedded.Spec()
		if err != nil {
			return nil, err
		}
		return loader.NewTarget(embedded.Name, spec), nil
	}
	spec, err := testbtf.Load(filepath.Join(root, filepath.FromSlash(kernel)))
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(filepath.Base(kernel), ".btf")
	return loader.NewTarget(name, spec), nil
}

// transcript carries out commands and returns them with what they wrote.
func transcript(t testing.TB, path, commands string) string {
	t.Helper()
	return transcriptOn(t, "embedded", path, commands)
}

func transcriptOn(t testing.TB, kernel, path, commands string) string {
	t.Helper()
	var out bytes.Buffer
	r := New(sessionOn(t, kernel, path), Config{In: strings.NewReader(commands), Out: &out, Echo: true})
	require.NoError(t, r.Run(context.Background()))
	return out.String()
}

// TestTranscripts runs testdata/NAME.cmd, whose first line names the object, and compares with
// NAME.golden.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.cmd")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			first, commands, _ := strings.Cut(string(b), "\n")
			got := transcript(t, strings.TrimPrefix(first, "# "), commands)
			golden := strings.TrimSuffix(file, ".cmd") + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
}

// TestEveryCommandIsTranscribed: each command of the table stands in a transcript.
func TestEveryCommandIsTranscribed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.cmd")
	require.NoError(t, err)
	used := map[string]bool{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(b)) {
			word, _ := splitCommand(strings.TrimSpace(line))
			if c, err := find(word); err == nil {
				used[c.name] = true
			}
		}
	}
	for _, c := range table {
		assert.True(t, used[c.name], "no transcript uses %s", c.name)
	}
}

func TestFind(t *testing.T) {
	names := map[string]bool{}
	for _, c := range table {
		for _, n := range append([]string{c.name}, c.aliases...) {
			assert.False(t, names[n], "%s appears twice", n)
			names[n] = true
		}
		assert.Contains(t, topics, c.topic, c.name)
		assert.False(t, strings.HasSuffix(c.short, "."), c.name)
	}
	for word, want := range map[string]string{"c": "continue", "n": "next", "rs": "reverse-step", "wat": "watch", "cont": "continue", "wha": "whatis", "?": "help"} {
		c, err := find(word)
		require.NoError(t, err, word)
		assert.Equal(t, want, c.name)
	}
	_, err := find("re")
	require.ErrorContains(t, err, "ambiguous")
	_, err = find("")
	require.Error(t, err)
}

func TestComplete(t *testing.T) {
	r := New(session(t, "examples/exec/exec.bpf.o"), Config{Out: io.Discard})
	require.NoError(t, r.Execute(context.Background(), "run"))
	for text, want := range map[string]string{
		"fini":                           "sh",
		"break on_e":                     "xec",
		"b bpf_ringbuf_s":                "ubmit",
		"run on":                         "_exec",
		"p execs":                        "_by_uid",
		"p current->real_par":            "ent",
		"p 1 + current->real_parent->tg": "id",
		"p/x current->tgi":               "d",
		"p (struct trace_event_raw_sched_process_e": "xec",
		"info kern":  "el",
		"help check": "point",
	} {
		ends, n := r.Complete(text)
		assert.Contains(t, ends, want, text)
		assert.LessOrEqual(t, n, len(text))
	}
	ends, _ := r.Complete("restart x")
	assert.Empty(t, ends)
	kernel := filepath.Join(t.TempDir(), "linux-6.12.btf")
	require.NoError(t, os.WriteFile(kernel, nil, 0o600))
	ends, _ = r.Complete("kernel " + strings.TrimSuffix(kernel, "6.12.btf"))
	assert.Contains(t, ends, "6.12.btf", "paths of kernels")
	ends, _ = r.Complete("p execs_by_uid.")
	assert.Empty(t, ends)
}

func TestRepeat(t *testing.T) {
	got := transcript(t, "examples/exec/exec.bpf.o", "run\nstepi\n\n\nlist\n\np $insns\n\n")
	assert.Contains(t, got, "$1 = 3", "an empty line steps again")
	assert.NotContains(t, got, "$2", "print is not repeated")
}

func TestSource(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	require.NoError(t, os.WriteFile(good, []byte("# a comment\nrun\nstepi 3\n"), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte("run\nnonsense\nstepi\n"), 0o600))
	r := New(session(t, "examples/exec/exec.bpf.o"), Config{Out: io.Discard})
	require.NoError(t, r.Execute(context.Background(), "source "+good))
	assert.Equal(t, uint64(3), r.s.Pos())
	require.ErrorContains(t, r.Execute(context.Background(), "source "+bad), "nonsense")
	assert.Equal(t, uint64(0), r.s.Pos(), "the rest of the file is left out")
	require.NoError(t, os.WriteFile(good, []byte("source "+good+"\n"), 0o600))
	require.ErrorContains(t, r.Execute(context.Background(), "source "+good), "too deeply")
}

// FuzzCommands carries out command lines of any sort on a small kernel, so that the many runs of a
// fuzzer stay fast.
func FuzzCommands(f *testing.F) {
	ceiling.Limit(f, 1<<30)
	files, err := filepath.Glob("testdata/*.cmd")
	require.NoError(f, err)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(f, err)
		for chunk := range slices.Chunk(strings.Split(string(b), "\n"), 6) {
			f.Add("run\n" + strings.Join(chunk, "\n"))
		}
	}
	f.Add("run\np *(int *)0\np pkt.ip[1]\nx/99999s -1\nset $r1 = \np $$$\np a->b.c[1:2]\nlist 5,4\n")
	f.Add("run\np ((((((((1\np {{{\nwatch *(struct task_struct *)$r6\nc\nrc\nfinish\nup\ndown\n")
	f.Add("run\nb square\nc\nbt\nup\nwhy chosen\nwhy seen\ntrace insns\nrs\nx/3i $pc\np list_for_each(1, struct shape, x)\np 1@2\n")
	f.Add("run\nb 45\ncommands\nsilent\nrc\nc\nend\nc\nset $r1 = 3\nwhy $r1\nalias a = b\nalias b = a\na\ndisplay/i $pc\n")
	s := sessionOn(f, "testdata/btf/min/linux-6.12.107-amd64.min.btf", "internal/debug/testdata/locals-O2-dwarf5.o")
	f.Fuzz(func(t *testing.T, commands string) {
		if len(commands) > 600 || strings.Contains(commands, "tran") || strings.Contains(commands, "logging") { // these write files
			return
		}
		s.Reset()
		s.Reverse, s.Tracing = false, 0
		for _, b := range s.Breakpoints() {
			require.NoError(t, s.Delete(b.ID))
		}
		for _, w := range s.Watches() {
			require.NoError(t, s.Delete(w.ID))
		}
		// Commands of breakpoints may lead to each other for ever.
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		r := New(s, Config{In: strings.NewReader(commands), Out: io.Discard})
		last := commands[strings.LastIndexByte(commands, '\n')+1:]
		ceiling.Check(t, 512<<20, func() {
			require.NoError(t, r.Run(ctx))
			r.Complete(last)
		})
	})
}

// BenchmarkStep is from stop to stop; BenchmarkStep of package dap is the same for an editor.
func BenchmarkStep(b *testing.B) {
	s := session(b, "internal/debug/testdata/long.o")
	r := New(s, Config{Out: io.Discard})
	require.NoError(b, r.Execute(context.Background(), "run"))
	b.ResetTimer()
	for range b.N {
		require.NoError(b, r.Execute(context.Background(), "next"))
	}
}

// TestPacketsThatAreCut: info packet says after the headers why there are no more of them.
func TestPacketsThatAreCut(t *testing.T) {
	for packet, cut := range map[string]bool{"eth/ip/tcp": false, "eth/ip(proto=6)/pad(10)": true} {
		s := session(t, "examples/xdp/xdp.bpf.o")
		p, err := debug.LoadPacket(packet)
		require.NoError(t, err)
		s.SetPacket(p)
		_, err = s.Start("filter")
		require.NoError(t, err)
		h, err := s.Headers()
		require.NoError(t, err)
		require.Equal(t, cut, h.Cut != "", packet)
		var out bytes.Buffer
		r := New(s, Config{Out: &out})
		require.NoError(t, r.Execute(context.Background(), "info packet"))
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		want := 1 + len(h.Layers)
		if cut {
			want++
			assert.Equal(t, h.Cut, lines[len(lines)-1])
		}
		assert.Len(t, lines, want)
	}
}
