package main

import (
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/kernels"
)

// types returns the cache for the BTF of compressed kernels, or nil with --no-cache. It is safe for concurrent use.
func (k *kernelFlags) types() *btffile.Cache {
	k.cacheOnce.Do(func() {
		if !k.noCache {
			k.unpacked = kernels.Cache()
		}
	})
	return k.unpacked
}
