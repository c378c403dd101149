package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/bpfrun/bpfrun/btf"
)

// Magic starts an archive.
const Magic = "BTFPACK1"

const (
	// headerSize is the size in bytes of what comes before the index: the magic and the length of
	// the compressed index.
	headerSize = len(Magic) + 4
	// MaxFile limits the size in bytes of an archive.
	MaxFile = 1 << 30
	// maxIndex limits the size in bytes of the index.
	maxIndex = 64 << 20
	// maxTables limits the size in bytes of the tables of a group.
	maxTables = 64 << 20
	// maxBlock limits the size in bytes of a block: raw BTF at most.
	maxBlock = btf.MaxRaw + 4096
	// window is the largest window in bytes of compressed parts.
	window = 8 << 20
)

// Errors of archives; test with [errors.Is].
var (
	// ErrFormat: the archive is malformed.
	ErrFormat = errors.New("malformed archive of kernels")
	// ErrDamaged: a kernel's content is not what was added.
	ErrDamaged = errors.New("damaged archive of kernels")
	// ErrName: two kernels of one name, or a name that cannot be part of a path.
	ErrName = errors.New("not a name for a kernel in an archive")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// Is reports whether data, the start of a file, is that of an archive.
func Is(data []byte) bool { return bytes.HasPrefix(data, []byte(Magic)) }

// index is the archive's table of contents, in JSON.
type index struct {
	Groups  []group `json:"groups"`
	Kernels []entry `json:"kernels"`
}

// group is kernels with common tables. Ranges are offset and length in bytes, from the end of the
// index.
type group struct {
	Tables span   `json:"tables"`
	Blocks []span `json:"blocks"`
}

type span [2]int64

// entry is a kernel: where it is in the unpacked blocks of its group, and the checksum (CRC-32,
// IEEE) of its raw BTF.
type entry struct {
	Name    string `json:"name"`
	Release string `json:"release,omitempty"`
	Group   int    `json:"group"`
	Block   int    `json:"block"`
	At      span   `json:"at"`
	Sum     uint32 `json:"crc32"`
}

// How a kernel is stored: the first byte of its part of a block.
const (
	storedRaw    = iota // raw BTF follows
	storedLittle        // types by the group's tables, words in little-endian order
	storedBig
)

// The order of the sections of raw BTF: the second byte, unless it is stored raw.
const (
	typesFirst = iota
	stringsFirst
)

// Columns of a group's tables, in this order. Each is preceded by its length; numbers are unsigned
// varints, and signed ones in zigzag order.
const (
	colStrings = iota // strings, each with a zero byte
	colInfo           // of each node: the info word, whose kind and vlen say which words follow
	colLabel          // of each node: its label, as the difference to the previous node's plus one
	colName           // words that name: the string's index
	colID             // words that are ids: a label; 0 for void
	colNumber         // other words
	columns
)

// compress returns a zstd frame.
func compress(data []byte) ([]byte, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return nil, err
	}
	return z.EncodeAll(data, nil), errors.Join(z.Close())
}

// decompress unpacks a frame of at most limit bytes.
func decompress(data []byte, limit int64) ([]byte, error) {
	z, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, malformed("%v", err)
	}
	defer z.Close()
	out, err := io.ReadAll(io.LimitReader(z, limit+1))
	if err != nil {
		return nil, malformed("%v", err)
	}
	if int64(len(out)) > limit {
		return nil, malformed("more than %d bytes after decompression", limit)
	}
	return out, nil
}

// input reads numbers and bytes. After the first error it returns zeros.
type input struct {
	data []byte
	err  error
}

func (in *input) fail(format string, args ...any) {
	if in.err == nil {
		in.err = malformed(format, args...)
	}
	in.data = nil
}

// uint reads a number that is less than limit.
func (in *input) uint(limit uint64) uint64 {
	v, n := binary.Uvarint(in.data)
	if n <= 0 || v >= limit {
		if in.err == nil && n > 0 {
			in.fail("a number is %d where less than %d is possible", v, limit)
		}
		in.fail("it ends within a number")
		return 0
	}
	in.data = in.data[n:]
	return v
}

// word reads 32 bits.
func (in *input) word() uint32 { return uint32(in.uint(1 << 32)) }

// near reads a number that is less than limit, as its difference to expected.
func (in *input) near(expected, limit uint64) uint64 {
	d := in.uint(1 << 34)
	v := int64(expected) + (int64(d>>1) ^ -int64(d&1))
	if v < 0 || uint64(v) >= limit {
		in.fail("a number is %d where less than %d is possible", v, limit)
		return 0
	}
	return uint64(v)
}

// bytes reads a length and that many bytes, which are not copied.
func (in *input) bytes() []byte {
	n := in.uint(uint64(len(in.data)) + 1)
	if n > uint64(len(in.data)) {
		in.fail("%d bytes where %d are left", n, len(in.data))
		return nil
	}
	out := in.data[:n:n]
	in.data = in.data[n:]
	return out
}

// appendNear appends v as its difference to expected.
func appendNear(out []byte, v, expected uint64) []byte {
	d := int64(v) - int64(expected)
	return binary.AppendUvarint(out, uint64(d<<1)^uint64(d>>63))
}

func appendBytes(out, data []byte) []byte {
	return append(binary.AppendUvarint(out, uint64(len(data))), data...)
}
