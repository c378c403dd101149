package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/testing/ceiling"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// hostile runs commands on hostile input below a directory; only its folder out, and the caches,
// may change.
type hostile struct {
	dir string
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{dir: t.TempDir()}
	require.NoError(t, os.Mkdir(h.path("out"), 0o700))
	t.Setenv("XDG_CACHE_HOME", h.path("out/cache"))
	t.Setenv("HOME", h.path("out"))
	host := kernels.HostBTF
	kernels.HostBTF = h.path("none")
	t.Cleanup(func() { kernels.HostBTF = host })
	return h
}

func (h *hostile) path(name string) string { return filepath.Join(h.dir, name) }

func (h *hostile) write(t *testing.T, name string, data []byte) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(h.path(name)), 0o700))
	require.NoError(t, os.WriteFile(h.path(name), data, 0o600))
	return h.path(name)
}

// outside lists what is below the directory and not below out, with contents.
func (h *hostile) outside(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(h.dir, path)
		if d.IsDir() {
			if rel == "out" {
				return fs.SkipDir
			}
			all[rel] = "directory"
			return nil
		}
		data, err := os.ReadFile(path)
		all[rel] = string(data)
		return err
	}))
	return all
}

// run runs a command. Whatever it reads, it ends with an exit code for users, in bounded memory,
// and writes where it may.
func (h *hostile) run(t *testing.T, what string, args ...string) int {
	t.Helper()
	before := h.outside(t)
	var stderr bytes.Buffer
	code := exitBug
	ceiling.Check(t, 1<<30, func() { code = run(append(args, "--color=never"), io.Discard, &stderr) })
	require.NotEqual(t, exitBug, code, "%s: bpfrun %q\n%s", what, args, stderr.String())
	require.NotContains(t, stderr.String(), "goroutine ", what)
	require.Equal(t, before, h.outside(t), "%s: bpfrun %q writes elsewhere", what, args)
	return code
}

// edges are numbers at which sizes, counts and offsets overflow.
var edges = []uint64{0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 62, 1 << 63, 1<<64 - 1}

// nonsense is what parts of text become.
var nonsense = []string{"-1", "18446744073709551616", "1e999", "0x", "null", "{}", "[]", "\x00", "\xff", "../../../x", "{{{{", "&a [*a]", "99999999999999999", "\u202e", "- ", ": ", "\n"}

// spoil returns a copy with some faults: bytes flipped, numbers at edges, pieces cut out, doubled
// or replaced.
func spoil(r *rand.Rand, src []byte, text bool) []byte {
	out := bytes.Clone(src)
	for range 1 + r.IntN(4) {
		if len(out) < 16 {
			return out
		}
		at := r.IntN(len(out) - 8)
		to := min(len(out), at+1+r.IntN(64))
		switch n := r.IntN(6); {
		case n == 0 && text || n == 1 && text:
			out = append(append(bytes.Clone(out[:at]), nonsense[r.IntN(len(nonsense))]...), out[at+r.IntN(8):]...)
		case n == 0:
			binary.LittleEndian.PutUint64(out[at:], edges[r.IntN(len(edges))])
		case n == 1:
			binary.LittleEndian.PutUint32(out[at&^3:], uint32(edges[r.IntN(len(edges))]))
		case n == 2:
			out[at] ^= 1 << r.IntN(8)
		case n == 3:
			out = append(out[:at:at], out[to:]...)
		case n == 4:
			out = append(append(out[:to:to], out[at:to]...), out[to:]...)
		default:
			if r.IntN(4) == 0 {
				out = out[:at]
			}
		}
	}
	return out
}

// TestDamagedInputs: committed objects and files with faults, given to every command that reads
// what others wrote.
func TestDamagedInputs(t *testing.T) {
	const types = "../../testdata/btf/min/linux-6.12.107-amd64.min.btf"
	h := newHostile(t)
	covered := h.path("out/cover.json")
	require.Equal(t, exitOK, run([]string{"run", "../../examples/xdp/xdp.bpf.o", "--btf", types, "--cover-out", "json=" + covered, "-q"}, io.Discard, io.Discard))
	for _, tt := range []struct {
		name, source string
		args         []string // F is the damaged file
		text         bool
	}{
		{"o/firewall.bpf.o", "../../examples/firewall/firewall.bpf.o", []string{"verify", "F", "--btf", types}, false},
		{"o/builds_new.o", "../../testdata/objects/clang-14/builds_new.o", []string{"diff", "../../testdata/objects/clang-14/builds_old.o", "F", "--btf", types, "--btf", "embedded"}, false},
		{"o/needs.o", "../../testdata/objects/clang-14/needs.o", []string{"require", "F", "--btf", types, "--btf", "embedded"}, false},
		{"o/tp_btf.bpf.o", "../../examples/tp_btf/tp_btf.bpf.o", []string{"run", "F", "--btf", types}, false},
		{"sched/schedfifo.yaml", "../../examples/schedfifo/schedfifo.yaml", []string{"test", "F", "--btf", "embedded"}, true},
		{"qdisc/qdisctbf.yaml", "../../examples/qdisctbf/qdisctbf.yaml", []string{"test", "F", "--btf", "embedded"}, true},
		{"race/racecount.yaml", "../../examples/racecount/racecount.yaml", []string{"test", "F", "--btf", "embedded"}, true},
		{"hid/hidmouse.yaml", "../../examples/hidmouse/hidmouse.yaml", []string{"test", "F", "--btf", "embedded"}, true},
		{"cover/c.json", covered, []string{"cover", "merge", "F", "--cover-out", "json=" + h.path("out/merged.json")}, true},
		{"k/linux-6.12.1-amd64.btf", types, []string{"kernels", "add", "F"}, false},
		{"d/debug.o", "../../examples/exec/exec.bpf.o", []string{"btf", "gen", "F", "-o", h.path("out/gen.btf")}, false},
	} {
		t.Run(filepath.Base(tt.name), func(t *testing.T) {
			src, err := os.ReadFile(tt.source)
			require.NoError(t, err)
			if tt.text && strings.HasSuffix(tt.name, ".yaml") {
				obj, err := os.ReadFile(strings.TrimSuffix(tt.source, ".yaml") + ".bpf.o")
				require.NoError(t, err)
				h.write(t, strings.TrimSuffix(tt.name, ".yaml")+".bpf.o", obj)
			}
			for seed := range uint64(testsize.Pick(1000, 4, 2)) {
				file := h.write(t, tt.name, spoil(rand.New(rand.NewPCG(seed, 31)), src, tt.text))
				args := append([]string(nil), tt.args...)
				for i, a := range args {
					if a == "F" {
						args[i] = file
					}
				}
				h.run(t, fmt.Sprint("seed ", seed), args...)
			}
		})
	}
}

