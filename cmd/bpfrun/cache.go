package main

import (
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/kernels"
)

// fewKernels is the number of kernels up to which short commands map files of types. The mappings
// stay until the command ends, and count as its memory.
const fewKernels = 4

// types returns the cache for the BTF of compressed kernels, or nil with --no-cache. It is safe for
// concurrent use.
func (k *kernelFlags) types() *btffile.Cache {
	k.cacheOnce.Do(func() {
		if !k.noCache {
			k.unpacked = kernels.Cache()
			if err := k.unpacked.Refusal(); err != nil {
				k.console.note("%v", err)
			}
		}
		if k.short && k.few {
			k.unpacked = k.unpacked.Mapped()
		}
	})
	return k.unpacked
}
