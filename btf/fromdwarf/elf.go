package fromdwarf

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrELF is an ELF file into which no section can be put.
var ErrELF = errors.New("cannot add a section to this ELF file")

// AddSection returns a copy of a 64-bit ELF file with a section of that name, which takes the place of one that is there. What the file
// had stays where it was; the section, names and headers of sections are appended.
func AddSection(file []byte, name string, content []byte) ([]byte, error) {
	if len(file) < 64 || string(file[:4]) != elf.ELFMAG || elf.Class(file[4]) != elf.ELFCLASS64 {
		return nil, fmt.Errorf("%w: want a 64-bit ELF file", ErrELF)
	}
	var order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	} = binary.LittleEndian
	if elf.Data(file[5]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	const header = 64
	at, size, count, names := order.Uint64(file[40:]), order.Uint16(file[58:]), order.Uint16(file[60:]), order.Uint16(file[62:])
	if size != header || count == 0 || names >= count || at > uint64(len(file)) || uint64(count)*header > uint64(len(file))-at {
		return nil, fmt.Errorf("%w: its section headers are malformed", ErrELF)
	}
	headers := append([]byte(nil), file[at:at+uint64(count)*header]...)
	strs := headers[int(names)*header:]
	strOff, strSize := order.Uint64(strs[24:]), order.Uint64(strs[32:])
	if strOff > uint64(len(file)) || strSize > uint64(len(file))-strOff {
		return nil, fmt.Errorf("%w: its section names are malformed", ErrELF)
	}
	table := append([]byte(nil), file[strOff:strOff+strSize]...)
	out := append([]byte(nil), file...)
	pad := func(n int) {
		for len(out)%n != 0 {
			out = append(out, 0)
		}
	}
	pad(4)
	place := len(out)
	out = append(out, content...)
	found := -1
	for i := range int(count) {
		off := order.Uint32(headers[i*header:])
		if end := uint64(off) + uint64(len(name)); end < strSize && string(table[off:end]) == name && table[end] == 0 {
			found = i
		}
	}
	if found < 0 {
		found = int(count)
		h := make([]byte, header)
		order.PutUint32(h, uint32(len(table)))
		order.PutUint32(h[4:], uint32(elf.SHT_PROGBITS))
		order.PutUint64(h[48:], 4)
		headers = append(headers, h...)
		table = append(append(table, name...), 0)
		count++
	}
	h := headers[found*header:]
	if elf.SectionFlag(order.Uint64(h[8:]))&elf.SHF_ALLOC != 0 {
		return nil, fmt.Errorf("%w: %s is part of the program's memory", ErrELF, name)
	}
	order.PutUint64(h[24:], uint64(place))
	order.PutUint64(h[32:], uint64(len(content)))
	strs = headers[int(names)*header:]
	order.PutUint64(strs[24:], uint64(len(out)))
	order.PutUint64(strs[32:], uint64(len(table)))
	out = append(out, table...)
	pad(8)
	order.PutUint64(out[40:], uint64(len(out)))
	order.PutUint16(out[60:], count)
	return append(out, headers...), nil
}
