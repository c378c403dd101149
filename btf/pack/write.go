package pack

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

const (
	// fullTables is the size in bytes of tables above which a new group begins, so that reading a
	// kernel does not cost more with every other one.
	fullTables = 24 << 20
	// fullBlock is the size in bytes above which a new block begins.
	fullBlock = 1 << 20
)

// Writer collects the kernels of an archive. Start with [NewWriter].
type Writer struct {
	index index
	data  []byte // compressed tables and blocks
	group *builder
	block []byte
	names map[string]bool
	parts map[string]part // of the group
}

// part is where a kernel is.
type part struct {
	block int
	at    span
}

// NewWriter returns a Writer without kernels.
func NewWriter() *Writer {
	return &Writer{names: map[string]bool{}, index: index{Groups: []group{}, Kernels: []entry{}}}
}

// Add adds a kernel's types, which must not continue a base. The name is unique and part of a path;
// the release is what uname -r prints there, "" if that is not known.
func (w *Writer) Add(name, release string, spec *btf.Spec) error {
	switch {
	case w.names[name]:
		return fmt.Errorf("%w: there are two kernels called %q", ErrName, name)
	case !nameOK(name):
		return fmt.Errorf("%w: %q", ErrName, name)
	case spec.Base() != nil:
		return fmt.Errorf("%s: a module's types are not those of a kernel", name)
	}
	w.names[name] = true
	if w.group == nil {
		w.group, w.parts = newBuilder(), map[string]part{}
		w.index.Groups = append(w.index.Groups, group{Blocks: []span{}})
	}
	g := &w.index.Groups[len(w.index.Groups)-1]
	raw := spec.Raw()
	stored := w.group.encode(spec)
	if again, err := w.group.rebuild(stored); stored == nil || err != nil || !bytes.Equal(again, raw) {
		stored = append([]byte{storedRaw}, raw...)
	}
	p, known := w.parts[string(stored)]
	if !known {
		p = part{len(g.Blocks), span{int64(len(w.block)), int64(len(stored))}}
		w.block = append(w.block, stored...)
		w.parts[string(stored)] = p
	}
	w.index.Kernels = append(w.index.Kernels, entry{Name: name, Release: release, Group: len(w.index.Groups) - 1, Block: p.block, At: p.at, Sum: crc32.ChecksumIEEE(raw)})
	if len(w.block) >= fullBlock {
		if err := w.endBlock(); err != nil {
			return err
		}
	}
	if w.group.size >= fullTables {
		return w.endGroup()
	}
	return nil
}

// nameOK reports whether a kernel can be called so.
func nameOK(name string) bool {
	const longest = 255
	return name != "" && name != "." && name != ".." && len(name) <= longest && !strings.ContainsAny(name, "/\\\x00")
}

// add compresses and appends data.
func (w *Writer) add(data []byte) (span, error) {
	packed, err := compress(data)
	at := span{int64(len(w.data)), int64(len(packed))}
	w.data = append(w.data, packed...)
	return at, err
}

func (w *Writer) endBlock() error {
	if len(w.block) == 0 {
		return nil
	}
	at, err := w.add(w.block)
	g := &w.index.Groups[len(w.index.Groups)-1]
	g.Blocks = append(g.Blocks, at)
	w.block = nil
	return err
}

func (w *Writer) endGroup() error {
	if w.group == nil {
		return nil
	}
	err := w.endBlock()
	at, err2 := w.add(w.group.marshal())
	w.index.Groups[len(w.index.Groups)-1].Tables = at
	w.group, w.parts = nil, nil
	return errors.Join(err, err2)
}

// WriteTo ends the archive and writes it.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	if err := w.endGroup(); err != nil {
		return 0, err
	}
	text, err := json.Marshal(w.index)
	if err != nil {
		return 0, err
	}
	packed, err := compress(text)
	if err != nil {
		return 0, err
	}
	head := binary.LittleEndian.AppendUint32([]byte(Magic), uint32(len(packed)))
	if n := len(head) + len(packed) + len(w.data); n > MaxFile {
		return 0, fmt.Errorf("an archive of %d bytes is larger than the limit of %d", n, MaxFile)
	}
	return io.Copy(out, io.MultiReader(bytes.NewReader(head), bytes.NewReader(packed), bytes.NewReader(w.data)))
}
