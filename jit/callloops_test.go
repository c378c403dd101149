//go:build linux && (amd64 || arm64)

package jit

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/vm"
)

// quiet is a ledger for calls that nobody counts.
type quiet struct{ made [vm.NumInlines]uint64 }

func (*quiet) Open() bool                                  { return true }
func (*quiet) Time() (mono, boot, step uint64)             { return 0, 0, 0 }
func (*quiet) Lock() uint64                                { return 0 }
func (*quiet) Locked(uint64, *vm.Image, int)               {}
func (*quiet) Recorded(vm.Records, []vm.Record, *vm.Image) {}
func (q *quiet) Book(calls *[vm.NumInlines]uint64)         { q.made[vm.InlineLoop] += calls[vm.InlineLoop] }

// badResult refuses what a callback may not return.
func badResult(ret uint64) *vm.Action {
	if ret <= 1 {
		return nil
	}
	return vm.FaultAction(&vm.Fault{Kind: vm.BadReturn, Text: fmt.Sprint("returned ", ret)})
}

// testLoop is a helper as bpf_loop between two calls.
type testLoop struct{ i, n, fn, ctx uint64 }

func (s testLoop) Resume(t *vm.Thread, ret uint64) (uint64, *vm.Action) {
	if f := badResult(ret); f != nil {
		return 0, f
	}
	if s.i++; ret != 0 || s.i >= s.n {
		return s.i, nil
	}
	return 0, t.Invoke(s.fn, [5]uint64{s.i, s.ctx}, s)
}

func (s testLoop) Turns() (vm.Turns, bool) {
	return vm.Turns{Entry: s.fn, I: s.i, N: s.n, Ctx: s.ctx}, true
}

func (s testLoop) At(at vm.Turns) vm.Continuation { return testLoop{at.I, at.N, at.Entry, at.Ctx} }

// testEach walks elements of eight bytes. Rows of four are followed by a gap.
type testEach struct {
	i, n, fn, ctx, key, elements uint64
}

const (
	rowLength = 4
	rowBytes  = rowLength*8 + 24
)

func (s testEach) value(i uint64) uint64 { return s.elements + i/rowLength*rowBytes + i%rowLength*8 }

func (s testEach) call(t *vm.Thread) (uint64, *vm.Action) {
	var key [4]byte
	binary.NativeEndian.PutUint32(key[:], uint32(s.i))
	if f := t.Memory().Write(s.key, key[:]); f != nil {
		return 0, vm.MemFault(f)
	}
	return 0, t.Invoke(s.fn, [5]uint64{0x77, s.key, s.value(s.i), s.ctx}, s)
}

func (s testEach) Resume(t *vm.Thread, ret uint64) (uint64, *vm.Action) {
	if f := badResult(ret); f != nil {
		return 0, f
	}
	if s.i++; ret != 0 || s.i >= s.n {
		return s.i, nil
	}
	return s.call(t)
}

func (s testEach) Turns() (vm.Turns, bool) {
	end := min(s.n, s.i/rowLength*rowLength+rowLength)
	return vm.Turns{Entry: s.fn, I: s.i, N: end, Ctx: s.ctx, Map: 0x77, Key: s.key, Value: s.value(s.i), Stride: 8}, true
}

func (s testEach) At(at vm.Turns) vm.Continuation {
	s.i = at.I
	return s
}

// turnsRig is a recursionRig with helpers that call functions again and again.
type turnsRig struct {
	*recursionRig
	quiet
	key, elements []*mem.Region // by side
}

func newTurnsRig(t testing.TB) *turnsRig {
	r := &turnsRig{recursionRig: newRecursionRig(t)}
	for _, s := range r.sides {
		key, err := s.mem.Alloc(4, mem.Region{Name: "key"})
		require.NoError(t, err)
		elements, err := s.mem.Alloc(6*rowBytes, mem.Region{Name: "elements"})
		require.NoError(t, err)
		r.key, r.elements = append(r.key, key), append(r.elements, elements)
	}
	return r
}

// helper is what a program calls.
func (r *turnsRig) helper(id int32) *vm.Func {
	switch id {
	case helperLoop:
		return &vm.Func{Name: "loop", Fn: func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
			n := args[0] & 0xffffffff
			if args[3] != 0 || n > vm.MaxTurns {
				return ^uint64(0), nil
			}
			if n == 0 {
				return 0, nil
			}
			s := testLoop{0, n, args[1], args[2]}
			return 0, t.Invoke(s.fn, [5]uint64{0, s.ctx}, s)
		}, Inline: &vm.Inline{Kind: vm.InlineLoop, Ledger: r, Turner: testLoop{}}}
	case helperEach:
		return &vm.Func{Name: "each", Fn: func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
			for i, s := range r.sides {
				if s.thread == t {
					return testEach{0, 6*rowLength - 1, args[1], args[2], r.key[i].Base, r.elements[i].Base}.call(t)
				}
			}
			return 0, nil
		}, Inline: &vm.Inline{Kind: vm.InlineEach, Ledger: r}}
	}
	return r.recursionRig.helper(id)
}

