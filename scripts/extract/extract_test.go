package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEmbeddedObjects(t *testing.T) {
	a, err := os.ReadFile("../../examples/exec/exec.bpf.o")
	require.NoError(t, err)
	b, err := os.ReadFile("../../examples/xdp/xdp.bpf.o")
	require.NoError(t, err)
	host, err := os.ReadFile("../../testdata/objects/clang-14/x86.o")
	require.NoError(t, err)

	exe := bytes.Join([][]byte{host, []byte("padding"), a, b, []byte("\x7fELF cut short")}, nil)
	assert.Equal(t, [][]byte{a, b}, embeddedObjects(exe))
	assert.Empty(t, embeddedObjects(host))
	assert.Empty(t, embeddedObjects(a[:len(a)-1]), "an image that is cut off is none")

	prefix := filepath.Join(t.TempDir(), "tool")
	require.NoError(t, writeObjects("exe", prefix, embeddedObjects(exe)))
	got, err := os.ReadFile(prefix + ".1.o")
	require.NoError(t, err)
	assert.Equal(t, b, got)
	assert.Error(t, writeObjects("exe", prefix, nil))
}

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
			got, err := kernelBTF(append([]byte("decompressor \x1f\x8b\x08"), append(packed, "trailer"...)...))
			require.NoError(t, err, "%s %v", name, bo)
			assert.True(t, bytes.Equal(raw, got), "%s %v", name, bo)
		}
	}
	_, err := kernelBTF([]byte("nothing"))
	assert.ErrorIs(t, err, errNoBTF)
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