// archive writes a tar archive with these members, compressed.
func archive(t *testing.T, members ...tar.Header) []byte {
	t.Helper()
	types, err := os.ReadFile("../../testdata/btf/min/linux-6.12.107-amd64.min.btf")
	require.NoError(t, err)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, m := range members {
		m.Mode = 0o777
		if m.Typeflag == tar.TypeReg {
			m.Size = int64(len(types))
		}
		require.NoError(t, w.WriteHeader(&m))
		if m.Typeflag == tar.TypeReg {
			_, err := w.Write(types)
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return b.Bytes()
}

// TestHostileArchives: what kernels add unpacks stays in its directory, whatever the members' names
// and links say.
func TestHostileArchives(t *testing.T) {
	h := newHostile(t)
	reg := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
	zeros := bytes.Repeat([]byte{0}, 32<<20)
	var bomb bytes.Buffer
	z, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	require.NoError(t, err)
	_, err = z.Write(zeros)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	many := make([]tar.Header, 2000)
	for i := range many {
		many[i] = tar.Header{Typeflag: tar.TypeDir, Name: fmt.Sprintf("6.12.%d-amd64.btf/", i)}
	}
	for name, data := range map[string][]byte{
		"parent":    archive(t, reg("../../../linux-6.12.1-amd64.btf")),
		"absolute":  archive(t, reg(h.path("linux-6.12.2-amd64.btf"))),
		"backslash": archive(t, reg(`..\..\linux-6.12.3-amd64.btf`)),
		"link": archive(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "linux-6.12.4-amd64.btf", Linkname: h.path("victim")},
			reg("linux-6.12.4-amd64.btf")),
		"hard link":      archive(t, tar.Header{Typeflag: tar.TypeLink, Name: "linux-6.12.5-amd64.btf", Linkname: "../../victim"}),
		"device":         archive(t, tar.Header{Typeflag: tar.TypeChar, Name: "linux-6.12.6-amd64.btf"}),
		"zeros":          bomb.Bytes(),
		"many":           archive(t, many...),
		"cut":            archive(t, reg("linux-6.12.7-amd64.btf"))[:500],
		"control":        archive(t, reg("linux-6.12.8-amd64\n\x1b[2J.btf")),
		"only dots":      archive(t, reg("..")),
		"parent in path": archive(t, reg("6.12.9-amd64.btf/../../../../x.btf")),
	} {
		t.Run(name, func(t *testing.T) {
			h.write(t, "victim", []byte("untouched"))
			file := h.write(t, "in.tar.gz", data)
			h.run(t, name, "kernels", "add", file)
			h.run(t, name, "kernels", "add", file, "--as", "../../../6.12.1-amd64")
			h.run(t, name, "kernels", "list")
		})
	}
	assert.NoFileExists(t, h.path("linux-6.12.2-amd64.btf"))
}

// TestLinkInPlaceOfAStoredKernel: a link in the directory of added kernels does not lead the next
// one elsewhere.
func TestLinkInPlaceOfAStoredKernel(t *testing.T) {
	h := newHostile(t)
	const types = "../../testdata/btf/min/linux-6.12.107-amd64.min.btf"
	require.Equal(t, exitOK, h.run(t, "add", "kernels", "add", types, "--as", "6.12.1-amd64"))
	victim := h.write(t, "victim", []byte("untouched"))
	stored := ""
	require.NoError(t, filepath.WalkDir(h.path("out"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, "6.12.1-amd64") {
			stored = path
		}
		return err
	}))
	require.NotEmpty(t, stored)
	require.NoError(t, os.Remove(stored))
	if err := os.Symlink(victim, stored); err != nil {
		t.Skip("no links here: ", err)
	}
	h.run(t, "add again", "kernels", "add", types, "--as", "6.12.1-amd64")
	data, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "untouched", string(data))
}
