package repl

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/loader"
)

// tour is what every program of a real object is taken through.
const tour = `info programs
info maps
disas
list
stepi 5
next
next
step
info registers
info locals
info args
info ctx
info packet
info relocs
info frame
info line
info source
x/6i $pc
x/4gx $r10-32
bt
p current->real_parent->comm
p *current
p *ctx
why $r0
why $r1
why ctx
trace lines helpers kernel events
next
trace off
until
watch $r0
continue
delete
finish
reverse-step
reverse-next
reverse-stepi 3
checkpoint
break core
continue
delete
up
down
continue
info kernel
info events
info variables
diff
why $retval
why pkt.ip.ttl
reverse-continue
reverse-finish
`

// without makes debug information of an object invisible: sections whose names begin so are called
// something else.
func without(data []byte, sections string) []byte {
	return bytes.ReplaceAll(data, []byte(sections), []byte("-"+sections[1:]))
}

// travel takes the programs of an object through the tour: nothing may panic, and what goes back
// arrives.
func travel(t *testing.T, target *loader.Target, path string, data []byte) (programs int) {
	t.Helper()
	obj, err := loader.OpenBytes(filepath.Base(path), data)
	if err != nil {
		return 0
	}
	linked, err := obj.Load(target, loader.LoadOptions{})
	if err != nil {
		return 0
	}
	s, err := debug.New(linked, debug.Config{Machine: machine.Config{Seed: 1, MaxInsns: 1 << 20}, ELF: data})
	if err != nil {
		return 0
	}
	defer s.Close()
	assert.NoError(t, s.DWARFError(), path)
	for _, name := range s.Machine().Names() {
		begun := time.Now()
		var out bytes.Buffer
		r := New(s, Config{Out: &out, In: strings.NewReader(tour)})
		if err := r.Execute(context.Background(), "run "+name); err != nil {
			continue
		}
		programs++
		require.NoError(t, r.Run(context.Background()), "%s %s", path, name)
		require.Contains(t, out.String(), "Reached the start of the run", "%s %s", path, name)
		if d := time.Since(begun); d > 2*time.Second {
			t.Logf("%s %s took %v", path, name, d)
		}
	}
	return programs
}

// travelAll takes all objects below a directory on the tour, also without their DWARF.
func travelAll(t *testing.T, dir string) {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	target := loader.NewTarget(embedded.Name, spec)
	objects, stripped, programs := 0, 0, 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".o") {
			return err
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		if n := travel(t, target, path, data); n > 0 {
			objects++
			programs += n
		}
		if bytes.Contains(data, []byte(".debug_info\x00")) {
			stripped++
			programs += travel(t, target, path, without(data, ".debug_"))
		}
		return nil
	}))
	t.Logf("%d programs of %d objects, %d of them again without DWARF", programs, objects, stripped)
}

// TestObjectsOnTour takes the repository's objects.
func TestObjectsOnTour(t *testing.T) {
	dirs := []string{"examples", "internal/debug/testdata", "testdata/objects/clang-14", "testdata/objects/clang-22"}
	dirs = dirs[:testsize.Pick(len(dirs), 1, 1)]
	for _, dir := range dirs {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			travelAll(t, filepath.Join(root, filepath.FromSlash(dir)))
		})
	}
}

// TestRealObjects takes those of distribution packages.
func TestRealObjects(t *testing.T) {
	corpus := os.Getenv("BPFRUN_CORPUS")
	if corpus == "" {
		t.Skip("BPFRUN_CORPUS is not set (make corpus)")
	}
	travelAll(t, filepath.Join(corpus, "objects"))
}

// big is a program of more than 60,000 instructions.
func big(t testing.TB) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join(root, "internal", "debug", "testdata", "big.o.gz"))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	data, err := io.ReadAll(z)
	require.NoError(t, err)
	return data
}

// TestBigProgram: the tour through a program of more than 60,000 instructions, with all, without
// DWARF, and without any line information.
func TestBigProgram(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	target := loader.NewTarget(embedded.Name, spec)
	data := big(t)
	obj, err := loader.OpenBytes("big.o", data)
	require.NoError(t, err)
	linked, err := obj.Load(target, loader.LoadOptions{})
	require.NoError(t, err)
	require.Greater(t, len(linked.Programs[0].Insns), 60_000)
	for name, d := range map[string][]byte{"all": data, "no DWARF": without(data, ".debug_"), "no lines": without(without(data, ".debug_"), ".BTF.ext")} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, 1, travel(t, target, "big.o", d)) })
	}
}
