//go:build linux

package btffile

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/filecache"
)

// TestIndexesAreKept: files and entries have one index each, which the next process uses; a damaged
// one is made again, and a changed file has another one.
func TestIndexesAreKept(t *testing.T) {
	t.Run("mapped", func(t *testing.T) { testIndexesAreKept(t, (*Cache).Mapped) })
	t.Run("read", func(t *testing.T) { testIndexesAreKept(t, (*Cache).Indexed) })
}

func testIndexesAreKept(t *testing.T, indexed func(*Cache) *Cache) {
	t.Parallel() // it waits for the time to pass
	dir := t.TempDir()
	raw := large(t)
	file, packed := filepath.Join(dir, "large.btf"), filepath.Join(dir, "large.btf.gz")
	require.NoError(t, os.WriteFile(file, raw, 0o644))
	require.NoError(t, os.WriteFile(packed, gzBytes(t, raw), 0o644))
	stored := NewCache(filepath.Join(dir, "cache"), 0)
	load := func(path string) *btf.Spec {
		t.Helper()
		s, err := indexed(stored).Load(path, nil)
		require.NoError(t, err)
		id, ok := s.FindID(btf.KindStruct, "struct_77")
		assert.True(t, ok)
		assert.Equal(t, "struct_77", s.Name(id))
		return s
	}
	indexes := func() []string {
		list, err := filepath.Glob(filepath.Join(dir, "cache", "*.idx"))
		require.NoError(t, err)
		return list
	}
	load(file)
	assert.Empty(t, indexes(), "the file changed just now: its next change may have the same time")
	time.Sleep(filecache.Settled + 100*time.Millisecond)
	load(file)
	require.Len(t, indexes(), 1)
	good, err := os.ReadFile(indexes()[0])
	require.NoError(t, err)

	// What is kept is used, even if it has fewer types.
	whole := load(file)
	other := append([]byte(nil), whole.Index()...)
	other[36]-- // the number of types
	other[40]++ // and that of names, which starts with the last type now
	c := indexed(stored)
	key := filepath.Base(indexes()[0])
	c.index.Put(key[:len(key)-len(".idx")], other)
	used, err := c.Load(file, nil)
	require.NoError(t, err)
	assert.Equal(t, len(other), len(good)-16)
	assert.Equal(t, whole.NumTypes()-1, used.NumTypes())

	damaged := append([]byte(nil), good...)
	damaged[len(damaged)-9] ^= 4
	require.NoError(t, os.WriteFile(indexes()[0], damaged, 0o600))
	load(file)
	again, err := os.ReadFile(indexes()[0])
	require.NoError(t, err)
	assert.Equal(t, good, again)

	load(packed)
	load(packed)
	require.Len(t, indexes(), 2)
	require.NoError(t, os.WriteFile(file, raw, 0o644))
	time.Sleep(filecache.Settled + 100*time.Millisecond)
	load(file)
	assert.Len(t, indexes(), 3)

	_, err = indexed(nil).Load(file, nil)
	require.NoError(t, err)
	_, err = stored.Load(file, nil)
	require.NoError(t, err)
	assert.Len(t, indexes(), 3)
}

// TestFilesThatChangeWhileTheyAreReadHaveNoKey: what was read is neither of before nor of after.
func TestFilesThatChangeWhileTheyAreReadHaveNoKey(t *testing.T) {
	t.Parallel() // it waits for the time to pass
	path := filepath.Join(t.TempDir(), "file")
	stat := func() os.FileInfo {
		time.Sleep(filecache.Settled + 100*time.Millisecond)
		fi, err := os.Stat(path)
		require.NoError(t, err)
		return fi
	}
	require.NoError(t, os.WriteFile(path, []byte("one"), 0o644))
	before := stat()
	assert.NotEmpty(t, fileKey(before, before))
	require.NoError(t, os.WriteFile(path, []byte("two"), 0o644))
	require.NoError(t, os.Chtimes(path, before.ModTime(), before.ModTime()))
	after := stat()
	assert.Empty(t, fileKey(before, after))
	assert.NotEqual(t, fileKey(before, before), fileKey(after, after))
}
