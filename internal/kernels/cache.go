package kernels

import (
	"os"
	"path/filepath"

	"github.com/bpfrun/bpfrun/btf/btffile"
)

// CacheVariable names the environment variable that moves or disables the user's caches.
const CacheVariable = "BPFRUN_CACHE"

// cacheOff is its value for no caches.
const cacheOff = "off"

// CacheDir returns the directory of one of the user's caches: below the directory in BPFRUN_CACHE,
// otherwise below bpfrun in the user's cache directory; "" with BPFRUN_CACHE=off and for users
// without a cache directory.
func CacheDir(name string) string {
	switch dir := os.Getenv(CacheVariable); dir {
	case cacheOff:
		return ""
	case "":
		if user, err := os.UserCacheDir(); err == nil {
			return filepath.Join(user, "bpfrun", name)
		}
		return ""
	default:
		return filepath.Join(dir, name)
	}
}

// Cache returns the cache of decompressed BTF, which is in the directory in BPFRUN_CACHE itself;
// nil if there is none.
func Cache() *btffile.Cache {
	dir := TypesDir()
	if dir == "" {
		return nil
	}
	return btffile.NewCache(dir, 0)
}

// TypesDir returns the directory of the cache of decompressed BTF; "" if there is none.
func TypesDir() string {
	if moved := os.Getenv(CacheVariable); moved != "" && moved != cacheOff {
		return moved
	}
	return CacheDir("btf")
}
