package fromdwarf

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/bpfrun/bpfrun/internal/dwarfloc"
	"github.com/bpfrun/bpfrun/internal/endian"
)

// maxSection limits the bytes of sections that are read as a whole.
const maxSection = 4 << 30

// input holds the DWARF sections of a file. An uncompressed .debug_info is read unit by unit,
// because a kernel's is large. .debug_types, if present, follows it in one range of offsets.
type input struct {
	big        bool
	info       io.ReaderAt
	infoSize   uint64 // without .debug_types
	size       uint64
	types      []byte
	abbrev     []byte
	str        []byte
	lineStr    []byte
	strOffsets []byte
	addr       []byte

	// located is set if functionFeatures are wanted. Then loc and locLists are the sections of
	// location lists, and calls tells where parameters are.
	located       bool
	trueSignature bool
	loc, locLists []byte
	calls         convention
	// listBytes counts the bytes of location lists that were read.
	listBytes atomic.Int64
}

// openInput finds the DWARF sections of an ELF file.
func openInput(f *elf.File, features Features) (*input, error) {
	info := f.Section(".debug_info")
	if info == nil {
		info = f.Section(".zdebug_info")
	}
	if info == nil || info.Size == 0 || info.Type == elf.SHT_NOBITS {
		return nil, fmt.Errorf("%w: the file has no .debug_info; compile with -g, or take the debug package", ErrNoDWARF)
	}
	in := &input{big: endian.IsBig(f.ByteOrder), located: features&functionFeatures != 0, trueSignature: features&TrueSignature != 0, calls: conventionOf(f.Machine)}
	rel, err := newRelocator(f)
	if err != nil {
		return nil, err
	}
	type part struct {
		name string
		to   *[]byte
	}
	parts := []part{{"abbrev", &in.abbrev}, {"str", &in.str}, {"line_str", &in.lineStr}, {"str_offsets", &in.strOffsets}, {"addr", &in.addr}, {"types", &in.types}}
	if in.located {
		parts = append(parts, part{"loc", &in.loc}, part{"loclists", &in.locLists})
	}
	for _, s := range parts {
		if *s.to, err = rel.section(".debug_" + s.name); err != nil {
			return nil, err
		}
	}
	if plain := info.Flags&elf.SHF_COMPRESSED == 0 && info.Name == ".debug_info"; plain && f.Type != elf.ET_REL {
		in.info, in.infoSize = info, info.Size
	} else {
		all, err := rel.section(".debug_info")
		if err != nil {
			return nil, err
		}
		in.info, in.infoSize = readerOf(all), uint64(len(all))
	}
	in.size = in.infoSize + uint64(len(in.types))
	return in, nil
}

// readerOf reads from a byte slice at offsets.
type readerOf []byte

func (b readerOf) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// readAt fills b with the bytes at an offset.
func (in *input) readAt(b []byte, at uint64) error {
	if at > in.size || uint64(len(b)) > in.size-at {
		return fmt.Errorf("%w: .debug_info ends at %#x", ErrMalformed, in.size)
	}
	if at < in.infoSize {
		n := min(uint64(len(b)), in.infoSize-at)
		if k, err := in.info.ReadAt(b[:n], int64(at)); uint64(k) < n {
			return fmt.Errorf("%w: .debug_info: %w", ErrMalformed, err)
		}
		b, at = b[n:], in.infoSize
	}
	copy(b, in.types[min(at-in.infoSize, uint64(len(in.types))):])
	return nil
}

// span is a range of .debug_info that is decoded together.
type span struct{ start, size uint64 }

// spans returns the units of a file, or one span for all units if units refer to each other.
func (in *input) spans() ([]span, error) {
	if len(in.types) > 0 || crossReferences(in.abbrev) {
		if in.size > maxSection {
			return nil, fmt.Errorf("%w: %d bytes of units that refer to each other", ErrMalformed, in.size)
		}
		return []span{{0, in.size}}, nil
	}
	var out []span
	var b [40]byte
	for at := uint64(0); at < in.size; {
		n := min(uint64(len(b)), in.size-at)
		if err := in.readAt(b[:n], at); err != nil {
			return nil, err
		}
		h, err := in.header(b[:n], at)
		if err != nil {
			return nil, err
		}
		out = append(out, span{at, h.size})
		at += h.size
	}
	return out, nil
}

// unitHeader is the header of a unit.
type unitHeader struct {
	start, size uint64 // including the header
	head        uint64 // size of the header
	version     uint16
	addrSize    uint8
	offSize     uint8
	abbrevs     uint64
	signature   uint64 // of a type unit
	typeOff     uint64
}

// Types of units with additional header fields (DWARF 5 section 7.5.1).
const (
	unitType         = 0x02
	unitSkeleton     = 0x04
	unitSplitCompile = 0x05
	unitSplitType    = 0x06
)

// header reads the header of the unit at an offset; b holds at least the header, or all bytes that
// are left.
func (in *input) header(b []byte, start uint64) (unitHeader, error) {
	c := cursor{b: b, big: in.big}
	h := unitHeader{start: start, offSize: 4}
	size := uint64(c.u32())
	if size == 0xffffffff {
		h.offSize = 8
		size = c.u64()
	}
	room := in.size
	if start < in.infoSize {
		room = in.infoSize
	}
	if c.bad || size > room-start-uint64(c.at) {
		return h, fmt.Errorf("%w: the unit at %#x has %d bytes, the section ends at %#x", ErrMalformed, start, size, room)
	}
	h.size = size + uint64(c.at)
	h.version = c.u16()
	kind := uint8(0)
	switch {
	case h.version >= 2 && h.version <= 4:
		h.abbrevs, h.addrSize = c.sized(h.offSize), c.u8()
		if start >= in.infoSize {
			kind = unitType
		}
	case h.version == 5:
		kind, h.addrSize = c.u8(), c.u8()
		h.abbrevs = c.sized(h.offSize)
	default:
		return h, fmt.Errorf("%w: the unit at %#x is of DWARF version %d; 2 to 5 are supported", ErrMalformed, start, h.version)
	}
	switch kind {
	case unitType, unitSplitType:
		h.signature, h.typeOff = c.u64(), c.sized(h.offSize)
	case unitSkeleton, unitSplitCompile:
		c.skip(8)
	}
	if h.head = uint64(c.at); c.bad || h.head > h.size || h.addrSize != 2 && h.addrSize != 4 && h.addrSize != 8 {
		return h, fmt.Errorf("%w: the header of the unit at %#x", ErrMalformed, start)
	}
	return h, nil
}

// defaultBase returns the base of indexed strings and addresses in a unit that does not define its
// own.
func (in *input) defaultBase(h unitHeader) uint64 {
	if h.version < 5 {
		return 0
	}
	return 2 * uint64(h.offSize)
}

// locations returns what the location lists of a unit depend on.
func (in *input) locations(h unitHeader) dwarfloc.Unit {
	u := dwarfloc.Unit{
		Order: binary.LittleEndian, Version: h.version, AddrSize: h.addrSize, OffSize: h.offSize, Addr: in.addr, AddrBase: in.defaultBase(h),
		ListBase: dwarfloc.DefaultListBase(h.offSize),
	}
	if in.big {
		u.Order = binary.BigEndian
	}
	return u
}
