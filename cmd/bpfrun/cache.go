package main

import (
	"os"
	"path/filepath"

	"github.com/bpfrun/bpfrun/btf/btffile"
)

// cacheVariable names the environment variable that moves the cache of unpacked BTF, or switches it off.
const cacheVariable = "BPFRUN_CACHE"

// btfCache is where the BTF of compressed kernels is kept: the directory in BPFRUN_CACHE, else bpfrun/btf in the user's
// cache directory; nil with --no-cache, with BPFRUN_CACHE=off, and for users without such a directory.
func (a *app) btfCache() *btffile.Cache {
	if a.cache != nil || a.noCache {
		return a.cache
	}
	dir := os.Getenv(cacheVariable)
	switch dir {
	case "off":
		return nil
	case "":
		user, err := os.UserCacheDir()
		if err != nil {
			return nil
		}
		dir = filepath.Join(user, "bpfrun", "btf")
	}
	a.cache = btffile.NewCache(dir, 0)
	return a.cache
}
