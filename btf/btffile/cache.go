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
// written again. A nil Cache stores nothing; an unusable directory, or one that other users can write to, is not an error.
type Cache struct {
	dir   string // "" stores nothing
	limit int64
	// mapped: files of raw BTF, and entries, are mapped; see Mapped.
	mapped bool

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
	// minMapped is the size in bytes from which files are mapped: a mapping costs as much as reading some pages.
	minMapped = 256 << 10
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

// Mapped returns a cache of the same entries, or of none if c is nil, that maps raw BTF into memory where the system can,
// instead of reading it: a kernel's is then neither copied nor paged in piece by piece. It is for processes that end
// soon, since mappings stay until then, and because a process ends with a signal if another one truncates a file that it
// has mapped.
func (c *Cache) Mapped() *Cache {
	m := NewCache("", 0)
	if c != nil {
		m = NewCache(c.dir, c.limit)
	}
	m.mapped = true
	return m
}

// stores reports whether the cache has entries that can be trusted.
func (c *Cache) stores() bool { return c != nil && c.dir != "" && private(c.dir) }

// Load is [Load] that takes the raw BTF of compressed files from the cache or adds it.
func (c *Cache) Load(path string, base *btf.Spec) (*btf.Spec, error) {
	data, err := container(path)
	if err != nil {
		return nil, err
	}
	switch {
	case data != nil:
	case c != nil && c.mapped:
		if raw, err := mapFile(path); err == nil && raw != nil && btfOnly(raw) {
			return btf.LoadBytes(path, raw, base)
		}
		fallthrough
	default:
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
	if c.stores() {
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
	if err == nil && c.stores() && in.elf == nil {
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
	data, err := c.read(path)
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

// read returns the content of an entry.
func (c *Cache) read(path string) ([]byte, error) {
	if c.mapped {
		if data, err := mapFile(path); data != nil || err != nil {
			return data, err
		}
	}
	return os.ReadFile(path)
}

// btfOnly reports whether a file's content is raw BTF.
func btfOnly(data []byte) bool { _, ok := btf.IsBTF(data); return ok }

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
