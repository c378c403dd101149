package main

import (
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/kernels"
)

// btfCache is where the BTF of compressed kernels is kept; nil with --no-cache. Jobs that run side by side may call it.
func (k *kernelFlags) types() *btffile.Cache {
	k.cacheOnce.Do(func() {
		if !k.noCache {
			k.unpacked = kernels.Cache()
		}
	})
	return k.unpacked
}
