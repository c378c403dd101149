package btfcases

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"

	"github.com/bpfrun/bpfrun/btf"
)

// Kernel reports whether the kernel's BTF has a type.
type Kernel = func(kind btf.Kind, name string) bool

// Mutant returns the n-th mutant of BTF; mutant 0 is the BTF itself. The result is deterministic.
func Mutant(source []byte, seed, n uint64) []byte {
	raw := bytes.Clone(source)
	if n == 0 {
		return raw
	}
	m := mutator{rng: rand.New(rand.NewPCG(seed, n)), raw: raw}
	m.scan()
	for range 1 + m.rng.IntN(3) {
		m.change()
	}
	return m.raw
}

type mutator struct {
	rng *rand.Rand
	raw []byte
	// types are the offsets of types, strs those of strings.
	types, strs []int
	strOff      int
}

var order = binary.LittleEndian

// scan finds types and strings of well-formed BTF, and as many as possible of other BTF.
func (m *mutator) scan() {
	if len(m.raw) < 24 {
		return
	}
	hdr := int(order.Uint32(m.raw[4:]))
	at := hdr + int(order.Uint32(m.raw[8:]))
	end := at + int(order.Uint32(m.raw[12:]))
	m.strOff = hdr + int(order.Uint32(m.raw[16:]))
	for at >= 0 && at+12 <= min(end, len(m.raw)) {
		m.types = append(m.types, at)
		info := order.Uint32(m.raw[at+4:])
		at += 12 + extra(btf.Kind(info>>24&0x1f), int(info&0xffff))
	}
	for i := m.strOff; i > 0 && i < len(m.raw); i++ {
		if m.raw[i-1] == 0 || i == m.strOff {
			m.strs = append(m.strs, i-m.strOff)
		}
	}
}

func extra(k btf.Kind, vlen int) int {
	switch k {
	case btf.KindInt, btf.KindVar, btf.KindDeclTag:
		return 4
	case btf.KindArray:
		return 12
	case btf.KindStruct, btf.KindUnion, btf.KindDatasec, btf.KindEnum64:
		return 12 * vlen
	case btf.KindEnum, btf.KindFuncProto:
		return 8 * vlen
	}
	return 0
}

func (m *mutator) put(at int, v uint32) {
	if at >= 0 && at+4 <= len(m.raw) {
		order.PutUint32(m.raw[at:], v)
	}
}

func (m *mutator) get(at int) uint32 {
	if at < 0 || at+4 > len(m.raw) {
		return 0
	}
	return order.Uint32(m.raw[at:])
}

// id returns a type id, which usually exists.
func (m *mutator) id() uint32 {
	if m.rng.IntN(20) == 0 {
		return m.rng.Uint32N(1 << 21)
	}
	return m.rng.Uint32N(uint32(len(m.types)) + 2)
}

// name returns the offset of a string, which usually exists.
func (m *mutator) name() uint32 {
	switch m.rng.IntN(10) {
	case 0:
		return 0
	case 1:
		return m.rng.Uint32N(uint32(len(m.raw)-m.strOff) + 4)
	}
	return uint32(m.strs[m.rng.IntN(len(m.strs))])
}

var words = []uint32{0, 1, 2, 3, 4, 7, 8, 12, 16, 31, 32, 33, 64, 128, 129, 0xff, 0x100, 0xffff, 0xfffff, 0x100000, 0x7fffffff, 0x80000000, 0xffffffff}

func (m *mutator) word() uint32 { return words[m.rng.IntN(len(words))] }

