package jit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// wideView answers every load with a value, of any size.
type wideView struct {
	countingView
	value uint64
}

func (v *wideView) Load(uint64, int) (uint64, *mem.Fault) { return v.value, nil }

// TestLoadsOfAddresses: a load of four bytes of a context may yield an address, wider than what it
// loads, and what loops do with such a value is not bounded by its size.
func TestLoadsOfAddresses(t *testing.T) { eachTier(t, testLoadsOfAddresses) }

func testLoadsOfAddresses(t *testing.T) {
	value := uint64(8000<<32 | 8000<<16 | 3) // 8000 is beyond the object, and in the arena
	for _, tt := range []struct {
		name, size string
		shift      int
		words      []*uint64
		faults     bool
	}{
		{"a word that is known", "u32", 32, []*uint64{&value}, true},
		{"a word that is asked for", "u32", 32, nil, true},
		{"half a word", "u16", 16, nil, false},
		{"a byte", "u8", 16, nil, false},
		{"with sign", "s8", 16, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			img := lower(t, fmt.Sprintf(`
	r6 = r1
	r7 = r2
	r9 = 0
	r8 = 0
	r0 = 0
l:	r5 = r7
	r5 += r8
	r4 = *(u8 *)(r5 + 0)
	r0 += r4
	r9 += 1
	r8 = 0
	if r9 < 200 goto n
	r8 = *(%s *)(r6 + 0)
	r8 >>= %d
n:	if r9 != 1000 goto l
	exit`, tt.size, tt.shift), nil)
			native, plain := newRig(t), newRig(t)
			plain.thread.SetEngine(nil)
			want := vm.Done
			if tt.faults {
				want = vm.Faulted
			}
			for range 3 {
				for _, r := range []*rig{native, plain} {
					c, err := r.mem.Alloc(16, mem.Region{Kind: mem.Context, View: &wideView{value: value}})
					require.NoError(t, err)
					o, err := r.mem.Alloc(64, mem.Region{})
					require.NoError(t, err)
					r.thread.SetContext(c.Base, tt.words)
					r.thread.Start(img, c.Base, o.Base)
					require.Equal(t, want, r.thread.Run(1<<20), "%v", r.thread.Fault())
					r.mem.Free(c)
					r.mem.Free(o)
				}
				require.Empty(t, native.thread.Snapshot().Diff(plain.thread.Snapshot()))
			}
			require.NotZero(t, native.engine.Executed())
		})
	}
}
