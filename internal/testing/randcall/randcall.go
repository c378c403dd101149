// Package randcall makes random bpf(2) calls for tests: calls that would succeed, with some of
// their fields replaced by values that mean something elsewhere.
package randcall

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/bpfrun/bpfrun/decode"
)

var le = binary.LittleEndian

// Size is the size in bytes of the memory that calls refer to.
const Size = 1 << 16

// Offsets of what [Memory] holds. The rest is scratch space.
const (
	licenseAt  = 0
	pathAt     = 64  // four names in bpffs
	nameAt     = 256 // of a tracepoint
	programsAt = 512 // of maxProgram instructions each
	scratchAt  = 8192

	programSize = 512
	numPrograms = 4
)

// Memory returns the initial contents of the memory: strings and programs.
func Memory() []byte {
	b := make([]byte, Size)
	copy(b[licenseAt:], "GPL")
	for i := range 4 {
		copy(b[pathAt+48*i:], "/sys/fs/bpf/"+string(rune('a'+i)))
	}
	copy(b[nameAt:], "sched_switch")
	ret := []decode.Insn{{Code: 0xb7}, {Code: 0x95}}
	for i, p := range [numPrograms][]decode.Insn{
		ret,
		append([]decode.Insn{{Code: 0x18, Dst: 1, Src: 1, Imm: 24}, {}}, ret...), // the map of a descriptor
		append([]decode.Insn{{Code: 0x18, Dst: 1, Src: 1, Imm: 25}, {}, {Code: 0xbf, Dst: 2, Src: 10}, {Code: 0x07, Dst: 2, Imm: -8}, {Code: 0x7a, Dst: 2}, {Code: 0x85, Imm: 1}}, ret...),
		append([]decode.Insn{{Code: 0x05, Off: 0}, {Code: 0xb7, Dst: 3, Imm: 5}, {Code: 0x07, Dst: 3, Imm: -1}, {Code: 0x55, Dst: 3, Off: -2}}, ret...),
	} {
		at := programsAt + programSize*i
		for j, in := range p {
			b[at+8*j], b[at+8*j+1] = in.Code, in.Dst|in.Src<<4
			le.PutUint16(b[at+8*j+2:], uint16(in.Off))
			le.PutUint32(b[at+8*j+4:], uint32(in.Imm))
		}
	}
	return b
}

// Source makes calls of one process.
type Source struct {
	*rand.Rand
	// Base is the address of the memory.
	Base uint64
	// Bad are addresses that the process cannot read or write.
	Bad []uint64
	// FirstFD and LastFD bound the descriptors that calls use.
	FirstFD, LastFD int
}

// FD returns a descriptor, seldom one that cannot be.
func (s Source) FD() uint32 {
	if s.IntN(50) == 0 {
		return uint32(s.IntN(3) - 2)
	}
	return uint32(s.FirstFD + s.IntN(s.LastFD-s.FirstFD+1))
}

// Pointer returns the address of scratch memory, or a bad one.
func (s Source) Pointer() uint64 {
	if s.IntN(20) == 0 && len(s.Bad) > 0 {
		return s.Bad[s.IntN(len(s.Bad))]
	}
	return s.Base + scratchAt + uint64(s.IntN(Size-scratchAt))&^7
}

// Path returns the address of a path in bpffs.
func (s Source) Path() uint64 { return s.Base + pathAt + 48*uint64(s.IntN(4)) }

// Number returns a number of a kind that fields have: counts, sizes, types, flags.
func (s Source) Number() uint32 {
	switch s.IntN(8) {
	case 0:
		return 1 << s.IntN(32)
	case 1:
		return s.Uint32()
	case 2:
		return ^uint32(0)
	case 3:
		return 4096
	}
	return uint32(s.IntN(48))
}

func (s Source) pick(of ...uint32) uint32 { return of[s.IntN(len(of))] }

