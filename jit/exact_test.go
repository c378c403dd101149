package jit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// probe is a helper that only continues.
var probe = &vm.Func{Name: "probe", ID: 7, Fn: func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
	return uint64(t.Depth())<<32 + args[0], nil
}}

func probed(int, decode.Insn) (*vm.Func, error) { return probe, nil }

// programs with loops, calls, helpers in called functions, may_goto.
var exactPrograms = []struct{ name, text string }{
	{"loop", "r0 = 0\nl: r0 += 1\nr0 *= 3\nif r0 s> 7 goto m\nr0 += 2\nm: r0 &= 1023\ngoto l"},
	{"loops inside", "r0 = 0\na: r1 = 5\nb: r0 += r1\nr1 += -1\nif r1 != 0 goto b\nif r0 < 100000 goto a\nr0 = 0\ngoto a"},
	{"calls", "r6 = 7\nr7 = 8\nl: r1 = r6\ncall f\nr6 += r0\nr6 &= 255\ngoto l\nf: r6 = r1\nr9 = 4\nr1 += 1\ncall g\nr0 += r6\nexit\ng: r0 = r1\nif r0 != 12 goto h\nr8 = 3\nr1 = r8\ncall 7\nh: exit"},
	{"may_goto", "r0 = 0\nl: r0 += 1\nr1 = r0\ncall f\nmay_goto e\ngoto l\ne: exit\nf: r2 = 0\nm: r2 += 1\nif r2 == 6 goto n\nmay_goto n\ngoto m\nn: exit"},
	{"helpers", "r0 = 0\nl: r1 = r0\ncall 7\nr0 += 1\nr0 &= 63\ngoto l"},
	{"helpers in functions", "r6 = r10\nr6 += -16\nr7 = 1\nl: *(u64 *)(r10 - 16) = r7\nr1 = 3\ncall f\nr7 = *(u64 *)(r6 + 0)\nr7 += r0\nr7 &= 4095\ngoto l\n" +
		"f: call 7\nr8 = r0\nr1 = r8\ncall g\nr0 += r8\nexit\ng: *(u64 *)(r10 - 8) = r1\ncall 7\nr1 = *(u64 *)(r10 - 8)\nr0 += r1\nmay_goto n\nn: exit"},
	{"extensions", "r0 = -77\nr1 = 0x123456789 ll\nl: r2 = r0\nr2 <<= 32\nr2 >>= 32\nr3 = r0\nr3 <<= 32\nr3 s>>= 32\nr4 = r10\nr4 <<= 32\nr4 >>= 32\nr0 ^= r1\nr0 += r2\n" +
		"r1 <<= 32\nr1 >>= 32\nr1 <<= 32\nr1 s>>= 32\nr1 ^= r3\nr1 -= r4\nr5 = r0\nr5 &= 255\nw6 = w1\nw6 &= 65535\nr7 = r1\nr7 &= -256\nr1 += r5\nr1 -= r6\nr0 ^= r7\ngoto l"},
	{"stack", "r0 = 1\nl: *(u64 *)(r10 - 8) = r0\nr2 = r10\nr2 += -16\n*(u64 *)(r2 + 0) = r0\nr0 = *(u64 *)(r10 - 16)\nr0 += 1\ngoto l"},
}

// TestExactCounts stops programs after every number of instructions up to some thousand, and each
// time compares the state with the interpreter's.
func TestExactCounts(t *testing.T) { eachTier(t, testExactCounts) }

func testExactCounts(t *testing.T) {
	for _, tt := range exactPrograms {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			img := lower(t, tt.text, probed)
			plain := newRig(t).thread
			plain.SetEngine(nil)
			plain.Start(img)
			for n := uint64(0); n < 1500; n++ {
				r.thread.Start(img)
				stop := r.thread.Run(n)
				require.Equal(t, vm.Budget, stop)
				require.Equal(t, n, r.thread.Insns())
				require.Empty(t, r.thread.Snapshot().Diff(plain.Snapshot()), "after %d instructions", n)
				require.Equal(t, vm.Budget, plain.Run(1))
			}
			assert.NotZero(t, r.engine.Executed())
		})
	}
}

// TestGoesOnAnywhere runs programs in pieces of every size, so that native code is entered and left
// in many places.
func TestGoesOnAnywhere(t *testing.T) { eachTier(t, testGoesOnAnywhere) }

func testGoesOnAnywhere(t *testing.T) {
	for _, tt := range exactPrograms {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			img := lower(t, tt.text, probed)
			plain := newRig(t).thread
			plain.SetEngine(nil)
			for size := uint64(1); size < 400; size += 3 {
				r.thread.Start(img)
				plain.Start(img)
				for range 10 {
					require.Equal(t, vm.Budget, r.thread.Run(size))
					require.Equal(t, vm.Budget, plain.Run(size))
					require.Empty(t, r.thread.Snapshot().Diff(plain.Snapshot()), "pieces of %d", size)
				}
			}
		})
	}
}

