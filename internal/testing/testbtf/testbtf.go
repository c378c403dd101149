// Package testbtf loads kernels' types once for all tests of a package. It is for tests only.
package testbtf

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
)

// Decompressing a kernel's types takes longer than most tests. What one test binary has unpacked,
// the next ones read: entries are found by the content of the compressed file, so that they are
// never stale.
var cache = btffile.NewCache(filepath.Join(os.TempDir(), "bpfrun-test-btf"), 64<<20)

var loaded sync.Map // of path: func() (*btf.Spec, error)

// Load returns the types in a file. Tests share them, as they share those of package embedded.
func Load(path string) (*btf.Spec, error) {
	key, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	load, _ := loaded.LoadOrStore(key, sync.OnceValues(func() (*btf.Spec, error) { return cache.Load(path, nil) }))
	return load.(func() (*btf.Spec, error))()
}
