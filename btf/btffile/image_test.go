package btffile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

func TestKernelBTF(t *testing.T) {
	for _, bo := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		raw := fakeBTF(bo)
		image := append([]byte("\x9f\xeb\x01\x00\x18\x00\x00\x00 decoy "), raw...)
		image = append(image, "and more"...)

		var gz bytes.Buffer
		w := gzip.NewWriter(&gz)
		_, err := w.Write(image)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		enc, err := zstd.NewWriter(nil)
		require.NoError(t, err)

		for name, packed := range map[string][]byte{"plain": image, "gzip": gz.Bytes(), "zstd": enc.EncodeAll(image, nil)} {
			got, err := KernelBTF(append([]byte("decompressor \x1f\x8b\x08"), append(packed, "trailer"...)...))
			require.NoError(t, err, "%s %v", name, bo)
			assert.True(t, bytes.Equal(raw, got), "%s %v", name, bo)
		}
	}
	_, err := KernelBTF([]byte("nothing"))
	assert.ErrorIs(t, err, btf.ErrNoBTF)
}

func TestLZ4(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
	}{
		{"literals", "\x40abcd", "abcd"},
		{"match that overlaps itself", "\x2fab\x02\x00\x01\x10!", "ab" + "abababababababababab" + "!"},
		{"long literals", "\xf0\x01" + "0123456789abcdef", "0123456789abcdef"},
	} {
		frame := append([]byte{0x02, 0x21, 0x4c, 0x18}, binary.LittleEndian.AppendUint32(nil, uint32(len(c.in)))...)
		assert.Equal(t, c.want, string(unlz4(append(frame, c.in...))), c.name)
	}
	for _, bad := range []string{"\x10", "\x1fa\x02\x00\x00", "\x1fa\x00\x00\x00", "\xf0\xff\xff", "\x14a\x01"} {
		_, ok := lz4Block(nil, []byte(bad))
		assert.False(t, ok, "%q", bad)
	}
}

// fakeBTF is a header with sections of the size of a kernel's and nothing sensible in them.
func fakeBTF(bo binary.ByteOrder) []byte {
	const types, strings = 1 << 20, 4096
	b := make([]byte, 24+types+strings)
	bo.PutUint16(b, 0xeb9f)
	b[2] = 1
	bo.PutUint32(b[4:], 24)
	bo.PutUint32(b[12:], types)
	bo.PutUint32(b[16:], types)
	bo.PutUint32(b[20:], strings)
	return b
}

// machineCode is what testdata/code.*.xz hold: bytes that look like calls, jumps and displacements
// in all combinations. They were made with xz --check=crc32 --x86 --lzma2 and --arm --lzma2.
func machineCode() []byte {
	alphabet := []byte{0xe8, 0xe9, 0x00, 0xff, 0x12, 0x00, 0xff, 0xeb}
	out, x := make([]byte, 3000), uint32(12345)
	for i := range out {
		x = (x*1103515245 + 12345) & 0x7fffffff
		out[i] = alphabet[x>>16%8]
	}
	return out
}

func TestImagesWithManyStreams(t *testing.T) {
	_, err := KernelBTF(bytes.Repeat([]byte("\x1f\x8b\x08"), 1<<20))
	assert.ErrorIs(t, err, btf.ErrNoBTF)
}

func TestXZWithFilters(t *testing.T) {
	for _, name := range []string{"x86", "arm"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile("testdata/code." + name + ".xz")
			require.NoError(t, err)
			assert.Equal(t, machineCode(), unxz(data))
			assert.Equal(t, machineCode(), unxz(append(bytes.Clone(data), "what follows in an image"...)))
			end := len(data) - 28 // index and footer follow, which a kernel does not look at
			for i := 0; i < end; i += 41 {
				if end-i < 41+8 {
					i = end - 8 // the checksum
				}
				bad := bytes.Clone(data)
				bad[i] ^= 1
				assert.Empty(t, unxz(bad), "byte %d", i)
				assert.Empty(t, unxz(data[:i]), "cut to %d", i)
			}
		})
	}
	data, err := os.ReadFile("testdata/code.x86.xz")
	require.NoError(t, err)
	assert.Empty(t, unxz(append(data[:12:12], make([]byte, 100)...)), "an index in place of a block")
	plain := xzBytes(t, []byte("no filter"))
	assert.Equal(t, "no filter", string(unxz(plain)))
}

