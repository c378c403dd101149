package generate

import "encoding/binary"

// edges lists the boundary values at which the behaviour of instructions changes.
var edges = []uint64{
	0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 0x7e, 0x7f, 0x80, 0x81, 0xff, 0x100,
	0x7fff, 0x8000, 0xffff, 0x10000, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff,
	0x100000000, 0x100000001, 0x17fffffff, 0x180000000, 0x1ffffffff,
	0x7ffffffffffffffe, 0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001,
	0xffffffff00000000, 0xffffffff00000001, 0xffffffff7fffffff, 0xffffffff80000000, 0xfffffffffffffffe, 0xffffffffffffffff,
	0xffffffffffffff80, 0xffffffffffffff7f, 0xffffffffffff8000, 0xffffffffffff7fff,
	0x0123456789abcdef, 0xfedcba9876543210, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 0x00ff00ff00ff00ff,
}

func pick[T any](p *program, list []T) T { return list[p.rng.IntN(len(list))] }

func (p *program) chance(percent int) bool { return p.rng.IntN(100) < percent }

// between returns a random number from lo to hi, inclusive.
func (p *program) between(lo, hi int) int { return lo + p.rng.IntN(hi-lo+1) }

// value returns a random number, mostly one of edges.
func (p *program) value() uint64 {
	switch p.rng.IntN(8) {
	case 0:
		return p.rng.Uint64()
	case 1:
		return p.rng.Uint64() >> p.rng.IntN(64)
	case 2:
		return uint64(int64(p.rng.Uint64()) >> p.rng.IntN(64))
	}
	return pick(p, edges)
}

// pool picks the few values that the program and its inputs share, so that operands are often
// equal, differ by one, or are equal in one half.
func (p *program) pool() {
	n := 4
	if p.gen.cfg.Small {
		n = 2
	}
	for range n {
		p.values = append(p.values, p.value())
	}
	p.values = append(p.values, uint64(int64(int32(p.value()))))
}

// related returns a value of the pool or one derived from it.
func (p *program) related() uint64 {
	v := pick(p, p.values)
	switch p.rng.IntN(10) {
	case 0:
		return v + 1
	case 1:
		return v - 1
	case 2:
		return v ^ 1<<63
	case 3:
		return v ^ 1<<31
	case 4:
		return v ^ 1<<32
	case 5:
		return uint64(uint32(v))
	case 6:
		return uint64(int64(int32(v)))
	}
	return v
}

// imm returns an immediate, often a value of the pool or a related one.
func (p *program) imm() int32 {
	switch p.rng.IntN(6) {
	case 0, 1:
		return int32(p.related())
	case 2:
		return int32(p.rng.Uint32()) >> p.rng.IntN(32)
	}
	return int32(pick(p, p.values))
}

// input generates an initial map value.
func (p *program) input() (v [ValueSize]byte) {
	put := func(off int, x uint64) { binary.LittleEndian.PutUint64(v[off:], x) }
	scratch := valueScratch
	for off := 0; off < ValueSize; off += 8 {
		switch {
		case off == valueMark:
		case off >= valueStack && off < valueScratch && !p.usesStack:
		case off >= scratch && !p.usesScratch:
		case p.chance(15) && !p.gen.cfg.Small:
			put(off, p.value())
		case p.chance(25):
			put(off, pick(p, edges))
		default:
			put(off, p.related())
		}
	}
	return v
}
