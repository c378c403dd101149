package pack

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
)

// Archive is an opened archive. It can be used by several goroutines.
type Archive struct {
	index index
	file  io.ReaderAt
	start int64 // of the parts in the file
	names map[string]int

	mu sync.Mutex
	// The tables and the block that were read last: kernels are mostly read in order.
	group, block int
	tables       *tables
	unpacked     []byte
	blockOf      int // group of the block
}

// Kernel is an entry of an archive.
type Kernel struct {
	Name    string
	Release string // what uname -r prints there; "" if unknown
}

// OpenFile opens an archive in a file, which is opened again whenever a kernel is read.
func OpenFile(path string) (*Archive, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	a, err := Open(file(path), info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// file reads a file that is open only then.
type file string

// ReadAt implements io.ReaderAt.
func (path file) ReadAt(p []byte, off int64) (n int, err error) {
	f, err := os.Open(string(path))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(p, off)
}

// Open reads the index of an archive of size bytes.
func Open(r io.ReaderAt, size int64) (*Archive, error) {
	head := make([]byte, headerSize)
	if size > MaxFile {
		return nil, malformed("it has %d bytes, more than %d", size, MaxFile)
	}
	if size < int64(headerSize) {
		return nil, malformed("it has %d bytes", size)
	}
	if _, err := r.ReadAt(head, 0); err != nil {
		return nil, err
	}
	if !Is(head) {
		return nil, malformed("it does not start with %s", Magic)
	}
	n := int64(binary.LittleEndian.Uint32(head[len(Magic):]))
	a := &Archive{file: r, names: map[string]int{}, group: -1, blockOf: -1}
	at := span{int64(headerSize), n}
	if !at.within(size) {
		return nil, malformed("the index has %d bytes, the archive %d", n, size)
	}
	text, err := a.unpack(at, maxIndex)
	if err != nil {
		return nil, fmt.Errorf("the index: %w", err)
	}
	a.start = at[0] + at[1]
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&a.index); err != nil {
		return nil, malformed("the index: %v", err)
	}
	for i := range a.index.Groups {
		g := &a.index.Groups[i]
		for _, s := range append([]span{g.Tables}, g.Blocks...) {
			if !s.within(size - a.start) {
				return nil, malformed("group %d has bytes %d+%d of %d", i, s[0], s[1], size-a.start)
			}
		}
	}
	for i := range a.index.Kernels {
		k := &a.index.Kernels[i]
		if !nameOK(k.Name) {
			return nil, fmt.Errorf("%w: %q", ErrName, k.Name)
		}
		if _, twice := a.names[k.Name]; twice {
			return nil, fmt.Errorf("%w: there are two kernels called %q", ErrName, k.Name)
		}
		if k.Group < 0 || k.Group >= len(a.index.Groups) || k.Block < 0 || k.Block >= len(a.index.Groups[k.Group].Blocks) || !k.At.within(maxBlock) {
			return nil, malformed("%q is in no block", k.Name)
		}
		a.names[k.Name] = i
	}
	return a, nil
}

// within reports whether a range is part of n bytes.
func (s span) within(n int64) bool { return s[0] >= 0 && s[1] >= 0 && s[0] <= n && s[1] <= n-s[0] }

// in returns the bytes of a range that is within data.
func (s span) in(data []byte) []byte { return data[s[0] : s[0]+s[1]] }

// unpack reads and decompresses a part, at most limit bytes.
func (a *Archive) unpack(at span, limit int64) ([]byte, error) {
	packed := make([]byte, at[1]) // within the file
	if _, err := a.file.ReadAt(packed, a.start+at[0]); err != nil && len(packed) > 0 {
		return nil, err
	}
	return decompress(packed, limit)
}

// Kernels returns the kernels in their order.
func (a *Archive) Kernels() []Kernel {
	out := make([]Kernel, len(a.index.Kernels))
	for i, k := range a.index.Kernels {
		out[i] = Kernel{k.Name, k.Release}
	}
	return out
}

// Raw returns the raw BTF of a kernel.
func (a *Archive) Raw(name string) ([]byte, error) {
	i, ok := a.names[name]
	if !ok {
		return nil, fmt.Errorf("%w: there is no kernel %q", ErrName, name)
	}
	k := &a.index.Kernels[i]
	t, block, err := a.read(k)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !k.At.within(int64(len(block))) {
		return nil, malformed("%q has bytes %d+%d of a block of %d", name, k.At[0], k.At[1], len(block))
	}
	raw, err := t.rebuild(k.At.in(block))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if sum := crc32.ChecksumIEEE(raw); sum != k.Sum {
		return nil, fmt.Errorf("%s: %w: its checksum is %08x, not %08x", name, ErrDamaged, sum, k.Sum)
	}
	return raw, nil
}

// ByteOrder returns the byte order of a kernel without rebuilding it; nil if it cannot be read.
func (a *Archive) ByteOrder(name string) binary.ByteOrder {
	i, ok := a.names[name]
	if !ok {
		return nil
	}
	k := &a.index.Kernels[i]
	a.mu.Lock()
	block, err := a.readBlock(k)
	a.mu.Unlock()
	if err != nil || !k.At.within(int64(len(block))) || k.At[1] == 0 {
		return nil
	}
	switch stored := k.At.in(block); stored[0] {
	case storedLittle:
		return binary.LittleEndian
	case storedBig:
		return binary.BigEndian
	default:
		order, _ := btf.IsBTF(stored[1:])
		return order
	}
}

// readBlock returns the block of a kernel. The archive is locked.
func (a *Archive) readBlock(k *entry) ([]byte, error) {
	if a.blockOf != k.Group || a.block != k.Block {
		data, err := a.unpack(a.index.Groups[k.Group].Blocks[k.Block], maxBlock)
		if err != nil {
			return nil, err
		}
		a.blockOf, a.block, a.unpacked = k.Group, k.Block, data
	}
	return a.unpacked, nil
}

// read returns the tables and the block of a kernel.
func (a *Archive) read(k *entry) (*tables, []byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := &a.index.Groups[k.Group]
	if a.group != k.Group {
		data, err := a.unpack(g.Tables, maxTables)
		if err != nil {
			return nil, nil, err
		}
		t, err := unmarshal(data)
		if err != nil {
			return nil, nil, err
		}
		a.group, a.tables = k.Group, t
	}
	block, err := a.readBlock(k)
	return a.tables, block, err
}
