package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// edges are numbers that intervals begin and end at.
var edges = []int64{0, 1, 2, 3, 7, 8, 63, 64, 255, 256, 1<<15 - 1, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<32 + 5, 1<<40 - 1, 1 << 40}

// guess makes an interval and a number in it.
func guess(r *rand.Rand) (interval, uint64) {
	edge := func() int64 {
		v := edges[r.IntN(len(edges))]
		if r.IntN(3) == 0 {
			v = -v
		}
		return v
	}
	lo, hi := edge(), edge()
	if r.IntN(3) == 0 {
		hi = lo + int64(r.IntN(40))
	}
	if lo > hi {
		lo, hi = hi, lo
	}
	v := [...]int64{lo, hi, lo + (hi-lo)/2, lo + r.Int64N(hi-lo+1)}[r.IntN(4)]
	if r.IntN(6) == 0 {
		return unbounded, uint64(v)<<r.IntN(32) ^ r.Uint64()>>r.IntN(64)
	}
	return between(number, lo, hi), uint64(v)
}

// holds reports whether a number is what is known of it.
func (v interval) holds(n uint64) bool {
	return v.base == anything || v.base == number && v.lo <= int64(n) && int64(n) <= v.hi
}

// immediate is one that instructions with that code take.
func immediate(r *rand.Rand, code uint8) int32 {
	v := int32(edges[r.IntN(len(edges))])
	if r.IntN(3) == 0 {
		v = -v
	}
	switch code & 0xf0 {
	case 0x60, 0x70, 0xc0: // shifts
		return int32(r.IntN(32 + 32*int(code>>1&1)))
	}
	return v
}

// TestIntervalsHoldResults executes operations on numbers, and asks whether the results are in the
// intervals that follow from those of the numbers.
func TestIntervalsHoldResults(t *testing.T) {
	m, err := mem.New(mem.Config{Size: 1 << 20})
	require.NoError(t, err)
	defer m.Close()
	thread := vm.NewThread(m, vm.ThreadConfig{})
	r := rand.New(rand.NewPCG(1, 2))
	seen, known := map[decode.Op]bool{}, 0
	for class := uint8(4); class <= 7; class += 3 {
		for _, off := range []int16{0, 1, 8, 16, 32} {
			for code := range uint8(0x1e) {
				for range 1000 {
					in := decode.Insn{Code: class | code<<3, Dst: 1, Off: off}
					switch {
					case in.Code&0xf0 == 0xd0:
						in.Imm = 16 << r.IntN(3)
					case in.Code&8 != 0:
						in.Src = 2
					case in.Code&0xf0 != 0x80:
						in.Imm = immediate(r, in.Code)
					}
					op := in.Op()
					if op == decode.OpInvalid || op == decode.OpAddrSpaceCast {
						break
					}
					seen[op] = true
					a, va := guess(r)
					b, vb := guess(r)
					img, err := vm.Lower(vm.LowerConfig{Insns: []decode.Insn{in, {Code: 0x95}}})
					require.NoError(t, err)
					thread.Start(img, va, vb)
					thread.Run(1)
					var s registers
					s[1], s[2] = a, b
					s.execute(&New(img, nil, nil).Insns[0], 0)
					require.True(t, s[1].holds(thread.Reg(1)), "%v with %v (%#x) and %v (%#x) is %v, not %#x", fmt.Sprintf("%+v", in), a, va, b, vb, s[1], thread.Reg(1))
					if s[1].base == number {
						known++
					}
				}
			}
		}
	}
	require.Greater(t, len(seen), 70)
	require.Greater(t, known, 10_000)
}

// TestIntervalsHoldOutcomes is the same for what branches say of a register.
func TestIntervalsHoldOutcomes(t *testing.T) {
	m, err := mem.New(mem.Config{Size: 1 << 20})
	require.NoError(t, err)
	defer m.Close()
	thread := vm.NewThread(m, vm.ThreadConfig{})
	r := rand.New(rand.NewPCG(3, 4))
	narrowed := 0
	for class := uint8(5); class <= 6; class++ {
		for code := uint8(0x10); code <= 0xd0; code += 8 {
			if code&0xf0 == 0x80 || code&0xf0 == 0x90 {
				continue
			}
			for range 1000 {
				in := decode.Insn{Code: class | code, Dst: 1, Off: 1}
				if code&8 != 0 {
					in.Src = 2
				} else {
					in.Imm = immediate(r, 0)
				}
				a, va := guess(r)
				b, vb := guess(r)
				img, err := vm.Lower(vm.LowerConfig{Insns: []decode.Insn{in, {Code: 0x95}, {Code: 0x95}}})
				require.NoError(t, err)
				thread.Start(img, va, vb)
				thread.Run(1)
				var s registers
				s[1], s[2] = a, b
				where := fmt.Sprintf("%+v with %v (%#x) and %v (%#x)", in, a, va, b, vb)
				require.True(t, s.assume(&New(img, nil, nil).Insns[0], thread.PC() == 2), where)
				require.True(t, s[1].holds(va), "%s: %v", where, s[1])
				if s[1] != a {
					narrowed++
				}
			}
		}
	}
	require.Greater(t, narrowed, 1000)
}
