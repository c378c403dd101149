// Package perfattr contains struct perf_event_attr, the argument of perf_event_open(2): its fields
// by name (fields_gen.go, generated from the BTF of Linux 7.2).
//
// It does not know what events measure. Members of a union have a method each, which read the same
// bytes. Start at [New].
//
// All simulated kernels are little-endian, whatever the host is.
package perfattr

import "encoding/binary"

// MinSize is PERF_ATTR_SIZE_VER0: the size in bytes of the shortest struct that a caller may pass,
// and what it means to pass none.
const MinSize = 64

// Attr is a copy of a caller's struct. What the caller did not pass is zero.
type Attr struct{ b [Size]byte }

// New returns the struct that begins with raw.
func New(raw []byte) *Attr {
	a := new(Attr)
	copy(a.b[:], raw)
	return a
}

func (a *Attr) u16(at int) uint16        { return binary.LittleEndian.Uint16(a.b[at:]) }
func (a *Attr) u32(at int) uint32        { return binary.LittleEndian.Uint32(a.b[at:]) }
func (a *Attr) u64(at int) uint64        { return binary.LittleEndian.Uint64(a.b[at:]) }
func (a *Attr) bits(at, n uint32) uint64 { return a.u64(int(at/64*8)) >> (at % 64) & (1<<n - 1) }