// bzImage is a boot sector followed by a compressed kernel.
func bzImage(t *testing.T, kernel []byte) []byte {
	image := make([]byte, 4096)
	copy(image, "MZ")
	image[0x1fe], image[0x1ff] = 0x55, 0xaa
	return append(append(image, gzBytes(t, kernel)...), "decompressor"...)
}

// kernelTypes is BTF as large as a kernel's, which parses.
func kernelTypes(t *testing.T) []byte {
	t.Helper()
	b := btf.NewBuilder(nil)
	b.Struct("task", 4, btf.Member{Name: "pid", Type: b.Int("int", 4, btf.IntSigned)})
	for i := range minKernelBTF / 40 {
		b.Struct(fmt.Sprintf("filler_%032d", i), 8)
	}
	raw, err := b.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	return raw
}

// arBytes is an archive of ar(1).
func arBytes(files ...file) []byte {
	out := []byte("!<arch>\n")
	for _, f := range files {
		out = fmt.Appendf(out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", f.name, 0, 0, 0, "100644", len(f.data))
		out = append(out, f.data...)
		if len(f.data)%2 != 0 {
			out = append(out, '\n')
		}
	}
	return out
}

func TestKernelImagesAndPackages(t *testing.T) {
	types := kernelTypes(t)
	image := bzImage(t, types)
	deb := func(pack func(*testing.T, []byte) []byte, ending string, files ...file) []byte {
		return arBytes(file{"debian-binary", []byte("2.0\n")}, file{"control.tar.gz", []byte("odd")}, file{"data.tar" + ending, pack(t, tarBytes(t, files...))})
	}
	plain := func(_ *testing.T, b []byte) []byte { return b }
	object, _ := object(t)
	decoy := file{"./usr/lib/modules/6.1/kernel/x.ko", object}
	for name, data := range map[string][]byte{
		"bzImage":       image,
		"Image.gz":      gzBytes(t, append(make([]byte, 56), append([]byte("ARM\x64"), types...)...)),
		"image.deb":     deb(xzBytes, ".xz", decoy, file{"./boot/vmlinuz-6.1.0-1-amd64", image}),
		"binary.deb":    deb(zstdBytes, ".zst", decoy, file{"./usr/lib/modules/7.2/vmlinuz", image}),
		"plain.deb":     deb(plain, "", decoy, file{"boot/vmlinux-6.1-powerpc64le", types}),
		"debug.deb":     deb(gzBytes, ".gz", file{"./usr/lib/debug/boot/vmlinux-6.1.0-1-amd64", types}),
		"zst image.deb": deb(gzBytes, ".gz", file{"./boot/vmlinuz-6.1", zstdBytes(t, image)}),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := LoadBytes(name, data, nil)
			require.NoError(t, err)
			_, ok := s.Find(btf.KindStruct, "task")
			assert.True(t, ok)
			for _, n := range []int{len(data) / 2, 600, 100, 9} {
				_, err := LoadBytes("cut", data[:n], nil)
				assert.Error(t, err, "cut to %d", n)
			}
		})
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"no kernel":     {deb(xzBytes, ".xz", decoy), btf.ErrNoBTF},
		"without BTF":   {bzImage(t, []byte("no types")), btf.ErrNoBTF},
		"other archive": {deb(plain, ".lzma", file{}), btf.ErrNoBTF},
		"no data":       {arBytes(file{"debian-binary", []byte("2.0\n")}, file{"x", nil}), btf.ErrTruncated},
		"data unknown":  {arBytes(file{"debian-binary", []byte("2.0\n")}, file{"data.tar.lzma", make([]byte, 1000)}), btf.ErrNotBTF},
		"bad size":      {bytes.Replace(deb(plain, ""), []byte("4         `"), []byte("-4        `"), 1), btf.ErrTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadBytes(name, c.data, nil)
			assert.ErrorIs(t, err, c.want)
		})
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(arBytes(file{"debian-binary", []byte("2.0\n")}, file{"data.tar", make([]byte, 1024)}))
	for _, name := range []string{"x86", "arm"} {
		data, err := os.ReadFile("testdata/code." + name + ".xz")
		require.NoError(f, err)
		f.Add(data)
		image := make([]byte, 1024)
		image[0x1fe], image[0x1ff] = 0x55, 0xaa
		f.Add(append(image, data...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = LoadBytes("fuzzed", data, nil)
		unxz(data)
	})
}
