package btffile

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestByteOrder(t *testing.T) {
	elf, _ := object(t)
	little, big := sample(t, binary.LittleEndian), sample(t, binary.BigEndian)
	// The first bytes of these are enough: what follows is cut off.
	noise := make([]byte, 4<<20)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	long := append(append([]byte(nil), big...), noise...)
	packed := xzBytes(t, little)
	for _, tt := range []struct {
		name string
		data []byte
		want binary.ByteOrder
	}{
		{"raw", little, binary.LittleEndian},
		{"raw, other order", big, binary.BigEndian},
		{"xz", xzBytes(t, big), binary.BigEndian},
		{"gzip", gzBytes(t, big), binary.BigEndian},
		{"zstd", zstdBytes(t, little), binary.LittleEndian},
		{"xz in gzip", gzBytes(t, xzBytes(t, big)), binary.BigEndian},
		{"too many layers", gzBytes(t, gzBytes(t, gzBytes(t, gzBytes(t, gzBytes(t, big))))), nil},
		{"gzip, cut off", gzBytes(t, long)[:1<<20], binary.BigEndian},
		{"xz, cut off in its first chunk", packed[:20], nil},
		{"ELF", elf, nil},
		{"text", []byte("not BTF"), nil},
		{"empty", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kernel")
			require.NoError(t, os.WriteFile(path, tt.data, 0o600))
			assert.Equal(t, tt.want, ByteOrder(path))
		})
	}
	assert.Nil(t, ByteOrder(filepath.Join(t.TempDir(), "missing")))
}
