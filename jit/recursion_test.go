//go:build linux && (amd64 || arm64)

package jit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/vm"
)

// recursionSide is one of the engines that a recursionRig compares, with a memory of its own.
type recursionSide struct {
	*rig
	objects []*mem.Region
	calls   []uint64 // what helpers were called with
}

// recursionRig runs programs on the interpreter, which is the first side, and on native code: with
// loops optimised at once, soon, and never.
type recursionRig struct {
	sides []*recursionSide
	sizes []uint64
	now   [3]int // the objects of the run
	only  int    // which of all objects is only read
	insns uint64 // executed
}

// aroundCalls continues a helper that calls back n times more.
type aroundCalls struct {
	entry uint64
	args  [5]uint64
	n     int
}

func (c aroundCalls) Resume(t *vm.Thread, ret uint64) (uint64, *vm.Action) {
	if c.n == 0 {
		return ret, nil
	}
	c.n--
	return 0, t.Invoke(c.entry, c.args, c)
}

func newRecursionRig(t testing.TB) *recursionRig {
	r := &recursionRig{sizes: []uint64{24, 40, 64, 129, 256, 600, 9000}}
	usual := sampled
	t.Cleanup(func() { sampled = usual })
	sampled = 200
	for i := range 4 {
		s := &recursionSide{rig: newRig(t), objects: make([]*mem.Region, len(r.sizes))}
		switch i {
		case 0:
			s.thread.SetEngine(nil)
		case 1:
			s.engine.SetEager(0)
		case 2:
			s.engine.SetEager(10)
		case 3:
			s.engine.SetEager(1 << 30)
		}
		r.sides = append(r.sides, s)
	}
	return r
}

// fresh makes the objects as they were before any helper changed them.
func (r *recursionRig) fresh(t testing.TB, s *recursionSide) {
	s.calls = s.calls[:0]
	for i, size := range r.sizes {
		o := s.objects[i]
		if o == nil || o.Freed {
			var err error
			o, err = s.mem.Alloc(size, mem.Region{Name: fmt.Sprintf("object %d", i)})
			require.NoError(t, err)
			s.objects[i] = o
		}
		s.mem.SetReadOnly(o, i == r.only)
		start, _ := o.Extent()
		require.NoError(t, s.mem.SetBounds(o, start, start+size))
		b := s.mem.Bytes(o)
		for j := range b {
			b[j] = byte(j*7 + i)
		}
	}
}

// helper is what a program calls. All notice on which side they are called.
func (r *recursionRig) helper(id int32) *vm.Func {
	return &vm.Func{Name: fmt.Sprint("helper ", id), ID: id, Fn: func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
		var s *recursionSide
		for _, s = range r.sides {
			if s.thread == t {
				break
			}
		}
		s.calls = append(s.calls, uint64(id), uint64(t.Depth()), args[0])
		o := s.objects[r.now[args[0]%3]]
		switch id {
		case helperInvoke:
			return 0, t.Invoke(args[4], *args, aroundCalls{args[4], *args, int(args[2] & 1)})
		case helperChurn:
			if other, err := s.mem.Alloc(16, mem.Region{}); err == nil {
				s.mem.Free(other)
			}
		case helperBounds:
			if start, size := o.Extent(); !o.Freed {
				if err := s.mem.SetBounds(o, start, start+size*(args[1]&3+1)/4); err != nil {
					panic(err)
				}
			}
		case helperReadOnly:
			s.mem.SetReadOnly(o, args[1]&1 == 0)
		case helperFree:
			s.mem.Free(o)
		}
		return args[0]&3 + uint64(t.Depth()), nil
	}}
}

// lower makes the image that all sides run.
func (r *recursionRig) lower(t testing.TB, insns []decode.Insn) *vm.Image {
	img, err := vm.Lower(vm.LowerConfig{Name: "recursion", Insns: insns, Fuse: true, Call: func(_ int, in decode.Insn) (*vm.Func, error) {
		return r.helper(in.Imm), nil
	}})
	require.NoError(t, err)
	return img
}

