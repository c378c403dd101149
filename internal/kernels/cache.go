package kernels

import (
	"os"
	"path/filepath"

	"github.com/bpfrun/bpfrun/btf/btffile"
)

// CacheVariable names the environment variable that moves the cache of unpacked BTF, or switches it off.
const CacheVariable = "BPFRUN_CACHE"

// Cache returns where the BTF of compressed kernels is kept: the directory in BPFRUN_CACHE, else bpfrun/btf in the user's
// cache directory; nil with BPFRUN_CACHE=off, and for users without such a directory.
func Cache() *btffile.Cache {
	dir := os.Getenv(CacheVariable)
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
	return btffile.NewCache(dir, 0)
}
