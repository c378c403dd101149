// Package embedded contains the BTF of one kernel, so that objects run without a BTF file. Start at
// [Spec].
//
// With the build tag apart the BTF is not in the program: whoever starts it gives the file (Give),
// as a page does that loads program and types at the same time.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package embedded

import (
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
)

const (
	// Name is the kernel's name in output.
	Name = "linux-6.12.107-amd64"
	// Release is its release as `uname -r` prints it.
	Release = "6.12.107+deb13-amd64"
	// Arch is its architecture as `uname -m` prints it.
	Arch = "x86_64"
	// digest is the SHA-256 of the file, under which caches have it: computing it takes a millisecond.
	digest = "2a69872bee9f255b39c9ac0d9220c7ddc200f70e2930e9279c734b0803eb6a04"
)

var (
	once    sync.Once
	spec    *btf.Spec
	failure error
)

// Load returns the BTF of the embedded kernel. The first call decompresses it, or takes it from the
// cache, which may be nil; all calls return the same Spec, which is safe for concurrent use.
func Load(cache *btffile.Cache) (*btf.Spec, error) {
	once.Do(func() { spec, failure = cache.LoadKnown(Name, compressed, digest) })
	return spec, failure
}

// Spec is [Load] without a cache.
func Spec() (*btf.Spec, error) { return Load(nil) }
