package kernels

import (
	"os"
	"path/filepath"

	"github.com/bpfrun/bpfrun/btf/btffile"
)

// CacheVariable names the environment variable that moves or disables the cache of decompressed BTF.
const CacheVariable = "BPFRUN_CACHE"

// Cache returns the cache of decompressed BTF: in the directory in BPFRUN_CACHE, otherwise bpfrun/btf in the user's cache directory; nil with
// BPFRUN_CACHE=off and for users without a cache directory.
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
