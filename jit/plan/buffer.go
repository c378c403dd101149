package plan

import "encoding/binary"

// Buffer collects generated code. Callers reserve Room once for several instructions, so that
// writing an instruction is one store without a branch.
type Buffer struct {
	mem []byte // the code and its reserve
	n   uint   // bytes of code
}

// Start empties the buffer and reuses mem.
func (b *Buffer) Start(memory []byte) { b.mem, b.n = memory[:cap(memory)], 0 }

// Code returns the written code.
func (b *Buffer) Code() []byte { return b.mem[:b.n] }

// Len returns the length of Code.
func (b *Buffer) Len() int { return int(b.n) }

// Room ensures that n bytes can be written.
func (b *Buffer) Room(n uint) {
	if uint(len(b.mem))-b.n < n {
		b.grow(n)
	}
}

// grow is kept out of the inlined fast path.
//
//go:noinline
func (b *Buffer) grow(n uint) {
	m := make([]byte, 2*uint(len(b.mem))+n)
	copy(m, b.Code())
	b.mem = m
}

// Put writes the n low bytes of v, at most 8, in little-endian order. The caller has reserved 8
// bytes.
func (b *Buffer) Put(v uint64, n uint) {
	binary.LittleEndian.PutUint64(b.mem[b.n:], v)
	b.n += n
}

// Put32 writes 4 bytes in little-endian order.
func (b *Buffer) Put32(v uint32) {
	binary.LittleEndian.PutUint32(b.mem[b.n:], v)
	b.n += 4
}

// Append writes any number of bytes and reserves the room for them.
func (b *Buffer) Append(v []byte) {
	b.Room(uint(len(v)))
	b.n += uint(copy(b.mem[b.n:], v))
}
