package fromdwarf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrELF is returned for an ELF file that no section can be added to.
var ErrELF = errors.New("cannot add a section to this ELF file")

// byteOrder reads and appends integers.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// Section is a section to add to a file.
type Section struct {
	Name    string
	Content []byte
}

// AddSections copies a 64-bit ELF file of size bytes to w and adds the sections, replacing existing
// ones of the same names. The file's contents keep their offsets; the new sections, the section
// names and the section headers are appended. Errors are [ErrELF] or those of w and file.
func AddSections(w io.Writer, file io.ReaderAt, size int64, add ...Section) error {
	const header = 64
	head := make([]byte, header)
	if _, err := file.ReadAt(head, 0); err != nil || string(head[:4]) != elf.ELFMAG || elf.Class(head[4]) != elf.ELFCLASS64 {
		return fmt.Errorf("%w: want a 64-bit ELF file", ErrELF)
	}
	order := byteOrder(binary.LittleEndian)
	if elf.Data(head[5]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	at, each, count, names := order.Uint64(head[40:]), order.Uint16(head[58:]), order.Uint16(head[60:]), order.Uint16(head[62:])
	if each != header || count == 0 || names >= count || at > uint64(size) || uint64(count)*header > uint64(size)-at {
		return fmt.Errorf("%w: its section headers are malformed", ErrELF)
	}
	t := table{order: order, headers: make([]byte, int(count)*header), names: int(names), end: size}
	if _, err := file.ReadAt(t.headers, int64(at)); err != nil && err != io.EOF {
		return fmt.Errorf("%w: %w", ErrELF, err)
	}
	strs := t.header(t.names)
	strOff, strSize := order.Uint64(strs[24:]), order.Uint64(strs[32:])
	if strOff > uint64(size) || strSize > uint64(size)-strOff || strSize > maxNames {
		return fmt.Errorf("%w: its section names are malformed", ErrELF)
	}
	t.strings = make([]byte, strSize)
	if _, err := file.ReadAt(t.strings, int64(strOff)); err != nil && err != io.EOF {
		return fmt.Errorf("%w: %w", ErrELF, err)
	}
	for _, s := range add {
		if err := t.add(s); err != nil {
			return err
		}
	}
	tail := t.finish()
	order.PutUint64(head[40:], uint64(t.at))
	order.PutUint16(head[60:], uint16(len(t.headers)/header))
	for _, part := range []io.Reader{bytes.NewReader(head), io.NewSectionReader(file, header, size-header), bytes.NewReader(tail)} {
		if _, err := io.Copy(w, part); err != nil {
			return err
		}
	}
	return nil
}

// maxNames limits the bytes of section names.
const maxNames = 64 << 20

// table holds the section headers of a file and the bytes to append.
type table struct {
	order   byteOrder
	headers []byte
	names   int // section index of the section names
	strings []byte
	end     int64 // size of the original file
	tail    []byte
	at      int64 // offset of the new headers
}

func (t *table) header(i int) []byte { return t.headers[i*64 : i*64+64] }

// place aligns the end of the file and returns its offset.
func (t *table) place(align int64) int64 {
	for (t.end+int64(len(t.tail)))%align != 0 {
		t.tail = append(t.tail, 0)
	}
	return t.end + int64(len(t.tail))
}

func (t *table) add(s Section) error {
	found := -1
	for i := range len(t.headers) / 64 {
		off := uint64(t.order.Uint32(t.header(i)))
		if end := off + uint64(len(s.Name)); end < uint64(len(t.strings)) && string(t.strings[off:end]) == s.Name && t.strings[end] == 0 {
			found = i
		}
	}
	if found < 0 {
		found = len(t.headers) / 64
		if found >= int(elf.SHN_LORESERVE) {
			return fmt.Errorf("%w: it has %d sections", ErrELF, found)
		}
		h := make([]byte, 64)
		t.order.PutUint32(h, uint32(len(t.strings)))
		t.order.PutUint32(h[4:], uint32(elf.SHT_PROGBITS))
		t.order.PutUint64(h[48:], 4)
		t.headers = append(t.headers, h...)
		t.strings = append(append(t.strings, s.Name...), 0)
	}
	h := t.header(found)
	if elf.SectionFlag(t.order.Uint64(h[8:]))&elf.SHF_ALLOC != 0 {
		return fmt.Errorf("%w: %s is part of the program's memory", ErrELF, s.Name)
	}
	t.order.PutUint64(h[24:], uint64(t.place(4)))
	t.order.PutUint64(h[32:], uint64(len(s.Content)))
	t.tail = append(t.tail, s.Content...)
	return nil
}

// finish appends names and headers and returns all bytes to append.
func (t *table) finish() []byte {
	h := t.header(t.names)
	t.order.PutUint64(h[24:], uint64(t.place(1)))
	t.order.PutUint64(h[32:], uint64(len(t.strings)))
	t.tail = append(t.tail, t.strings...)
	t.at = t.place(8)
	return append(t.tail, t.headers...)
}
