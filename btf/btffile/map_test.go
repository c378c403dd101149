package btffile

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

// large returns raw BTF that is long enough to be mapped.
func large(t *testing.T) []byte {
	t.Helper()
	b := btf.NewBuilder(nil)
	i := b.Int("int", 4, btf.IntSigned)
	for n := 0; n < minMapped/24; n++ {
		b.Struct(fmt.Sprintf("struct_%d", n), 4, btf.Member{Name: "m", Type: i})
	}
	raw, err := b.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	require.Greater(t, len(raw), minMapped)
	return raw
}

// TestMappedFilesAreReadAlike: files, entries of the cache, small files and damaged ones have the
// same results when the cache maps files.
func TestMappedFilesAreReadAlike(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o644))
		return path
	}
	raw := large(t)
	damaged := append([]byte(nil), raw...)
	damaged[24+7] = 31 // the kind of the first type
	elf := append([]byte("\x7fELF"), raw[4:]...)
	paths := []string{
		write("large.btf", raw), write("large.btf.gz", gzBytes(t, raw)), write("small.btf", sample(t, binary.LittleEndian)),
		write("damaged.btf", damaged), write("cut.btf", raw[:len(raw)-1]), write("elf.btf", elf), write("empty.btf", nil), filepath.Join(dir, "missing.btf"), dir,
	}
	read := NewCache(filepath.Join(dir, "cache"), 0)
	for name, mapped := range map[string]*Cache{"cache": read.Mapped(), "no cache": (*Cache)(nil).Mapped(), "indexes": read.Indexed()} {
		for _, path := range paths {
			want, wantErr := read.Load(path, nil)
			for range 2 { // the second time from the entry
				got, err := mapped.Load(path, nil)
				if wantErr != nil {
					assert.EqualError(t, err, wantErr.Error(), "%s: %s", name, path)
					continue
				}
				require.NoError(t, err, "%s: %s", name, path)
				assert.Equal(t, want.Raw(), got.Raw(), "%s: %s", name, path)
				assert.Equal(t, want.SourceName(), got.SourceName())
				assert.Equal(t, want.NumTypes(), got.NumTypes())
			}
		}
	}
}

// TestMappedEntryIsChecked: an entry that is mapped is refused when it is damaged, and made again.
func TestMappedEntryIsChecked(t *testing.T) {
	c := NewCache(t.TempDir(), 0).Mapped()
	path := filepath.Join(t.TempDir(), "large.btf.gz")
	require.NoError(t, os.WriteFile(path, gzBytes(t, large(t)), 0o644))
	_, err := c.Load(path, nil)
	require.NoError(t, err)
	list, err := filepath.Glob(filepath.Join(c.files.Path, "*"+c.files.Suffix))
	require.NoError(t, err)
	require.Len(t, list, 1)
	data, err := os.ReadFile(list[0])
	require.NoError(t, err)
	changed := append([]byte(nil), data...)
	changed[len(changed)-3] ^= 1
	require.NoError(t, os.WriteFile(list[0], changed, 0o600))
	_, err = c.Load(path, nil)
	require.NoError(t, err)
	again, err := os.ReadFile(list[0])
	require.NoError(t, err)
	assert.Equal(t, data, again)
}
