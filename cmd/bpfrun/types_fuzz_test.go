package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/testing/ceiling"
)

// typesCommands are the commands that print types, or what they mean. F is the file of types, G
// another one, O and P are objects, N the name of a type, D a directory to write to.
var typesCommands = [][]string{
	{"btf", "dump", "F"}, {"btf", "dump", "F", "N"}, {"btf", "dump", "F", "--format", "c"}, {"btf", "dump", "F", "N", "--format", "c"},
	{"btf", "show", "F", "N"}, {"btf", "show", "F", "N", "--expand"}, {"btf", "find", "F", "N"}, {"btf", "find", "F", "*"},
	{"btf", "diff", "F", "G"}, {"btf", "diff", "G", "F"}, {"btf", "diff", "F", "G", "N"},
	{"btf", "layout", "F", "N"}, {"btf", "layout", "F", "N", "--expand"}, {"btf", "layout", "F", "N", "--compare", "G"}, {"btf", "layout", "G", "task_struct", "--compare", "F"},
	{"btf", "size", "F"}, {"btf", "size", "F", "N"}, {"btf", "c", "F"}, {"btf", "c", "F", "--only", "N"}, {"btf", "who", "N.pid", "O", "--btf", "F"},
	{"btf", "min", "-o", "D/min", "F", "O"}, {"btf", "check", "F"}, {"btf", "check", "F", "--kernel", "5.10"}, {"btf", "dedup", "F", "-o", "D/dedup"},
	{"btf", "dump", "F", "--base", "G"}, {"btf", "c", "F", "--base", "G"}, {"btf", "relocate", "F", "--base", "G", "-o", "D/relocated"},
	{"O", "--btf", "F"}, {"O", "--btf", "F", "--strict"}, {"P", "--btf", "F"}, {"matrix", "O", "P", "--btf", "G", "--btf", "F"}, {"relo", "O", "--btf", "F"}, {"info", "O", "--btf", "F"},
	{"disasm", "O", "--btf", "F"}, {"verify", "P", "--btf", "F"}, {"require", "P", "--btf", "F", "--btf", "G"}, {"diff", "O", "P", "--btf", "F"}, {"race", "O", "--btf", "F"}, {"scenario", "new", "O", "--btf", "F"},
	{"debug", "O", "--btf", "F", "-e", "run", "-e", "info args", "-e", "print *current", "-e", "print *task", "-e", "ptype struct N", "-e", "print *(struct N *)$r1", "-e", "x/4gx $r1"},
}

// typesSeeds are the committed BTFs of all sorts, and damaged ones: sizes and counts that lie.
func typesSeeds(f *testing.F) [][]byte {
	var out [][]byte
	files, err := filepath.Glob("../../testdata/btf/min/*.btf")
	require.NoError(f, err)
	for _, file := range []string{files[0], "../../testdata/btf/min/linux-6.1.176-armhf-armmp.min.btf", "../../testdata/btf/min/linux-6.12.107-amd64.min.btf"} {
		raw, err := os.ReadFile(file)
		require.NoError(f, err)
		out = append(out, raw)
	}
	b := btf.NewBuilder(nil)
	char := b.Int("char", 1, btf.IntSigned)
	long := b.Int("unsigned long", 8, 0)
	task := b.NextID()
	b.Struct("task_struct", 0xffffffff, btf.Member{Name: "comm", Type: task + 1}, btf.Member{Name: "self", Type: task + 2, BitOffset: 128}, btf.Member{Name: "all", Type: task + 3, BitOffset: 256})
	b.Array(char, long, 16)
	b.Ptr(task)
	b.Array(task+2, long, 0xffffffff)
	raw, err := b.Marshal(binary.LittleEndian) // parsing may refuse it: commands have to say so
	require.NoError(f, err)
	return append(out, raw)
}

// FuzzTypesThroughCommands: whatever a file of types says, every command that prints types ends, in
// bounded memory, without a panic.
func FuzzTypesThroughCommands(f *testing.F) {
	ceiling.Limit(f, 1<<30)
	kernels.HostBTF = filepath.Join(f.TempDir(), "none")
	f.Setenv("XDG_CACHE_HOME", f.TempDir())
	for _, raw := range typesSeeds(f) {
		for i := range typesCommands {
			f.Add(raw, uint16(20), "", uint8(i), i%2 == 0)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, pick uint16, name string, which uint8, json bool) {
		if len(raw) > 1<<16 || len(name) > 200 {
			return
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "linux-6.12.1.btf")
		require.NoError(t, os.WriteFile(file, raw, 0o600))
		if name == "" {
			if s, err := btf.Parse(raw, nil); err == nil && s.NumTypes() > 0 {
				name = s.Name(btf.ID(int(pick) % s.NumTypes()))
			}
		}
		var args []string
		for _, a := range typesCommands[int(which)%len(typesCommands)] {
			switch a {
			case "F":
				a = file
			case "G":
				a = "../../testdata/btf/min/linux-6.12.107-amd64.min.btf"
			case "O":
				a = "../../examples/exec/exec.bpf.o"
			case "P":
				a = "../../examples/tp_btf/tp_btf.bpf.o"
			case "N":
				a = name
			case "N.pid":
				a = name + ".pid"
			case "ptype struct N", "print *(struct N *)$r1":
				a = string(bytes.ReplaceAll([]byte(a), []byte("N"), []byte(name)))
			default:
				if len(a) > 2 && a[:2] == "D/" {
					a = filepath.Join(dir, a[2:])
				}
			}
			args = append(args, a)
		}
		args = append(args, "--no-cache", "--color=never")
		if json {
			args = append(args, "--json")
		}
		var stderr bytes.Buffer
		var code int
		start := time.Now()
		ceiling.Check(t, 384<<20+4096*uint64(len(raw)), func() { code = run(args, io.Discard, &stderr) })
		if code == exitBug {
			t.Fatalf("bpfrun %q: %s", args, stderr.String())
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Fatalf("bpfrun %q: %v", args, d)
		}
	})
}
