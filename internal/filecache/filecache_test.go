package filecache

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func dir(t *testing.T, limit int64) *Dir {
	return &Dir{Path: filepath.Join(t.TempDir(), "made when needed"), Suffix: ".x", Magic: "magic-1", Limit: limit, Largest: 1 << 20}
}

func TestDirIsBounded(t *testing.T) {
	content := bytes.Repeat([]byte("x"), block-100)
	d := dir(t, 3*block)
	for i, key := range []string{"a", "b", "c", "d", "e"} {
		d.Put(key, content)
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		require.NoError(t, os.Chtimes(d.File(key), at, at))
	}
	old := time.Now().Add(-2 * stale)
	left, other := filepath.Join(d.Path, unfinished+"left"), filepath.Join(d.Path, "other.y")
	for _, path := range []string{left, other} {
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		require.NoError(t, os.Chtimes(path, old, old))
	}
	require.Equal(t, content, d.Get("c"))
	d.Put("f", content)
	d.Trim()
	for key, want := range map[string]bool{"a": false, "b": false, "c": false, "d": true, "e": true, "f": true} {
		assert.Equal(t, want, d.Get(key) != nil, key)
	}
	assert.NoFileExists(t, left)
	assert.FileExists(t, other, "not an entry")
	d.Put("g", bytes.Repeat(content, 4))
	assert.Nil(t, d.Get("g"), "larger than all of the directory")
	small := dir(t, 2*block)
	for _, key := range []string{"a", "b", "c"} {
		small.Put(key, []byte{1})
	}
	small.Trim()
	list, err := os.ReadDir(small.Path)
	require.NoError(t, err)
	assert.Len(t, list, 2, "small entries take a block")
}

func TestUseKeepsAnEntry(t *testing.T) {
	d := dir(t, 1<<20)
	d.Put("a", []byte("content"))
	old := time.Now().Add(-10 * refresh)
	require.NoError(t, os.Chtimes(d.File("a"), old, old))
	require.Equal(t, []byte("content"), d.Get("a"))
	fi, err := os.Stat(d.File("a"))
	require.NoError(t, err)
	assert.Less(t, time.Since(fi.ModTime()), refresh)
}

func TestDamagedEntriesAreDropped(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"a bit":       func(b []byte) []byte { b[len(b)-3] ^= 1; return b },
		"cut off":     func(b []byte) []byte { return b[:len(b)-1] },
		"longer":      func(b []byte) []byte { return append(b, 0) },
		"header only": func(b []byte) []byte { return b[:9] },
		"empty":       func([]byte) []byte { return nil },
		"format":      func(b []byte) []byte { b[6]++; return b },
	} {
		t.Run(name, func(t *testing.T) {
			d := dir(t, 1<<20)
			d.Put("a", []byte("some content"))
			data, err := os.ReadFile(d.File("a"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(d.File("a"), damage(data), 0o644))
			assert.Nil(t, d.Get("a"))
			assert.NoFileExists(t, d.File("a"))
		})
	}
	d := dir(t, 1<<20)
	d.Put("a", []byte("content"))
	d.Largest = 3
	assert.Nil(t, d.Get("a"), "too large to read")
}

// Writers and readers in several processes see whole entries only.
func TestEntriesAreWhole(t *testing.T) {
	d := dir(t, 1<<20)
	versions := [][]byte{bytes.Repeat([]byte("a"), 10_000), bytes.Repeat([]byte("b"), 20_000)}
	d.Put("k", versions[0])
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			own := &Dir{Path: d.Path, Suffix: d.Suffix, Magic: d.Magic, Limit: d.Limit, Largest: d.Largest}
			for range 50 {
				own.Put("k", versions[i%2])
				got := own.Get("k")
				assert.True(t, bytes.Equal(got, versions[0]) || bytes.Equal(got, versions[1]))
			}
		})
	}
	wg.Wait()
	list, err := os.ReadDir(d.Path)
	require.NoError(t, err)
	assert.Len(t, list, 1)
}

func TestDirThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for _, d := range []*Dir{nil, {}, {Path: filepath.Join(file, "below"), Limit: 100, Largest: 100}} {
		if d.Usable() {
			d.Put("a", []byte{1})
			assert.Nil(t, d.Get("a"))
		}
	}
}
