// Package dwarfloc reads DWARF location expressions and location lists (DWARF 5 sections 2.6 and
// 7.7): those of .debug_loc (DWARF 2 to 4) and of .debug_loclists (DWARF 5). It finds operations
// and entries; it does not evaluate them.
//
// Start at [Unit].
package dwarfloc

import (
	"encoding/binary"
	"errors"
)

// Errors; test with [errors.Is].
var (
	// ErrMalformed: an expression or list is cut off, or refers outside of its section.
	ErrMalformed = errors.New("malformed location")
	// ErrOperation: the expression has an operation of unknown size.
	ErrOperation = errors.New("unknown location operation")
)

// Unit holds the properties of a compilation unit that its expressions and lists depend on.
type Unit struct {
	Order   binary.ByteOrder
	Version uint16 // of DWARF
	// AddrSize and OffSize are the bytes of an address and of an offset into a section.
	AddrSize, OffSize uint8
	// Base is the unit's base address (DW_AT_low_pc).
	Base uint64
	// Addr is .debug_addr; AddrBase is where the unit's addresses begin (DW_AT_addr_base).
	Addr     []byte
	AddrBase uint64
	// ListBase is where the unit's table of location lists begins (DW_AT_loclists_base).
	ListBase uint64
}

// DefaultListBase returns ListBase for a unit without DW_AT_loclists_base: the size of the header
// of .debug_loclists.
func DefaultListBase(offSize uint8) uint64 {
	if offSize == 8 {
		return 20
	}
	return 12
}

// Address returns an entry of .debug_addr.
func (u *Unit) Address(index uint64) (uint64, error) {
	size, n := uint64(u.AddrSize), uint64(len(u.Addr))
	if size == 0 || u.AddrBase > n || index >= (n-u.AddrBase)/size {
		return 0, ErrMalformed
	}
	r := reader{unit: u, b: u.Addr[u.AddrBase+index*size:]}
	return r.address()
}

// Uleb decodes a ULEB128 number and returns the bytes after it. Bits above the 64th are dropped.
func Uleb(b []byte) (uint64, []byte, error) {
	var v uint64
	for i, shift := 0, 0; i < len(b) && shift < 64; i, shift = i+1, shift+7 {
		v |= uint64(b[i]&0x7f) << shift
		if b[i]&0x80 == 0 {
			return v, b[i+1:], nil
		}
	}
	return 0, nil, ErrMalformed
}

// Sleb decodes a SLEB128 number and returns the bytes after it.
func Sleb(b []byte) (int64, []byte, error) {
	var v int64
	for i, shift := 0, 0; i < len(b) && shift < 64; i++ {
		v |= int64(b[i]&0x7f) << shift
		shift += 7
		if b[i]&0x80 == 0 {
			if shift < 64 && b[i]&0x40 != 0 {
				v |= -1 << shift
			}
			return v, b[i+1:], nil
		}
	}
	return 0, nil, ErrMalformed
}

// reader consumes bytes.
type reader struct {
	unit *Unit
	b    []byte
}

func (r *reader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.b)) {
		return nil, ErrMalformed
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out, nil
}

// fixed reads a number of 1, 2, 4 or 8 bytes.
func (r *reader) fixed(size uint8) (uint64, error) {
	b, err := r.take(uint64(size))
	if err != nil {
		return 0, err
	}
	switch size {
	case 1:
		return uint64(b[0]), nil
	case 2:
		return uint64(r.unit.Order.Uint16(b)), nil
	case 4:
		return uint64(r.unit.Order.Uint32(b)), nil
	case 8:
		return r.unit.Order.Uint64(b), nil
	}
	return 0, ErrMalformed
}

func (r *reader) address() (uint64, error) { return r.fixed(r.unit.AddrSize) }

func (r *reader) uleb() (v uint64, err error) {
	v, r.b, err = Uleb(r.b)
	return v, err
}
