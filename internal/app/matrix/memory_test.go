package matrix

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/loader"
)

// TestClosedKernelsAreFreed: what is kept of a run refers to no kernel's types, neither by a name
// that is part of the raw BTF nor by a pointer.
func TestClosedKernelsAreFreed(t *testing.T) {
	objects := open(t, "examples/exec/exec.bpf.o", "examples/tp_btf/tp_btf.bpf.o", "examples/unlink/unlink.bpf.o", "examples/xdp/xdp.bpf.o",
		"examples/rawtp/rawtp.bpf.o", "testdata/objects/clang-14/missing.o", "testdata/objects/clang-14/sections.o", "testdata/objects/clang-14/faults.o", "testdata/objects/clang-14/bykey.o")
	var held []weak.Pointer[byte]
	var all []Kernel
	for _, name := range []string{k510, k72} {
		all = append(all, Kernel{Name: name, Open: func() (*loader.Target, error) {
			packed, err := btffile.Load(filepath.Join("../../../testdata/btf", name+".btf.xz"), nil)
			if err != nil {
				return nil, err
			}
			raw := append([]byte(nil), packed.Raw()...)
			held = append(held, weak.Make(&raw[0]))
			spec, err := btf.Parse(raw, nil)
			return loader.NewTarget(name, spec), err
		}})
	}
	r := newRunner(t.Context(), objects, all, Config{Parallel: 1})
	r.run()
	require.Len(t, held, 2)
	for i, p := range held {
		assert.Eventually(t, func() bool { runtime.GC(); return p.Value() == nil }, 10*time.Second, time.Millisecond, "the types of %s are still in memory", all[i].Name)
	}
	runtime.KeepAlive(r)
}
