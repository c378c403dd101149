package main

import (
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/kernels"
)

// btfCache is where the BTF of compressed kernels is kept; nil with --no-cache. Jobs that run side by side may call it.
func (a *app) btfCache() *btffile.Cache {
	a.cacheOnce.Do(func() {
		if !a.noCache {
			a.cache = kernels.Cache()
		}
	})
	return a.cache
}