// change makes one random change.
func (m *mutator) change() {
	if len(m.types) == 0 || len(m.strs) == 0 {
		m.anyByte()
		return
	}
	at := m.types[m.rng.IntN(len(m.types))]
	info := m.get(at + 4)
	kind, vlen := btf.Kind(info>>24&0x1f), int(info&0xffff)
	size := extra(kind, vlen)
	switch m.rng.IntN(16) {
	case 0: // a bit of a type
		i := at + m.rng.IntN(12+size)
		if i < len(m.raw) {
			m.raw[i] ^= 1 << m.rng.IntN(8)
		}
	case 1:
		m.put(at+4*m.rng.IntN(3+size/4), m.word())
	case 2: // another kind of the same size
		m.put(at+4, info&^0x1f000000|uint32(m.sameLength(kind, vlen))<<24)
	case 3:
		m.put(at+4, info&^0x1f000000|m.rng.Uint32N(22)<<24)
	case 4:
		m.put(at+4, info^1<<31)
	case 5:
		m.put(at+4, info&^0xffff|m.rng.Uint32N(uint32(vlen)+3))
	case 6, 7: // the referenced type
		m.put(at+8, m.id())
	case 8:
		m.put(at+8, m.word())
	case 9:
		m.put(at, m.name())
	case 10, 11, 12: // an entry
		m.entry(at, kind, vlen)
	case 13:
		m.header()
	case 14: // a string
		i := m.strOff + m.rng.IntN(len(m.raw)-m.strOff)
		const chars = "\x00a0_.? \xc0\xd7\x7f:"
		m.raw[i] = chars[m.rng.IntN(len(chars))]
	case 15:
		m.anyByte()
	}
}

// sameLength returns a kind whose types have the same size.
func (m *mutator) sameLength(kind btf.Kind, vlen int) btf.Kind {
	for range 40 {
		k := btf.Kind(1 + m.rng.IntN(19))
		if k != kind && extra(k, vlen) == extra(kind, vlen) {
			return k
		}
	}
	return kind
}

// entry changes a member, enumerator, parameter, variable, or the words after the type's header.
func (m *mutator) entry(at int, kind btf.Kind, vlen int) {
	at += 12
	switch kind {
	case btf.KindArray:
		if w := m.rng.IntN(3); w < 2 {
			m.put(at+4*w, m.id())
		} else {
			m.put(at+8, m.rng.Uint32N(300))
		}
		return
	case btf.KindInt:
		m.put(at, uint32(m.rng.IntN(9))<<24|uint32(m.rng.IntN(3))*4<<16|uint32(m.rng.IntN(17))*8)
		return
	case btf.KindVar, btf.KindDeclTag:
		m.put(at, m.rng.Uint32N(6)-1)
		return
	}
	if vlen == 0 {
		return
	}
	stride := extra(kind, 1)
	if stride == 0 {
		return
	}
	at += stride * m.rng.IntN(vlen)
	switch kind {
	case btf.KindDatasec:
		switch m.rng.IntN(3) {
		case 0:
			m.put(at, m.id())
		case 1:
			m.put(at+4, m.get(at+4)+m.rng.Uint32N(17)-8)
		default:
			m.put(at+8, m.get(at+8)+m.rng.Uint32N(17)-8)
		}
	case btf.KindEnum, btf.KindEnum64:
		m.put(at, m.name())
	default:
		switch m.rng.IntN(4) {
		case 0:
			m.put(at, m.name())
		case 1, 2:
			m.put(at+4, m.id())
		default:
			if stride == 12 {
				m.put(at+8, m.get(at+8)+m.rng.Uint32N(257)-128)
			}
		}
	}
}

// header changes the BTF header or the length of the file.
func (m *mutator) header() {
	switch m.rng.IntN(6) {
	case 0:
		m.raw[m.rng.IntN(4)] ^= 1 << m.rng.IntN(8)
	case 1:
		m.put(4+4*m.rng.IntN(5), m.word())
	case 2:
		at := 4 + 4*m.rng.IntN(5)
		m.put(at, m.get(at)+4*m.rng.Uint32N(5)-8)
	case 3:
		m.raw = m.raw[:m.rng.IntN(len(m.raw))+1]
	case 4:
		m.raw = append(m.raw, make([]byte, 1+m.rng.IntN(8))...)
	case 5: // a longer header
		n := 4 * (1 + m.rng.IntN(3))
		h := append([]byte(nil), m.raw[:24]...)
		h = append(h, make([]byte, n)...)
		if m.rng.IntN(3) == 0 {
			h[24+m.rng.IntN(n)] = 1
		}
		m.raw = append(h, m.raw[24:]...)
		m.put(4, uint32(24+n))
		m.types, m.strs = nil, nil
	}
	if len(m.raw) < 24 {
		m.types, m.strs = nil, nil
	}
	m.strOff = min(m.strOff, len(m.raw)-1)
}

func (m *mutator) anyByte() {
	if len(m.raw) > 0 {
		m.raw[m.rng.IntN(len(m.raw))] = byte(m.rng.Uint32())
	}
}
