package btf

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
)

// bomb compresses start and then n zeros.
func bomb(t *testing.T, open func(io.Writer) (io.WriteCloser, error), start []byte, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := open(&out)
	require.NoError(t, err)
	_, err = w.Write(start)
	require.NoError(t, err)
	zeros := make([]byte, 1<<20)
	for ; n > 0; n -= len(zeros) {
		_, err = w.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// TestBombsTakeNoMemory: decompression ends after the first bytes when these are neither BTF nor ELF, and at the ceiling of raw BTF
// otherwise; what is allocated meanwhile stays near that.
func TestBombsTakeNoMemory(t *testing.T) {
	formats := map[string]func(io.Writer) (io.WriteCloser, error){
		"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
		"xz":   func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	}
	s, _ := buildSample(t, binary.LittleEndian)
	const mb = 1 << 20
	for format, open := range formats {
		for _, c := range []struct {
			name  string
			start []byte
			size  int
			want  error
			most  uint64 // bytes allocated
		}{
			{"no BTF", []byte("just text"), 128 * mb, ErrNotBTF, 32 * mb},
			{"BTF", s.Raw(), maxRaw, ErrTooLarge, maxRaw + 64*mb},
		} {
			if format == "xz" { // its writer is slow
				c.size = min(c.size, 32*mb)
				if c.want == ErrTooLarge {
					continue
				}
			}
			data := bomb(t, open, c.start, c.size)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := LoadBytes("bomb", data, nil)
			runtime.ReadMemStats(&after)
			assert.ErrorIs(t, err, c.want, "%s of %s", format, c.name)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, c.most, "%s of %s", format, c.name)
		}
	}
}

func TestLargeDictionariesAreRefused(t *testing.T) {
	var out bytes.Buffer
	w, err := xz.WriterConfig{DictCap: 1 << 20}.NewWriter(&out)
	require.NoError(t, err)
	_, err = w.Write([]byte("data"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	data := out.Bytes()
	assert.EqualValues(t, 1<<20, xzDictionary(data))
	for _, c := range []struct {
		code byte
		size int64
	}{{0, 4096}, {1, 6144}, {30, 128 << 20}, {31, 192 << 20}, {40, 4 << 30}} {
		data[12+4] = c.code // after the header's size, its flags, the filter and the size of its properties
		assert.Equal(t, c.size, xzDictionary(data), "%d", c.code)
		_, err := LoadBytes("x", data, nil)
		if c.size > maxWindow {
			assert.ErrorIs(t, err, ErrTooLarge, "%d", c.code)
		}
	}
}

func TestCompressedELFInChunks(t *testing.T) {
	s, x := buildSample(t, binary.LittleEndian)
	// .BTF lies across the border of two chunks.
	data := buildELF(elf.ELFCLASS64, binary.LittleEndian, section{".text", make([]byte, chunkSize-100)}, section{".BTF", s.Raw()}, section{".rodata", make([]byte, chunkSize)})
	got, err := LoadBytes("vmlinux.gz", gzBytes(t, data), nil)
	require.NoError(t, err)
	assert.Equal(t, "task", got.Name(x.task))
}
