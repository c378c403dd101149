package main

import (
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/kernels"
)

// btfCache is where the BTF of compressed kernels is kept; nil with --no-cache.
func (a *app) btfCache() *btffile.Cache {
	if a.cache == nil && !a.noCache {
		a.cache = kernels.Cache()
	}
	return a.cache
}
