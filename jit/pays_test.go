//go:build linux && (amd64 || arm64)

package jit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// TestCodeThatIsLeftAllTheTimeRests: the interpreter runs what would be slower as native code, and
// after a while it is tried again.
func TestCodeThatIsLeftAllTheTimeRests(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		view       mem.View
		rests      bool
	}{
		{"loads of a view", "r2 = *(u64 *)(r1 + 0)\nr3 = *(u64 *)(r1 + 8)\nr0 = r2\nr0 += r3\nexit", &countingView{}, true},
		{"calls", "r6 = 3\nl: call 7\nr6 += -1\nif r6 != 0 goto l\nr0 = 0\nexit", nil, true},
		{"loads of plain memory", "r2 = *(u64 *)(r1 + 0)\nr3 = *(u64 *)(r1 + 8)\nr0 = r2\nr0 += r3\nexit", nil, false},
		{"calls among others", "r6 = 3\nl: call 7\nr0 *= 3\nr0 *= 3\nr0 *= 3\nr0 *= 3\nr0 *= 3\nr6 += -1\nif r6 != 0 goto l\nr0 = 0\nexit", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			o, err := r.mem.Alloc(32, mem.Region{Name: "object", View: tt.view})
			require.NoError(t, err)
			img := lower(t, tt.text, probed)
			run := func(n int) (ret, executed uint64) {
				before := r.engine.Executed()
				for range n {
					r.thread.Start(img, o.Base)
					require.Equal(t, vm.Done, r.thread.Run(1000))
				}
				return r.thread.Ret(), r.engine.Executed() - before
			}
			ret, executed := run(10)
			assert.NotZero(t, executed)
			run(exitsWatched)
			same, executed := run(100)
			assert.Equal(t, tt.rests, executed == 0)
			assert.Equal(t, ret, same)
			_, executed = run(restRuns)
			assert.NotZero(t, executed)
		})
	}
}
