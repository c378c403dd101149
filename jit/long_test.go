package jit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// TestLongCode: branches reach over programs whose instructions take much code each.
func TestLongCode(t *testing.T) {
	const n = 16300
	for name, line := range map[string]string{
		"atomics":       "r0 = cmpxchg_64(r1 + 32760, r0, r2)",
		"loads":         "r0 = *(u8 *)(r1 + 32767)",
		"jumps":         "if r0 s> 0x12345678 goto e",
		"may_goto":      "may_goto e",
		"calls":         "call f",
		"large numbers": "r0 %= 0x12345678",
	} {
		t.Run(name, func(t *testing.T) {
			text := "r0 = 0\nr2 = 0\nif r3 == 0 goto e\nl:\n" + strings.Repeat(line+"\n", n) + "r3 += -1\nif r3 != 0 goto l\ne: exit\nf: r6 = 0\nr7 = 0\nr8 = 0\nr9 = 0\nmay_goto g\ng: exit"
			native, plain := newRig(t), newRig(t)
			plain.thread.SetEngine(nil)
			img := lower(t, text, nil)
			for _, r3 := range []uint64{2, 0, 1} {
				for _, far := range []uint64{0, 8, 32760} { // what is not accessible is asked for out of line
					for _, r := range []*rig{native, plain} {
						o, err := r.mem.Alloc(32768, mem.Region{Name: "object"})
						require.NoError(t, err)
						r.thread.Start(img, o.Base+far, 1, r3)
						r.thread.Run(1 << 30)
						r.mem.Free(o)
					}
					require.Equal(t, plain.thread.Status(), native.thread.Status(), "%v %v", plain.thread.Fault(), native.thread.Fault())
					require.Empty(t, native.thread.Snapshot().Diff(plain.thread.Snapshot()), fmt.Sprint(r3, far))
					require.NotEqual(t, vm.Budget, native.thread.Status())
				}
			}
			require.NotZero(t, native.engine.Executed())
		})
	}
}
