package main

import (
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/kernels"
)

// fewKernels is the number of kernels up to which commands keep indexes of their types, and short
// commands map their files. The mappings stay until the command ends, and count as its memory.
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
		switch {
		case k.short && k.few:
			k.unpacked = k.unpacked.Mapped()
		case k.few:
			k.unpacked = k.unpacked.Indexed()
		}
	})
	return k.unpacked
}