// TestObjectEnds tries every size at every offset around objects of every size, next to each other,
// with a pointer that moves: the remembered runs of memory must not outlive what they say.
func TestObjectEnds(t *testing.T) {
	for _, size := range []int{1, 2, 4, 8} {
		for _, store := range []bool{false, true} {
			t.Run(fmt.Sprint(size, store), func(t *testing.T) {
				r := newRig(t)
				kind := map[int]string{1: "u8", 2: "u16", 4: "u32", 8: "u64"}[size]
				text := fmt.Sprintf("r0 = *(%s *)(r1 + 0)\nr0 = 0\nexit", kind)
				if store {
					text = fmt.Sprintf("*(%s *)(r1 + 0) = r2\nr0 = 0\nexit", kind)
				}
				img := lower(t, text, nil)
				for length := 1; length <= 24; length++ {
					a, err := r.mem.Alloc(uint64(length), mem.Region{Name: "a"})
					require.NoError(t, err)
					ro, err := r.mem.Alloc(uint64(length), mem.Region{Name: "ro", ReadOnly: true})
					require.NoError(t, err)
					for _, object := range []*mem.Region{a, ro, a} {
						for off := -9; off <= length+9; off++ {
							want := off >= 0 && off+size <= length && !(store && object == ro)
							for range 3 {
								r.thread.Start(img, object.Base+uint64(off))
								stop := r.thread.Run(1 << 20)
								if want != (stop == vm.Done) {
									t.Fatalf("offset %d of %d bytes: %v %v", off, length, stop, r.thread.Fault())
								}
							}
						}
					}
					r.mem.Free(a)
					r.thread.Start(img, a.Base)
					require.Equal(t, vm.Faulted, r.thread.Run(1<<20))
					require.Equal(t, mem.UseAfterFree, r.thread.Fault().Mem.Kind)
				}
				assert.NotZero(t, r.engine.Executed())
			})
		}
	}
}

// TestMemoryChangesWhileCodeWaits: a helper frees the object, makes it read-only, shortens it,
// watches it.
func TestMemoryChangesWhileCodeWaits(t *testing.T) { eachTier(t, testMemoryChangesWhileCodeWaits) }

func testMemoryChangesWhileCodeWaits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(m *mem.Memory, r *mem.Region)
		fault  mem.FaultKind
	}{
		{"free", func(m *mem.Memory, r *mem.Region) { m.Free(r) }, mem.UseAfterFree},
		{"read-only", func(m *mem.Memory, r *mem.Region) { m.SetReadOnly(r, true) }, mem.ReadOnly},
		{"shorten", func(m *mem.Memory, r *mem.Region) { _ = m.SetBounds(r, r.Base, r.Base+16) }, mem.OutOfBounds},
		{"restore", nil, mem.OutOfBounds},
	} {
		for where, text := range map[string]string{
			"the program": "r6 = r1\nr7 = 0\nl: *(u64 *)(r6 + 16) = r7\nr7 += 1\ncall 7\ngoto l",
			"a function":  "r6 = r1\nr7 = 0\nl: *(u64 *)(r6 + 16) = r7\nr7 += 1\ncall f\nif r7 != 100000 goto l\nexit\nf: call 7\nexit",
		} {
			t.Run(tt.name+" in "+where, func(t *testing.T) { testMemoryChange(t, tt.change, tt.fault, text) })
		}
	}
}

// testMemoryChange runs a program whose 50th call does something to its object, nil to bring memory
// back to before that existed.
func testMemoryChange(t *testing.T, does func(*mem.Memory, *mem.Region), fault mem.FaultKind, text string) {
	r := newRig(t)
	snap := r.mem.Snapshot()
	object, err := r.mem.Alloc(64, mem.Region{Name: "object"})
	require.NoError(t, err)
	calls := 0
	change := &vm.Func{Name: "change", ID: 7, Fn: func(*vm.Thread, *[5]uint64) (uint64, *vm.Action) {
		if calls++; calls != 50 {
			return 0, nil
		}
		if does != nil {
			does(r.mem, object)
		} else {
			r.mem.Restore(snap)
		}
		return 0, nil
	}}
	img := lower(t, text, func(int, decode.Insn) (*vm.Func, error) { return change, nil })
	r.thread.Start(img, object.Base)
	require.Equal(t, vm.Faulted, r.thread.Run(1<<20))
	require.NotNil(t, r.thread.Fault().Mem, "%v", r.thread.Fault())
	assert.Equal(t, 2, r.thread.Fault().PC)
	assert.Equal(t, 50, calls)
	if does != nil {
		assert.Equal(t, fault, r.thread.Fault().Mem.Kind)
	}
}

// TestCheckFindsNothing: comparing with the interpreter changes nothing and finds nothing.
func TestCheckFindsNothing(t *testing.T) { eachTier(t, testCheckFindsNothing) }

func testCheckFindsNothing(t *testing.T) {
	for _, tt := range exactPrograms {
		r := newRig(t)
		r.engine.Check(func(text string) { t.Error(tt.name, text) })
		r.thread.Start(lower(t, tt.text, probed))
		require.Equal(t, vm.Budget, r.thread.Run(20_000))
		assert.NotZero(t, r.engine.Executed())
	}
}
