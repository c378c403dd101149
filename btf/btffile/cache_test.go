package btffile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

// stored writes compressed BTF to a file and returns its path and the only entry a cache makes of
// it.
func stored(t *testing.T, c *Cache) (path, entry string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "kernel.btf.gz")
	require.NoError(t, os.WriteFile(path, gzBytes(t, sample(t, binary.LittleEndian)), 0o644))
	require.True(t, hasTask(t, c, path))
	list, err := filepath.Glob(filepath.Join(c.files.Path, "*"))
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
	c.files.Put(filepath.Base(entry[:len(entry)-len(c.files.Suffix)]), raw)
	assert.False(t, hasTask(t, c, path))
	// A file with other content has an entry of its own, whatever its name.
	require.NoError(t, os.WriteFile(path, xzBytes(t, sample(t, binary.LittleEndian)), 0o644))
	assert.True(t, hasTask(t, c, path))
}

func TestDamagedEntriesAreMadeAgain(t *testing.T) {
	magic := len(NewCache("", 0).files.Magic)
	for name, damage := range map[string]func([]byte) []byte{
		"a bit":        func(b []byte) []byte { b[len(b)-3] ^= 1; return b },
		"cut off":      func(b []byte) []byte { return b[:len(b)/2] },
		"header only":  func(b []byte) []byte { return b[:magic+2] },
		"empty":        func([]byte) []byte { return nil },
		"other format": func(b []byte) []byte { b[magic-1]++; return b },
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

func TestCacheThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	path := filepath.Join(t.TempDir(), "x.gz")
	require.NoError(t, os.WriteFile(path, gzBytes(t, sample(t, binary.LittleEndian)), 0o644))
	assert.True(t, hasTask(t, NewCache(filepath.Join(file, "below"), 0), path))
	assert.True(t, hasTask(t, nil, path))
}

// TestOneUnpacksForAll: goroutines and caches (as of several processes) that want the same content
// at once get it.
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
