package btffile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// sample is BTF of one struct.
func sample(t testing.TB, order binary.ByteOrder) []byte {
	t.Helper()
	b := btf.NewBuilder(nil)
	b.Struct("task", 4, btf.Member{Name: "pid", Type: b.Int("int", 4, btf.IntSigned)})
	raw, err := b.Marshal(order)
	require.NoError(t, err)
	return raw
}

// object is an ELF file with BTF, and the name of a struct in it.
func object(t testing.TB) ([]byte, string) {
	t.Helper()
	data, err := os.ReadFile("../../examples/exec/exec.bpf.o")
	require.NoError(t, err)
	return data, "event"
}

type file struct {
	name string
	data []byte
}

func xzBytes(t *testing.T, b []byte) []byte {
	var out bytes.Buffer
	w, err := xz.NewWriter(&out)
	require.NoError(t, err)
	_, err = w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func gzBytes(t *testing.T, b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func zstdBytes(t *testing.T, b []byte) []byte {
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return w.EncodeAll(b, nil)
}

func tarBytes(t *testing.T, files ...file) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.data)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}))
		_, err := w.Write(f.data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestLoadContainers(t *testing.T) {
	raw := sample(t, binary.LittleEndian)
	object, event := object(t)
	archive := tarBytes(t, file{"README", []byte("nothing")}, file{"5.4.0.btf", raw})
	for name, c := range map[string]struct {
		data []byte
		want string // a struct in it
	}{
		"raw": {raw, "task"}, "elf": {object, event}, "raw.xz": {xzBytes(t, raw), "task"}, "raw.gz": {gzBytes(t, raw), "task"},
		"raw.zst": {zstdBytes(t, raw), "task"}, "elf.xz": {xzBytes(t, object), event}, "btf.tar.xz": {xzBytes(t, archive), "task"},
		"btf.tar": {archive, "task"}, "btf.tar.gz": {gzBytes(t, archive), "task"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := LoadBytes("x", c.data, nil)
			require.NoError(t, err)
			_, ok := got.Find(btf.KindStruct, c.want)
			assert.True(t, ok)
			assert.Equal(t, "x", got.SourceName())
			path := filepath.Join(t.TempDir(), "odd-name")
			require.NoError(t, os.WriteFile(path, c.data, 0o644))
			got, err = Load(path, nil)
			require.NoError(t, err)
			assert.Equal(t, path, got.SourceName())
			for _, n := range []int{len(c.data) / 2, len(c.data) - 1, 10, 3} {
				if name != "btf.tar" || n < 100 { // a tar may lack its end
					_, err = LoadBytes("cut", c.data[:n], nil)
					if name != "raw.xz" || n != len(c.data)-1 {
						assert.Error(t, err, "cut to %d", n)
					}
				}
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	zip := sample(t, binary.BigEndian)
	for range maxLayers + 1 {
		zip = gzBytes(t, zip)
	}
	for name, tt := range map[string]struct {
		data []byte
		want error
	}{
		"text":        {[]byte("#!/bin/sh\n"), btf.ErrNotBTF},
		"bad xz":      {[]byte("\xfd7zXZ\x00nonsense, all of it"), btf.ErrTruncated},
		"bad gzip":    {[]byte("\x1f\x8bnonsense"), btf.ErrTruncated},
		"bad zstd":    {[]byte("\x28\xb5\x2f\xfdnonsense"), btf.ErrTruncated},
		"empty tar":   {tarBytes(t, file{"a", []byte("b")}), btf.ErrNoBTF},
		"many layers": {zip, btf.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadBytes(name, tt.data, nil)
			require.ErrorIs(t, err, tt.want)
			assert.ErrorContains(t, err, name)
		})
	}
	_, err := Load(filepath.Join(t.TempDir(), "none"), nil)
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = Load(t.TempDir(), nil)
	assert.Error(t, err)
}

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

// TestBombsTakeNoMemory: decompression ends after the first bytes when these are neither BTF nor
// ELF, and at the ceiling of raw BTF otherwise; what is allocated meanwhile stays near that.
func TestBombsTakeNoMemory(t *testing.T) {
	if testing.Short() || !testsize.Wide() {
		t.Skip("unpacks gigabytes in one goroutine: with BPFRUN_WIDE, without -short")
	}
	formats := map[string]func(io.Writer) (io.WriteCloser, error){
		"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
		"xz":   func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	}
	raw := sample(t, binary.LittleEndian)
	const mb = 1 << 20
	for format, open := range formats {
		for _, c := range []struct {
			name  string
			start []byte
			size  int
			want  error
			most  uint64 // bytes allocated
		}{
			{"no BTF", []byte("just text"), 128 * mb, btf.ErrNotBTF, 32 * mb},
			{"BTF", raw, btf.MaxRaw, btf.ErrTooLarge, btf.MaxRaw + 64*mb},
		} {
			if format == "xz" { // its writer is slow
				c.size = min(c.size, 32*mb)
				if c.want == btf.ErrTooLarge {
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

// TestMembersHaveTheCeilingsOfFiles: so do the members of an archive, whatever size they say they
// have.
func TestMembersHaveTheCeilingsOfFiles(t *testing.T) {
	if testing.Short() || !testsize.Wide() {
		t.Skip("unpacks gigabytes in one goroutine: with BPFRUN_WIDE, without -short")
	}
	const mb = 1 << 20
	zip := func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }
	for name, c := range map[string]struct {
		start []byte
		want  error
		most  uint64
	}{
		"text": {[]byte("just text"), btf.ErrTruncated, 32 * mb},
		"BTF":  {sample(t, binary.LittleEndian), btf.ErrTooLarge, btf.MaxRaw + 64*mb},
	} {
		var header bytes.Buffer
		w := tar.NewWriter(&header)
		require.NoError(t, w.WriteHeader(&tar.Header{Name: "linux-6.1.1-amd64.btf", Typeflag: tar.TypeReg, Mode: 0o644, Size: 1 << 40}))
		path := filepath.Join(t.TempDir(), "kernels.tar.gz")
		require.NoError(t, os.WriteFile(path, bomb(t, zip, append(header.Bytes(), c.start...), btf.MaxRaw+8*mb), 0o600))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := Each(path, func(string, *btf.Spec) error { return nil })
		runtime.ReadMemStats(&after)
		assert.ErrorIs(t, err, c.want, name)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, c.most, name)
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
			assert.ErrorIs(t, err, btf.ErrTooLarge, "%d", c.code)
		}
	}
}

func TestCompressedELFInChunks(t *testing.T) {
	object, event := object(t)
	for _, pad := range []int{0, chunkSize} {
		data := append(bytes.Clone(object), make([]byte, pad)...)
		got, err := LoadBytes("vmlinux.gz", gzBytes(t, data), nil)
		require.NoError(t, err)
		_, ok := got.Find(btf.KindStruct, event)
		assert.True(t, ok)
	}
	c := &chunks{len: chunkSize + 10, list: [][]byte{bytes.Repeat([]byte{1}, chunkSize), bytes.Repeat([]byte{2}, 10)}}
	p := make([]byte, 8)
	n, err := c.ReadAt(p, chunkSize-4)
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 1, 1, 1, 2, 2, 2, 2}, p[:n])
	n, err = c.ReadAt(p, chunkSize+6)
	assert.Equal(t, 4, n)
	assert.ErrorIs(t, err, io.EOF)
}

func FuzzLoadBytes(f *testing.F) {
	raw := sample(f, binary.LittleEndian)
	f.Add(raw)
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(raw)
	_ = w.Close()
	f.Add(b.Bytes())
	f.Add([]byte("\xfd7zXZ\x00\x00\x04"))
	f.Add([]byte("\x28\xb5\x2f\xfd\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := LoadBytes("fuzz", data, nil); err == nil {
			_ = btf.DumpRaw(io.Discard, s)
		}
	})
}
