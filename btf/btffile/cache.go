package btffile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/filecache"
)

// Cache stores the raw BTF of compressed files, since decompressing a kernel's BTF takes ten times
// as long as parsing it. Entries are files ([filecache.Dir]) named by the SHA-256 of the compressed
// content: renamed and copied files are found again, changed files are not. Damaged entries are
// written again. A nil Cache stores nothing.
type Cache struct {
	files *filecache.Dir
	index *filecache.Dir // nil for none: see Indexed
	// mapped: files of raw BTF, and entries, are mapped; see Mapped.
	mapped bool

	mu      sync.Mutex
	loading map[string]chan struct{} // entries being unpacked by this process
}

const (
	// DefaultLimit is the size in bytes above which a cache removes the least recently used
	// entries: the BTF of about a hundred kernels.
	DefaultLimit = 512 << 20
	// minMapped is the size in bytes from which files are mapped: a mapping costs as much as
	// reading some pages.
	minMapped = 256 << 10
	// indexLimit is DefaultLimit for indexes, which are a quarter of the types' size.
	indexLimit = DefaultLimit / 4
)

// NewCache returns a cache in a directory, which is created when the first entry is stored. It
// holds at most limit bytes, or DefaultLimit if limit is 0.
func NewCache(dir string, limit int64) *Cache {
	if limit <= 0 {
		limit = DefaultLimit
	}
	c := &Cache{loading: map[string]chan struct{}{}}
	c.files = &filecache.Dir{Path: dir, Suffix: ".btf", Magic: "bpfrun-btf-1", Limit: limit, Largest: btf.MaxRaw, Read: c.read}
	return c
}

// Indexed returns a cache of the same entries that keeps the indexes of kernels' types beside them
// ([btf.Spec.Index]), those of files with raw BTF, too, so that the next process does not make them
// again. It is for processes that read few kernels: to write an index takes as long as to make it.
func (c *Cache) Indexed() *Cache {
	if c == nil {
		return nil
	}
	return c.with(false)
}

// Mapped returns a cache of the same entries, or of none if c is nil, that maps raw BTF into memory
// where the system can, instead of reading it: a kernel's is then neither copied nor paged in piece
// by piece. It keeps indexes, too. It is for processes that end soon, since mappings stay until
// then, and because a process ends with a signal if another one truncates a file that it has mapped.
func (c *Cache) Mapped() *Cache {
	if c == nil {
		c = NewCache("", 0)
	}
	return c.with(true)
}

func (c *Cache) with(mapped bool) *Cache {
	m := NewCache(c.files.Path, c.files.Limit)
	m.mapped = mapped
	m.index = &filecache.Dir{Path: m.files.Path, Suffix: ".idx", Magic: "bpfrun-idx-1", Limit: indexLimit, Largest: btf.MaxRaw, Read: m.read}
	return m
}

// stores reports whether the cache has entries that can be trusted.
func (c *Cache) stores() bool { return c != nil && c.files.Usable() }

// Refusal returns why the cache's directory cannot be trusted, as a line for users, or nil.
func (c *Cache) Refusal() error {
	if c == nil {
		return nil
	}
	return c.files.Refusal()
}

// Load is [Load] that takes the raw BTF of compressed files from the cache or adds it.
func (c *Cache) Load(path string, base *btf.Spec) (*btf.Spec, error) {
	if spec, ok, err := loadPacked(path); ok {
		return spec, err
	}
	data, err := container(path)
	if err != nil {
		return nil, err
	}
	switch {
	case data != nil:
	case c != nil && c.index != nil:
		if raw, key, err := c.readFile(path); err == nil && raw != nil && btfOnly(raw) {
			return c.parse(path, raw, key, base)
		}
		fallthrough
	default:
		return btf.Load(path, base)
	}
	return c.loadBytes(path, data, "", base)
}

// LoadBytes is [Cache.Load] for the content of a file. name is used in messages and as the Spec's
// source name.
func (c *Cache) LoadBytes(name string, data []byte, base *btf.Spec) (*btf.Spec, error) {
	return c.loadBytes(name, data, "", base)
}

// LoadKnown is [Cache.LoadBytes] for data whose SHA-256 digest is known, in hexadecimal.
func (c *Cache) LoadKnown(name string, data []byte, digest string) (*btf.Spec, error) {
	return c.loadBytes(name, data, digest, nil)
}

func (c *Cache) loadBytes(name string, data []byte, key string, base *btf.Spec) (*btf.Spec, error) {
	if !isContainer(data) {
		return btf.LoadBytes(name, data, base)
	}
	if c.stores() {
		if key == "" {
			sum := sha256.Sum256(data)
			key = hex.EncodeToString(sum[:])
		}
		defer c.enter(key)()
		if raw := c.files.Get(key); raw != nil {
			if spec, err := c.parse(name, raw, key, base); err == nil {
				return spec, nil
			}
			c.files.Drop(key)
		}
	}
	in, err := unpack(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	spec, err := in.spec(name, base)
	if err == nil && c.stores() && in.elf == nil {
		c.files.Put(key, in.raw)
		c.files.Trim()
		c.keepIndex(key, spec)
	}
	return spec, err
}

// parse is [btf.LoadBytes] with the index that is kept under a key, or kept for the next time. A key
// is "" if nothing identifies the content.
func (c *Cache) parse(name string, raw []byte, key string, base *btf.Spec) (*btf.Spec, error) {
	if base == nil && key != "" && c.index.Usable() {
		if index := c.index.Get(key); index != nil {
			if spec, ok := btf.LoadIndexed(name, raw, index); ok {
				return spec, nil
			}
			c.index.Drop(key)
		}
	}
	spec, err := btf.LoadBytes(name, raw, base)
	if err == nil && key != "" {
		c.keepIndex(key, spec)
	}
	return spec, err
}

// keepIndex keeps the index of the types of a kernel.
func (c *Cache) keepIndex(key string, spec *btf.Spec) {
	if c.index.Usable() && spec.Base() == nil && len(spec.Raw()) >= minMapped {
		c.index.Put(key, spec.Index())
		c.index.Trim()
	}
}

// fileKey is the key of the index of a file's types, "" if nothing but its content identifies it, or
// if the file changed while it was read.
func fileKey(before, after fs.FileInfo) string {
	now := time.Now()
	id := filecache.Identity(before, now)
	if id == "" || id != filecache.Identity(after, now) {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// enter waits while another goroutine unpacks the same content, and returns what ends this one's
// turn.
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

// read returns the content of an entry.
func (c *Cache) read(path string) ([]byte, error) {
	if c.mapped {
		if data, _, err := c.readFile(path); data != nil || err != nil {
			return data, err
		}
	}
	return os.ReadFile(path)
}

// readFile maps or reads a regular file of minMapped to btf.MaxRaw bytes, and returns its fileKey.
// data is nil for other files, and if the system cannot map it.
func (c *Cache) readFile(path string) (data []byte, key string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Size() < minMapped || fi.Size() > btf.MaxRaw {
		return nil, "", err
	}
	if c.mapped {
		data = mapFile(f, int(fi.Size()))
	} else {
		data = make([]byte, fi.Size())
		_, err = io.ReadFull(f, data)
	}
	after, errAfter := f.Stat()
	if err = errors.Join(err, errAfter); err != nil {
		return nil, "", err
	}
	return data, fileKey(fi, after), nil
}

// btfOnly reports whether a file's content is raw BTF.
func btfOnly(data []byte) bool { _, ok := btf.IsBTF(data); return ok }
