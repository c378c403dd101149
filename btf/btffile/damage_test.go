package btffile

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// lz4Frame is a stream of the legacy format: blocks of literals and matches.
func lz4Frame(blocks ...string) []byte {
	out := []byte{0x02, 0x21, 0x4c, 0x18}
	for _, b := range blocks {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(b)))
		out = append(out, b...)
	}
	return out
}

// TestDamagedFilesAreToldInTheSameWords changes each byte near the ends of files of all formats, and
// compares the error, or the types.
func TestDamagedFilesAreToldInTheSameWords(t *testing.T) {
	raw := sample(t, binary.LittleEndian)
	var small bytes.Buffer // with a small dictionary, which takes little time
	w, err := xz.WriterConfig{DictCap: 1 << 16, CheckSum: xz.CRC32}.NewWriter(&small)
	require.NoError(t, err)
	_, err = w.Write(raw)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	load := func(data []byte) string {
		s, err := LoadBytes("x", data, nil)
		if err != nil {
			text, _, _ := strings.Cut(err.Error(), "unexpected literal count") // the rest depends on the processor
			return text
		}
		return fmt.Sprintf("loaded\t%x", s.Raw())
	}
	unlz4 := func(b []byte) []byte {
		if len(b) < 4 {
			return nil // the magic number was found
		}
		return unlz4(b)
	}
	unpacked := func(unpack func([]byte) []byte) func([]byte) string {
		return func(data []byte) string { return fmt.Sprintf("%t\t%x", unpack(data) != nil, unpack(data)) }
	}
	deb := arBytes(file{"debian-binary", []byte("2.0\n")}, file{"x", []byte("odd")}, file{"data.tar", tarBytes(t, file{"./boot/x", raw})})
	var all rewrite.Outcomes
	for name, c := range map[string]struct {
		data []byte
		say  func([]byte) string
	}{
		"xz": {small.Bytes(), load}, "zstd": {zstdBytes(t, raw), load}, "deb": {deb, load},
		"tar":    {tarBytes(t, file{"a", []byte("no types")}, file{"b", raw}), load},
		"block":  {small.Bytes(), unpacked(unxz)},
		"lz4":    {lz4Frame("\x2fab\x02\x00\x01\x10!", "\xf0\x01"+"0123456789abcdef", "\x40abcd"), unpacked(unlz4)},
		"filter": {[]byte{0x40 | 0x80 | 1, 0x81, 1, 2, filterX86, 0, filterLZMA2, 1, 20, 0}, func(b []byte) string { l, ok := xzFilters(b); return fmt.Sprint(ok, "\t", l) }},
		"size":   {small.Bytes()[:24], func(b []byte) string { return fmt.Sprint("size\t", xzDictionary(b)) }},
	} {
		for at := range c.data {
			if at == 64 && len(c.data) > 2000 { // what is compressed has its own checksums
				break
			}
			for i, v := range []byte{c.data[at] + 1, c.data[at] - 1, c.data[at] ^ 0x80, 0, 0xff} {
				if len(c.data) > 100 && i != at%5 || name == "xz" && at == 16 || name == "block" && at == 16 {
					continue // (a dictionary's size)
				}
				bad := bytes.Clone(c.data)
				bad[at] = v
				all.Add(fmt.Sprintf("%s: byte %d is %#x", name, at, v), c.say(bad))
			}
			all.Add(fmt.Sprintf("%s: cut to %d", name, at), c.say(c.data[:at:at]))
		}
	}
	all.Compare(t, filepath.Join("testdata", "damage.txt"))
}

// TestWhichMembersOfArchivesHaveTypes: archives in archives are not searched, and what cannot have
// types is left out.
func TestWhichMembersOfArchivesHaveTypes(t *testing.T) {
	raw, types := sample(t, binary.LittleEndian), kernelTypes(t)
	elf, _ := object(t)
	image := bzImage(t, types)
	inner := tarBytes(t, file{"in", raw})
	for _, c := range []struct {
		name  string
		data  []byte
		found bool
	}{
		{"raw", raw, true}, {"elf", elf, true}, {"xz", xzBytes(t, raw), true}, {"gz", gzBytes(t, raw), true}, {"zstd", zstdBytes(t, raw), true},
		{"elf.gz", gzBytes(t, elf), true}, {"image", image, true}, {"deb", arBytes(file{"debian-binary", []byte("2.0\n")}, file{"data.tar", tarBytes(t, file{"./boot/vmlinuz-6.1", image})}), true},
		{"tar", inner, false}, {"text", []byte("text"), false}, {"empty", nil, false}, {"text.gz", gzBytes(t, []byte("text")), false},
		{"image without types", bzImage(t, []byte("none")), false},
	} {
		path := filepath.Join(t.TempDir(), "kernels.tar")
		var names []string
		note := func(name string, _ *btf.Spec) error { names = append(names, name); return nil }
		for _, pack := range []func(*testing.T, []byte) []byte{gzBytes, func(_ *testing.T, b []byte) []byte { return b }} {
			names = nil
			require.NoError(t, os.WriteFile(path, pack(t, tarBytes(t, file{"first", []byte("text")}, file{c.name, c.data}, file{"last", raw})), 0o600))
			require.NoError(t, Each(path, note), c.name)
			want := []string{"last"}
			if c.found {
				want = []string{c.name, "last"}
			}
			assert.Equal(t, want, names, c.name)
		}
		require.NoError(t, os.WriteFile(path, tarBytes(t, file{c.name, c.data}), 0o600))
		if err := Each(path, note); c.found {
			assert.NoError(t, err, c.name)
		} else {
			assert.ErrorIs(t, err, btf.ErrNoBTF, c.name)
		}
	}
	// Links and directories are no files.
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "link", Linkname: "to", Typeflag: tar.TypeSymlink}))
	require.NoError(t, w.Close())
	_, err := LoadBytes("x", out.Bytes(), nil)
	assert.ErrorIs(t, err, btf.ErrNoBTF)
}

// TestUnpackedBytesAreLimited: as many as the limit are read, and then no more.
func TestUnpackedBytesAreLimited(t *testing.T) {
	for _, size := range []int64{0, 9, 10} {
		b := &bounded{r: io.LimitReader(zeros{}, size), what: "zeros", left: 10}
		got, err := io.ReadAll(b)
		assert.Len(t, got, int(size))
		if size < 10 {
			assert.NoError(t, err)
		} else { // whether more would follow is not asked
			assert.ErrorIs(t, err, btf.ErrTooLarge)
		}
	}
	for _, c := range []struct {
		size, limit int64
		want        error
	}{{10, 10, nil}, {11, 10, btf.ErrTooLarge}, {chunkSize + 1, chunkSize + 1, nil}, {chunkSize + 1, chunkSize, btf.ErrTooLarge}} {
		got, err := readChunks(io.LimitReader(zeros{}, c.size), c.limit)
		if assert.ErrorIs(t, err, c.want); c.want == nil {
			assert.Equal(t, c.size, got.len)
			assert.Len(t, got.join(), int(c.size))
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
