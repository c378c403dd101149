//go:build linux && (amd64 || arm64)

package jit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// TestAccessesBeyondElementsFault: what lookups tell the checks that follow ends with the element,
// before and behind it.
func TestAccessesBeyondElementsFault(t *testing.T) { eachTier(t, testAccessesBeyondElementsFault) }

func testAccessesBeyondElementsFault(t *testing.T) {
	for _, m := range []struct {
		name, key string
		size      int
	}{
		{"PLAIN", "*(u32 *)(r10 - 8) = r1", 8}, {"PERCPU", "*(u32 *)(r10 - 8) = r1", 12}, {"CHUNKS", "*(u32 *)(r10 - 8) = r1", 24}, {"HASH8", "r1 *= 3\n*(u64 *)(r10 - 8) = r1", 12},
	} {
		for _, access := range []string{"r4 = *(u32 *)(r3 + %d)", "*(u64 *)(r3 + %d) = r6", "lock *(u32 *)(r3 + %d) += r6", "r4 = *(u16 *)(r0 + %d)", "*(u8 *)(r0 + %d) = 1\n*(u32 *)(r3 - 4) = 1"} {
			for _, off := range []int{-8, -4, -1, 0, 4, m.size - 8, m.size - 4, m.size - 2, m.size - 1, m.size} {
				text := "r6 = 0\nl: r6 += 1\nif r6 == 1000 goto e\nr1 = r6\nr1 &= 3\n" + m.key + "\nr2 = r10\nr2 += -8\nr1 = " + m.name + "\ncall 1\nif r0 == 0 goto l\nr3 = r0\nr3 += 4\n" +
					fmt.Sprintf(access, off) + "\ngoto l\ne: r0 = 0\nexit"
				native, plain := newWorld(t), newWorld(t)
				plain.thread.SetEngine(nil)
				native.thread.CPU, plain.thread.CPU = 1, 1
				img := lower(t, mapNames.Replace(text), functions(native))
				for range 2 {
					native.thread.Start(img, native.buffer.Base)
					plain.thread.Start(img, plain.buffer.Base)
					require.Equal(t, plain.thread.Run(1<<20), native.thread.Run(1<<20), text)
					same(t, native, plain, text)
					if f := plain.thread.Fault(); f != nil {
						require.Equal(t, f.Kind, native.thread.Fault().Kind, text)
						require.Equal(t, f.PC, native.thread.Fault().PC, text)
					}
				}
				native.engine.Close()
			}
		}
	}
}

// TestLookupsOfWatchedElements: native code that has told cells of an element does not pass by a
// watch on it.
func TestLookupsOfWatchedElements(t *testing.T) { eachTier(t, testLookupsOfWatchedElements) }

func testLookupsOfWatchedElements(t *testing.T) {
	w := newWorld(t)
	img := lower(t, mapNames.Replace(inlinePrograms[0].text), functions(w))
	w.thread.Start(img, w.buffer.Base)
	require.Equal(t, vm.Budget, w.thread.Run(untilSettled))
	hits := 0
	w.mem.OnWatch = func(mem.Hit) { hits++ }
	count := func() int {
		hits = 0
		require.Equal(t, vm.Budget, w.thread.Run(16*11*100))
		return hits
	}
	assert.Zero(t, count())
	a := w.arrays[mapPlain]
	id := w.mem.AddWatch(a.lookup(0, 5), 8, true, true)
	assert.Greater(t, count(), 150)
	w.mem.RemoveWatch(id)
	assert.Zero(t, count())
}
