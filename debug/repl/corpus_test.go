package repl

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/debug"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
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
bt
p current->real_parent->comm
p *current
p *ctx
finish
reverse-step
reverse-next
reverse-stepi 3
checkpoint
continue
info kernel
info events
info variables
diff
reverse-continue
reverse-finish
`

// TestRealObjects takes the programs of real objects through a tour: nothing may panic, and what goes back arrives.
func TestRealObjects(t *testing.T) {
	corpus := os.Getenv("BPFRUN_CORPUS")
	if corpus == "" {
		t.Skip("BPFRUN_CORPUS is not set (make corpus)")
	}
	spec, err := embedded.Spec()
	require.NoError(t, err)
	target := loader.NewTarget(embedded.Name, spec)
	objects, programs := 0, 0
	err = filepath.WalkDir(filepath.Join(corpus, "objects"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".o") {
			return err
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		obj, err := loader.OpenBytes(filepath.Base(path), data)
		if err != nil {
			return nil
		}
		linked, err := obj.Load(target, loader.LoadOptions{})
		if err != nil {
			return nil
		}
		s, err := debug.New(linked, debug.Config{Machine: machine.Config{Seed: 1, MaxInsns: 1 << 20}, ELF: data})
		if err != nil {
			return nil
		}
		defer s.Close()
		objects++
		for _, name := range s.Machine().Names() {
			begun := time.Now()
			var out bytes.Buffer
			r := New(s, Config{Out: &out, In: strings.NewReader(tour)})
			if err := r.Execute(context.Background(), "run "+name); err != nil {
				continue
			}
			programs++
			require.NoError(t, r.Run(context.Background()), "%s %s", path, name)
			require.Contains(t, out.String(), "The start of the run was reached", "%s %s", path, name)
			if d := time.Since(begun); d > 2*time.Second {
				t.Logf("%s %s took %v", path, name, d)
			}
		}
		return nil
	})
	require.NoError(t, err)
	t.Logf("%d programs of %d objects", programs, objects)
}
