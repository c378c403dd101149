package plan

import "encoding/binary"

// Buffer is what a backend writes code to. Who writes a piece of code first makes sure that there is Room for it, so that each instruction
// is one store without a decision.
type Buffer struct {
	mem []byte // the code, and room
	n   uint   // bytes of code
}

// Start begins anew in memory.
func (b *Buffer) Start(memory []byte) { b.mem, b.n = memory[:cap(memory)], 0 }

// Code returns what was written.
func (b *Buffer) Code() []byte { return b.mem[:b.n] }

// Len returns the length of Code.
func (b *Buffer) Len() int { return int(b.n) }

// Room makes sure that n bytes can be written.
func (b *Buffer) Room(n uint) {
	if uint(len(b.mem))-b.n < n {
		b.grow(n)
	}
}

// grow is out of the way of what is fast.
//
//go:noinline
func (b *Buffer) grow(n uint) {
	m := make([]byte, 2*uint(len(b.mem))+n)
	copy(m, b.Code())
	b.mem = m
}

// Put writes the n low bytes of v, at most 8. There has to be room for 8.
func (b *Buffer) Put(v uint64, n uint) {
	binary.LittleEndian.PutUint64(b.mem[b.n:], v)
	b.n += n
}

// Put32 writes 4 bytes.
func (b *Buffer) Put32(v uint32) {
	binary.LittleEndian.PutUint32(b.mem[b.n:], v)
	b.n += 4
}

// Append writes bytes of any number, and makes the room for them.
func (b *Buffer) Append(v []byte) {
	b.Room(uint(len(v)))
	b.n += uint(copy(b.mem[b.n:], v))
}
