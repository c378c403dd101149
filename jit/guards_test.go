package jit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// TestStoresBesideGuards: one instruction stores to a place beside a guard for a while, so that its
// cell is set if anything can set it, and then to any other place, where native code faults as the
// interpreter does.
func TestStoresBesideGuards(t *testing.T) { eachTier(t, testStoresBesideGuards) }

// guardedValue is a value with a kptr, a lock before data, a lock behind data, and a timer.
var guardedValue = mem.Region{Kind: mem.MapValue, Name: "value", Guards: []mem.Guard{{Off: 0, Size: 8, What: "the kptr"}, {Off: 8, Size: 4, What: "the lock"}, {Off: 28, Size: 4, What: "the other lock"}, {Off: 32, Size: 16, What: "the timer"}}}

const guardedSize = 54

func testStoresBesideGuards(t *testing.T) {
	native, plain := newRig(t), newRig(t)
	plain.thread.SetEngine(nil)
	var base uint64
	var content [2][guardedSize]byte
	for _, r := range []*rig{native, plain} {
		region, err := r.mem.Alloc(guardedSize, guardedValue)
		require.NoError(t, err)
		base = region.Base
	}
	for _, size := range []int{8, 16, 32, 64} {
		for _, wide := range []bool{false, true} { // one check for the store and the four bytes behind it
			text := fmt.Sprintf("r7 = 0\nl: *(u%d *)(r2 + 0) = r7\n", size)
			if wide {
				text += fmt.Sprintf("*(u32 *)(r2 + %d) = r7\n", size/8)
			}
			img := lower(t, text+"r7 += 1\nif r7 != 100 goto n\nr2 = r3\nn: if r7 != 103 goto l\nr0 = *(u32 *)(r1 + 8)\nexit", nil)
			for _, first := range []uint64{12, 16, 24, 48} {
				for then := range uint64(guardedSize + 2) {
					var status [2]vm.Stop
					for i, r := range []*rig{native, plain} {
						r.thread.Start(img, base, base+first, base+then)
						status[i] = r.thread.Run(10000)
					}
					what := fmt.Sprintf("u%d, %t, at %d, then at %d", size, wide, first, then)
					require.Equal(t, status[1], status[0], what)
					require.Empty(t, native.thread.Snapshot().Diff(plain.thread.Snapshot()), what)
					if f := plain.thread.Fault(); f != nil {
						require.Equal(t, f.Mem.Kind, native.thread.Fault().Mem.Kind, what)
						require.Equal(t, f.PC, native.thread.Fault().PC, what)
					}
					for i, r := range []*rig{native, plain} {
						require.Nil(t, r.mem.Read(base, content[i][:]))
					}
					require.Equal(t, content[1], content[0], what)
				}
			}
		}
	}
	assert.NotZero(t, native.engine.Executed())
}

// TestStoresBesideALockStayNative: no turn is left to the interpreter.
func TestStoresBesideALockStayNative(t *testing.T) {
	r := newRig(t)
	region, err := r.mem.Alloc(guardedSize, guardedValue)
	require.NoError(t, err)
	img := lower(t, "r7 = 0\nl: r3 = *(u32 *)(r1 + 12)\nr3 += 1\n*(u32 *)(r1 + 12) = r3\nr7 += 1\nif r7 != 1000 goto l\nr0 = *(u32 *)(r1 + 12)\nexit", nil)
	for i := range uint64(20) {
		before := r.engine.Executed()
		r.thread.Start(img, region.Base)
		require.Equal(t, vm.Done, r.thread.Run(100000), "%v", r.thread.Fault())
		assert.Equal(t, 1000*(i+1), r.thread.Ret())
		if i == 19 { // when loops are optimised
			assert.Greater(t, r.engine.Executed()-before, r.thread.Insns()-20)
		}
	}
}