// check runs a program made from a seed, some times.
func (r *turnsRig) check(t testing.TB, seed uint64) {
	text := turnsProgram(seed)
	insns, err := decode.Assemble(text)
	require.NoError(t, err, text)
	var img *vm.Image
	rng := rand.New(rand.NewPCG(seed, 6))
	for i := range 6 {
		if i%3 == 0 { // new code, which knows of no object
			img, err = vm.Lower(vm.LowerConfig{Name: "turns", Insns: insns, Fuse: true, Call: func(_ int, in decode.Insn) (*vm.Func, error) {
				return r.helper(in.Imm), nil
			}})
			require.NoError(t, err)
		}
		for side, s := range r.sides {
			clear(s.mem.Bytes(r.elements[side]))
			clear(s.mem.Bytes(r.key[side]))
		}
		r.now, r.only = [3]int{rng.IntN(len(r.sizes)), 4 + rng.IntN(3), 6}, rng.IntN(4*len(r.sizes))
		pieces := []uint64{20_000}
		switch rng.IntN(4) {
		case 0:
			pieces = nil
			for range 12 {
				pieces = append(pieces, uint64(rng.IntN(1200)))
			}
		case 1:
			pieces = nil
			for range 60 {
				pieces = append(pieces, uint64(rng.IntN(30)))
			}
			pieces = append(pieces, 3000)
		}
		if d := r.run(t, img, uint64(rng.IntN(3)), []uint64{0, 1, 2, 5, 40}[rng.IntN(5)], pieces); d != "" {
			t.Fatalf("seed %d: %s\n%s", seed, d, text)
		}
	}
}

// TestTurns compares helpers that call functions again and again, in every way that can end or
// interrupt them, on native code of both tiers with the interpreter.
func TestTurns(t *testing.T) {
	n := testsize.Pick[uint64](2500, 150, 150)
	const each = 200
	for from := uint64(0); from < n; from += each {
		t.Run(fmt.Sprint(from), func(t *testing.T) {
			r := newTurnsRig(t)
			for seed := from; seed < min(from+each, n); seed++ {
				r.check(t, seed)
			}
			for _, s := range r.sides[1:] {
				require.Greater(t, s.engine.Executed(), r.insns/3)
			}
			require.NotZero(t, r.made[vm.InlineLoop], "loops that code began itself")
		})
	}
}

// TestTurnsCheckClean: comparing with the interpreter finds nothing.
func TestTurnsCheckClean(t *testing.T) {
	for seed := range testsize.Pick[uint64](60, 10, 10) {
		r := newTurnsRig(t)
		for _, s := range r.sides[1:] {
			s.engine.Check(func(d string) { t.Errorf("seed %d: %s\n%s", seed, d, turnsProgram(seed)) })
		}
		r.check(t, seed)
	}
}

// TestTurnsStayNative: the calls of a long loop leave native code neither at the end of a piece nor
// when a callback calls a helper.
func TestTurnsStayNative(t *testing.T) { eachTier(t, testTurnsStayNative) }

func testTurnsStayNative(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"loop", "r1 = 5000\nr2 = func(f)\nr3 = r10\nr3 += -8\nr4 = 0\ncall 20\nexit\nf: r3 = *(u64 *)(r2 + 0)\nr3 += r1\n*(u64 *)(r2 + 0) = r3\nr0 = 0\nexit"},
		{"with a function", "r1 = 5000\nr2 = func(f)\nr4 = 0\ncall 20\nexit\nf: call g\nr0 = 0\nexit\ng: r0 = r1\nr0 *= 3\nexit"},
		{"in a loop", "r1 = 50\nr2 = func(f)\nr4 = 0\ncall 20\nexit\nf: r1 = 100\nr2 = func(g)\nr4 = 0\ncall 20\nr0 = 0\nexit\ng: r0 = 0\nexit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			turns := &turnsRig{}
			img := lower(t, tt.text, func(_ int, in decode.Insn) (*vm.Func, error) { return turns.helper(in.Imm), nil })
			for range 20 {
				r.thread.Start(img)
				for r.thread.Run(1009) == vm.Budget {
				}
				require.Equal(t, vm.Done, r.thread.Status(), "%v", r.thread.Fault())
			}
			before := r.engine.Executed()
			r.thread.Start(img)
			for r.thread.Run(1009) == vm.Budget {
			}
			assert.Greater(t, (r.engine.Executed()-before)*100, r.thread.Insns()*90)
		})
	}
}

// FuzzTurns is TestTurns for any seed.
func FuzzTurns(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { newTurnsRig(t).check(t, seed) })
}
