package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/vm"
)

// TestFunctionsFallIntoOthers: code continues in the next function, with a stack of its own and
// registers to restore.
func TestFunctionsFallIntoOthers(t *testing.T) { eachTier(t, testFunctionsFallIntoOthers) }

func testFunctionsFallIntoOthers(t *testing.T) {
	for name, last := range map[string]string{
		"an operation":               "r3 += 1",
		"what the interpreter does":  "r3 += r10",
		"a call":                     "call h",
		"a branch":                   "if r3 == 77 goto h",
		"a store of the stack's end": "*(u64 *)(r10 - 8) = r10",
	} {
		t.Run(name, func(t *testing.T) {
			img := lower(t, `
	r9 = 0
	r7 = 0
l:	r6 = 1
	*(u64 *)(r10 - 8) = 7
	call f
	r0 = *(u64 *)(r10 - 8)
	r0 += r6
	r7 += r0
	r9 += 1
	if r9 != 50 goto l
	call g
	r0 = r7
	exit
f:	r6 = 55
	r8 = 66
	r3 = 5
	`+last+`
g:	*(u64 *)(r10 - 8) = 9
	r0 = 0
	exit
h:	r0 = 0
	exit`, nil)
			native, plain := newRig(t), newRig(t)
			plain.thread.SetEngine(nil)
			for range 3 {
				for _, r := range []*rig{native, plain} {
					r.thread.Start(img)
					require.Equal(t, vm.Done, r.thread.Run(1<<20), "%v", r.thread.Fault())
				}
				require.Empty(t, native.thread.Snapshot().Diff(plain.thread.Snapshot()))
				require.EqualValues(t, 50*8, native.thread.Ret())
			}
			require.NotZero(t, native.engine.Executed())
		})
	}
}
