package mem

import (
	"encoding/binary"
	"unsafe"
)

const (
	// maxPlain is the number of bytes that, at any alignment, lie in at most eight granules, whose
	// shadow is one word.
	maxPlain = 57
	// loadsIgnore is LoadsIgnore for each of them.
	loadsIgnore = uint64(LoadsIgnore) * 0x0101010101010101
)

// Plain returns the bytes from addr up to addr+n if the guest may load them and they need no
// special handling. Otherwise it returns nil, and [Memory.Read] decides. The slice is the memory
// itself, not a copy.
func (m *Memory) Plain(addr, n uint64) []byte {
	off := addr - m.base
	if off >= m.limit || n-1 >= maxPlain {
		return nil
	}
	// Eight bytes of shadow can be read starting at any granule below limit, and the last one there
	// is not plain: see Memory.limit.
	shadow := binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(m.shadow, off>>3))[:])
	beyond := 7 - ((off+n-1)>>3 - off>>3)
	if shadow<<(8*beyond)&^loadsIgnore != 0 {
		return nil
	}
	return m.bytesAt(off, n)
}
