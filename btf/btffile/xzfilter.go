package btffile

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// Filters of the .xz file format (section 5.4). Kernels are compressed with a filter for machine
// code before LZMA2, which package xz does not implement.
const (
	filterX86   = 0x04
	filterARM   = 0x07
	filterLZMA2 = 0x21
)

// xzCheckCRC32 is the check of kernel images: the kernel's decompressor supports no other.
const xzCheckCRC32 = 1

// unxz decompresses the first block of an .xz stream, as the kernel's decompressor does
// (Documentation/staging/xz.rst): LZMA2, with or without a filter for x86 or arm code. It returns
// nil for other data and when the checksum does not match.
func unxz(b []byte) []byte {
	const header = 12
	if len(b) < header+8 || !bytes.HasPrefix(b, magicXZ) {
		return nil
	}
	check, block := b[7]&0x0f, b[header:]
	size := (int(block[0]) + 1) * 4
	if block[0] == 0 || size > len(block) || binary.LittleEndian.Uint32(block[size-4:]) != crc32.ChecksumIEEE(block[:size-4]) {
		return nil
	}
	filters, ok := xzFilters(block[1 : size-4])
	if !ok || dictionarySize(filters[len(filters)-1].props[0]) > maxWindow {
		return nil
	}
	in := bytes.NewReader(block[size:])
	r, err := lzma.Reader2Config{DictCap: int(max(dictionarySize(filters[len(filters)-1].props[0]), lzma.MinDictCap))}.NewReader2(in)
	if err != nil {
		return nil
	}
	out, err := io.ReadAll(io.LimitReader(r, maxImage))
	if err != nil {
		return nil
	}
	for _, f := range filters[:len(filters)-1] {
		switch f.id {
		case filterX86:
			decodeX86(out)
		case filterARM:
			decodeARM(out)
		}
	}
	if check == xzCheckCRC32 {
		used := len(block[size:]) - in.Len()
		at := size + (used+3)&^3
		if at+4 > len(block) || binary.LittleEndian.Uint32(block[at:]) != crc32.ChecksumIEEE(out) {
			return nil
		}
	}
	return out
}

type xzFilter struct {
	id    uint64
	props []byte
}

// xzFilters reads the flags, sizes and filters of a block header (section 3.1), in the order they
// were applied; ok is false when one is unknown.
func xzFilters(b []byte) (list []xzFilter, ok bool) {
	if len(b) == 0 {
		return nil, false
	}
	flags, b := b[0], b[1:]
	number := func() (v uint64, ok bool) {
		for shift := 0; len(b) > 0 && shift < 63; shift += 7 {
			c := b[0]
			b = b[1:]
			v |= uint64(c&0x7f) << shift
			if c&0x80 == 0 {
				return v, true
			}
		}
		return 0, false
	}
	for _, present := range []byte{0x40, 0x80} {
		if flags&present != 0 {
			if _, ok := number(); !ok {
				return nil, false
			}
		}
	}
	for range int(flags&3) + 1 {
		id, ok1 := number()
		n, ok2 := number()
		if !ok1 || !ok2 || n > uint64(len(b)) {
			return nil, false
		}
		f := xzFilter{id, b[:n]}
		b = b[n:]
		if f.id != filterX86 && f.id != filterARM && f.id != filterLZMA2 {
			return nil, false
		}
		list = append(list, f)
	}
	last := list[len(list)-1]
	return list, last.id == filterLZMA2 && len(last.props) == 1
}

// decodeARM turns the absolute targets of BL instructions back into relative ones.
func decodeARM(b []byte) {
	for i := 0; i+4 <= len(b); i += 4 {
		if b[i+3] != 0xeb {
			continue
		}
		word := uint32(b[i]) | uint32(b[i+1])<<8 | uint32(b[i+2])<<16
		word = (word<<2 - uint32(i) - 8) >> 2
		b[i], b[i+1], b[i+2] = byte(word), byte(word>>8), byte(word>>16)
	}
}

// x86Window records which bytes just before an instruction looked like CALL (E8) or JMP (E9) but
// were not converted, newest in bit 0. The encoder follows the same rule, so its decisions need not
// be stored.
type x86Window struct {
	mask uint32
	last int // position of the last opcode byte
}

// at moves the window to position i.
func (w *x86Window) at(i int) {
	gap := i - w.last
	w.last = i
	if gap > 3 {
		w.mask = 0
		return
	}
	w.mask = w.mask << (gap - 1) & 7
}

// x86Distance is the number of bytes by which an operand overlaps an earlier opcode byte, by mask;
// -1 means that the operand is not converted.
var x86Distance = [8]int{0, 1, 2, -1, 3, -1, -1, -1}

// decodeX86 turns the absolute targets of near CALL and JMP instructions back into relative ones.
func decodeX86(b []byte) {
	extends := func(c byte) bool { return c == 0 || c == 0xff } // the high byte of a plausible displacement
	w := x86Window{last: -8}
	for i := 0; i+5 <= len(b); i++ {
		if b[i]&0xfe != 0xe8 {
			continue
		}
		w.at(i)
		back := x86Distance[w.mask]
		if back < 0 || w.mask != 0 && extends(b[i+4-back]) || !extends(b[i+4]) {
			w.mask = w.mask<<1 | 1
			continue
		}
		src := binary.LittleEndian.Uint32(b[i+1:])
		var dest uint32
		for {
			dest = src - uint32(i+5)
			if w.mask == 0 || !extends(byte(dest>>(24-8*back))) {
				break
			}
			src = dest ^ (1<<(32-8*back) - 1)
		}
		dest = dest&0x01ffffff | -(dest & 0x01000000)
		binary.LittleEndian.PutUint32(b[i+1:], dest)
		i += 4
	}
}
