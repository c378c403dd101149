package btffile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

// stored writes compressed BTF to a file and returns its path and the only entry a cache makes of it.
func stored(t *testing.T, c *Cache) (path, entry string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "kernel.btf.gz")
	require.NoError(t, os.WriteFile(path, gzBytes(t, sample(t, binary.LittleEndian)), 0o644))
	require.True(t, hasTask(t, c, path))
	list, err := filepath.Glob(filepath.Join(c.dir, "*"))
	require.NoError(t, err)
	require.Len(t, list, 1)
	return path, list[0]
}

func hasTask(t *testing.T, c *Cache, path string) bool {
	t.Helper()
	s, err := c.Load(path, nil)
	require.NoError(t, err)
	assert.Equal(t, path, s.SourceName())
	_, ok := s.Find(btf.KindStruct, "task")
	return ok
}

func TestCacheHoldsWhatWasUnpacked(t *testing.T) {
	c := NewCache(filepath.Join(t.TempDir(), "made", "when needed"), 0)
	path, entry := stored(t, c)
	// The entry is read from now on: another valid one in its place shows.
	b := btf.NewBuilder(nil)
	b.Struct("other", 8)
	raw, err := b.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	c.put(filepath.Base(entry[:len(entry)-len(entrySuffix)]), raw)
	assert.False(t, hasTask(t, c, path))
	// A file with other content has an entry of its own, whatever its name.
	require.NoError(t, os.WriteFile(path, xzBytes(t, sample(t, binary.LittleEndian)), 0o644))
	assert.True(t, hasTask(t, c, path))
}

func TestDamagedEntriesAreMadeAgain(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"a bit":        func(b []byte) []byte { b[len(b)-3] ^= 1; return b },
		"cut off":      func(b []byte) []byte { return b[:len(b)/2] },
		"header only":  func(b []byte) []byte { return b[:len(entryMagic)+2] },
		"empty":        func([]byte) []byte { return nil },
		"other format": func(b []byte) []byte { b[len(entryMagic)-1]++; return b },
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCache(t.TempDir(), 0)
			path, entry := stored(t, c)
			data, err := os.ReadFile(entry)
			require.NoError(t, err)
			good := append([]byte(nil), data...)
			require.NoError(t, os.WriteFile(entry, damage(data), 0o644))
			assert.True(t, hasTask(t, c, path))
			again, err := os.ReadFile(entry)
			require.NoError(t, err)
			assert.Equal(t, good, again)
		})
	}
}

func TestEntryThatIsNoFile(t *testing.T) {
	c := NewCache(t.TempDir(), 0)
	path, entry := stored(t, c)
	require.NoError(t, os.Remove(entry))
	require.NoError(t, os.Mkdir(entry, 0o755))
	assert.True(t, hasTask(t, c, path))
	secret := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.WriteFile(secret, nil, 0o600))
	require.NoError(t, os.Remove(entry))
	if os.Symlink(secret, entry) == nil {
		assert.True(t, hasTask(t, c, path))
		left, err := os.ReadFile(secret)
		require.NoError(t, err)
		assert.Empty(t, left, "a link is not written through")
	}
}

func TestCacheIsBounded(t *testing.T) {
	raw := sample(t, binary.LittleEndian)
	size := int64(len(raw) + len(entryMagic) + 4)
	c := NewCache(t.TempDir(), 3*size)
	for i, key := range []string{"a", "b", "c", "d", "e"} {
		c.put(key, raw)
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		require.NoError(t, os.Chtimes(c.path(key), at, at))
	}
	old := time.Now().Add(-2 * stale)
	left := filepath.Join(c.dir, "new-left")
	require.NoError(t, os.WriteFile(left, nil, 0o644))
	require.NoError(t, os.Chtimes(left, old, old))
	require.NotNil(t, c.get("c"))
	c.put("f", raw)
	for key, want := range map[string]bool{"a": false, "b": false, "c": false, "d": true, "e": true, "f": true} {
		assert.Equal(t, want, c.get(key) != nil, key)
	}
	assert.NoFileExists(t, left)
	NewCache(c.dir, size-10).put("g", raw)
	assert.Nil(t, c.get("g"), "larger than all of the cache")
}

func TestUseKeepsAnEntry(t *testing.T) {
	c := NewCache(t.TempDir(), 0)
	raw := sample(t, binary.LittleEndian)
	c.put("a", raw)
	old := time.Now().Add(-10 * refresh)
	require.NoError(t, os.Chtimes(c.path("a"), old, old))
	require.Equal(t, raw, c.get("a"))
	fi, err := os.Stat(c.path("a"))
	require.NoError(t, err)
	assert.Less(t, time.Since(fi.ModTime()), refresh)
}

func TestCacheThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	path := filepath.Join(t.TempDir(), "x.gz")
	require.NoError(t, os.WriteFile(path, gzBytes(t, sample(t, binary.LittleEndian)), 0o644))
	assert.True(t, hasTask(t, NewCache(filepath.Join(file, "below"), 0), path))
	assert.True(t, hasTask(t, nil, path))
}

// TestOneUnpacksForAll: goroutines and caches (as of several processes) that want the same content at once get it.
func TestOneUnpacksForAll(t *testing.T) {
	dir := t.TempDir()
	caches := []*Cache{NewCache(dir, 0), NewCache(dir, 0)}
	path := filepath.Join(t.TempDir(), "x.gz")
	require.NoError(t, os.WriteFile(path, gzBytes(t, sample(t, binary.LittleEndian)), 0o644))
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			s, err := caches[i%2].Load(path, nil)
			if assert.NoError(t, err) {
				_, ok := s.Find(btf.KindStruct, "task")
				assert.True(t, ok)
			}
		})
	}
	wg.Wait()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, list, 1)
}