// run runs a program on all sides, in pieces, and says what differs.
func (r *recursionRig) run(t testing.TB, img *vm.Image, number, depth uint64, pieces []uint64) string {
	for _, s := range r.sides {
		r.fresh(t, s)
		s.thread.Start(img, s.objects[r.now[0]].Base, s.objects[r.now[1]].Base, number, depth, s.objects[r.now[2]].Base)
	}
	for _, limit := range pieces {
		for i, s := range r.sides {
			s.thread.Run(limit)
			if i > 0 {
				if d := r.differs(s); d != "" {
					return fmt.Sprintf("side %d, objects %v, number %d, depth %d, pieces %d: %s", i, r.now, int64(number), depth, pieces, d)
				}
			}
		}
		if r.sides[0].thread.Status() != vm.Budget {
			break
		}
	}
	r.insns += r.sides[0].thread.Insns()
	return ""
}

// differs describes how a side is not as the interpreter.
func (r *recursionRig) differs(s *recursionSide) string {
	plain := r.sides[0]
	p, n := plain.thread, s.thread
	if p.Status() != n.Status() {
		return fmt.Sprintf("%v (%v), the interpreter %v (%v)", n.Status(), n.Fault(), p.Status(), p.Fault())
	}
	if d := n.Snapshot().Diff(p.Snapshot()); d != "" {
		return d
	}
	if p.Fault() != nil && p.Fault().Error() != n.Fault().Error() {
		return fmt.Sprintf("%v, the interpreter %v", n.Fault(), p.Fault())
	}
	if !slices.Equal(plain.calls, s.calls) {
		return fmt.Sprintf("calls %d, the interpreter %d", s.calls, plain.calls)
	}
	if !bytes.Equal(plain.engine.arenaBytes(), s.engine.arenaBytes()) {
		return "memory differs"
	}
	return ""
}

// check makes a program from a seed and runs it some times, each with other objects.
func (r *recursionRig) check(t testing.TB, seed uint64) {
	text := recursion(seed)
	insns, err := decode.Assemble(text)
	require.NoError(t, err)
	var img *vm.Image
	rng := rand.New(rand.NewPCG(seed, 4))
	a, b := 0, 0
	for i := range 10 {
		if i%2 == 0 { // new code, which knows of no object
			img = r.lower(t, insns)
		}
		switch {
		case i%4 == 3:
			a, b = b, a
		case rng.IntN(5) == 0:
			a, b = rng.IntN(len(r.sizes)), rng.IntN(len(r.sizes))
		case rng.IntN(4) == 0:
			a, b = 4+rng.IntN(3), rng.IntN(4)
		default: // what the function that calls has is smaller
			a, b = rng.IntN(4), 4+rng.IntN(3)
		}
		r.now, r.only = [3]int{a, b, rng.IntN(len(r.sizes))}, rng.IntN(3*len(r.sizes))
		number := []uint64{0, 0, 0, 1, 5, r.sizes[a] - uint64(rng.IntN(60)), r.sizes[b] - uint64(rng.IntN(60)), -uint64(rng.IntN(16))}[rng.IntN(8)]
		pieces := []uint64{8000}
		if rng.IntN(4) == 0 {
			pieces = nil
			for range 12 {
				pieces = append(pieces, uint64(rng.IntN(1200)))
			}
		}
		if d := r.run(t, img, number, []uint64{0, 1, 1, 2, 2, 3}[rng.IntN(6)], pieces); d != "" {
			t.Fatalf("seed %d: %s\n%s", seed, d, text)
		}
	}
}

// TestRecursion compares functions that call themselves on native code of both tiers with the
// interpreter: what an activation of a loop relies on must not be taken from another.
// BPFRUN_RECURSION is the number of programs.
func TestRecursion(t *testing.T) {
	n := testsize.Pick[uint64](2500, 150, 150)
	if v, err := strconv.ParseUint(os.Getenv("BPFRUN_RECURSION"), 10, 64); err == nil {
		n = v
	}
	const each = 200
	for from := uint64(0); from < n; from += each {
		t.Run(fmt.Sprint(from), func(t *testing.T) {
			r := newRecursionRig(t)
			for seed := from; seed < min(from+each, n); seed++ {
				r.check(t, seed)
			}
			for _, s := range r.sides[1:] {
				require.Greater(t, s.engine.Executed(), r.insns/3)
			}
		})
	}
}

// FuzzRecursion is TestRecursion for any seed.
func FuzzRecursion(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { newRecursionRig(t).check(t, seed) })
}