// Call returns a command and its attributes.
func (s Source) Call() (cmd uint32, attr []byte) {
	a := make([]byte, 168)
	n := 0
	word := func(v uint32) { le.PutUint32(a[n:], v); n += 4 }
	long := func(v uint64) { n = (n + 7) &^ 7; le.PutUint64(a[n:], v); n += 8 }
	if cmd = uint32(s.IntN(40)); s.IntN(3) == 0 {
		cmd = s.pick(0, 1, 2, 5, 10)
	}
	switch cmd {
	case 0: // MAP_CREATE
		m := [...][5]uint32{{1, 4, 8, 4}, {2, 4, 8, 8}, {2, 4, 8, 1, 1 << 10}, {3, 4, 4, 8}, {4, 4, 4, 2}, {5, 4, 8, 8}, {6, 4, 8, 2}, {9, 8, 16, 100}, {10, 4, 8, 3, 1}, {11, 8, 4, 10, 1},
			{22, 0, 8, 4}, {23, 0, 8, 4}, {27, 0, 0, 4096}, {30, 0, 8, 100}, {31, 0, 0, 4096}, {uint32(s.IntN(40)), 4, 8, 4}}[s.IntN(16)]
		for _, v := range m {
			word(v)
		}
	case 1, 2, 3, 4, 21: // elements
		word(s.FD())
		long(s.Pointer())
		long(s.Pointer())
		long(uint64(s.pick(0, 0, 0, 1, 2, 4)))
	case 5: // PROG_LOAD
		i := s.IntN(numPrograms)
		word(s.pick(1, 1, 2, 3, 5, 6, 17, uint32(s.IntN(34))))
		word([numPrograms]uint32{2, 4, 8, 6}[i])
		long(s.Base + programsAt + programSize*uint64(i))
		long(s.Base + licenseAt)
		if s.IntN(2) == 0 {
			word(s.pick(1, 2, 4))
			word(4096)
			long(s.Pointer())
		}
	case 6, 7: // pins
		long(s.Path())
		word(s.FD())
	case 8, 9: // attachments
		word(s.FD())
		word(s.FD())
		word(s.Number())
	case 10: // TEST_RUN
		word(s.FD())
		word(0)
		word(s.pick(14, 64, 64, 2000))
		word(s.pick(0, 64))
		long(s.Pointer())
		long(s.Pointer())
		word(s.pick(0, 1, 3))
	case 11, 12, 13, 14, 19, 23, 30, 31: // ids
		word(uint32(s.IntN(200)))
	case 15: // OBJ_GET_INFO_BY_FD
		word(s.FD())
		word(s.pick(80, 232, 32, 64, 1000))
		long(s.Pointer())
	case 16: // PROG_QUERY
		word(s.FD())
		word(s.Number())
		word(0)
		word(0)
		long(s.Pointer())
		word(8)
	case 17: // RAW_TRACEPOINT_OPEN
		long(s.Base + nameAt)
		word(s.FD())
	case 18: // BTF_LOAD
		long(s.Pointer())
		long(s.Pointer())
		word(s.pick(24, 40, 1000))
		word(0)
	case 24, 25, 26, 27: // batches
		long(s.pick64(0, s.Pointer()))
		long(s.Pointer())
		long(s.Pointer())
		long(s.Pointer())
		word(s.pick(1, 4, 100))
		word(s.FD())
	case 28: // LINK_CREATE
		word(s.FD())
		word(s.FD())
		word(uint32(s.IntN(60)))
	default:
		word(s.FD())
		word(s.FD())
		if s.IntN(4) == 0 {
			word(s.Number())
		}
	}
	size := max(n, 4)
	for range max(0, s.IntN(6)-3) { // fields that mean something else
		at := s.IntN(len(a)/8) * 8
		if s.IntN(3) > 0 {
			at = s.IntN(size/4) * 4
		}
		switch s.IntN(4) {
		case 0:
			le.PutUint32(a[at:], s.FD())
		case 1:
			le.PutUint32(a[at:], s.Number())
		case 2:
			le.PutUint64(a[at&^7:], s.Pointer())
		case 3:
			le.PutUint64(a[at&^7:], s.Uint64())
		}
		size = max(size, min(at+8, len(a)))
	}
	if s.IntN(30) == 0 {
		size = s.IntN(len(a))
	}
	if repeat := a[32:36]; cmd == 10 && le.Uint32(repeat) > 1000 { // a million repetitions would be made, which takes long
		le.PutUint32(repeat, 1000)
	}
	return cmd, a[:size]
}

func (s Source) pick64(of ...uint64) uint64 { return of[s.IntN(len(of))] }
