package btffile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/btf"
)

// Cache stores the raw BTF of compressed files, since decompressing a kernel's BTF takes ten times as long as parsing it.
// Entries are files in a directory, named by the SHA-256 of the compressed content: renamed and copied files are found again, changed files
// are not. Processes may share a directory: entries are written to temporary files and renamed, and damaged ones are removed and
// written again. A nil Cache stores nothing; an unusable directory is not an error.
type Cache struct {
	dir   string
	limit int64

	mu      sync.Mutex
	loading map[string]chan struct{} // entries being unpacked by this process
}

const (
	// DefaultLimit is the size in bytes above which a cache removes the least recently used entries: the BTF of about a hundred kernels.
	DefaultLimit = 512 << 20
	// entrySuffix is the extension of entries, stale the age at which unfinished ones are removed.
	entrySuffix = ".btf"
	stale       = time.Hour
	// refresh is the age at which an entry's time of last use is renewed.
	refresh = 24 * time.Hour
)

// entryMagic starts each entry; the number is the format's version. A CRC-32C of the BTF follows, 4 bytes little-endian, then the BTF.
var entryMagic = []byte("bpfrun-btf-1")

// NewCache returns a cache in a directory, which is created when the first entry is stored. It holds at most limit bytes, or DefaultLimit if
// limit is 0.
func NewCache(dir string, limit int64) *Cache {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Cache{dir: dir, limit: limit, loading: map[string]chan struct{}{}}
}

// Load is [Load] that takes the raw BTF of compressed files from the cache or adds it.
func (c *Cache) Load(path string, base *btf.Spec) (*btf.Spec, error) {
	data, err := container(path)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return btf.Load(path, base)
	}
	return c.loadBytes(path, data, base)
}

// LoadBytes is [Cache.Load] for the content of a file. name is used in messages and as the Spec's source name.
func (c *Cache) LoadBytes(name string, data []byte, base *btf.Spec) (*btf.Spec, error) {
	return c.loadBytes(name, data, base)
}

func (c *Cache) loadBytes(name string, data []byte, base *btf.Spec) (*btf.Spec, error) {
	if !isContainer(data) {
		return btf.LoadBytes(name, data, base)
	}
	key := ""
	if c != nil {
		sum := sha256.Sum256(data)
		key = hex.EncodeToString(sum[:])
		defer c.enter(key)()
		if raw := c.get(key); raw != nil {
			if spec, err := btf.LoadBytes(name, raw, base); err == nil {
				return spec, nil
			}
			c.drop(key)
		}
	}
	in, err := unpack(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	spec, err := in.spec(name, base)
	if err == nil && c != nil && in.elf == nil {
		c.put(key, in.raw)
	}
	return spec, err
}

// enter waits while another goroutine unpacks the same content, and returns what ends this one's turn.
func (c *Cache) enter(key string) (leave func()) {
	for {
		c.mu.Lock()
		wait := c.loading[key]
		if wait == nil {
			break
		}
		c.mu.Unlock()
		<-wait
	}
	done := make(chan struct{})
	c.loading[key] = done
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		delete(c.loading, key)
		c.mu.Unlock()
		close(done)
	}
}

func (c *Cache) path(key string) string { return filepath.Join(c.dir, key+entrySuffix) }

// get returns the raw BTF of an entry, nil when it is missing or damaged.
func (c *Cache) get(key string) []byte {
	path := c.path(key)
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > btf.MaxRaw+64 {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	body, ok := bytes.CutPrefix(data, entryMagic)
	if !ok || len(body) < 4 || checksum(body[4:]) != binary.LittleEndian.Uint32(body) {
		c.drop(key)
		return nil
	}
	if now := time.Now(); now.Sub(fi.ModTime()) > refresh {
		_ = os.Chtimes(path, now, now) // only the order of eviction suffers
	}
	return body[4:]
}

func (c *Cache) drop(key string) { _ = os.Remove(c.path(key)) }

// put stores raw BTF and evicts old entries. Failures are ignored.
func (c *Cache) put(key string, raw []byte) {
	if int64(len(raw)) > c.limit || os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(c.dir, "new-*")
	if err != nil {
		return
	}
	head := binary.LittleEndian.AppendUint32(bytes.Clone(entryMagic), checksum(raw))
	_, err = f.Write(head)
	if err == nil {
		_, err = f.Write(raw)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), c.path(key))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return
	}
	c.evict()
}

// evict removes the least recently used entries until the rest is within the limit, and stale unfinished ones.
func (c *Cache) evict() {
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var entries []fs.FileInfo
	var total int64
	for _, e := range list {
		fi, err := e.Info()
		if err != nil || !fi.Mode().IsRegular() {
			continue
		}
		switch {
		case strings.HasSuffix(fi.Name(), entrySuffix):
			entries = append(entries, fi)
			total += fi.Size()
		case strings.HasPrefix(fi.Name(), "new-") && time.Since(fi.ModTime()) > stale:
			_ = os.Remove(filepath.Join(c.dir, fi.Name()))
		}
	}
	slices.SortFunc(entries, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, e := range entries {
		if total <= c.limit {
			return
		}
		if os.Remove(filepath.Join(c.dir, e.Name())) == nil {
			total -= e.Size()
		}
	}
}

func checksum(raw []byte) uint32 { return crc32.Checksum(raw, crc32.MakeTable(crc32.Castagnoli)) }
