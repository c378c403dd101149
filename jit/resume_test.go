//go:build linux && (amd64 || arm64)

package jit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// TestFunctionsGoOnAsCode: what a function leaves to Go, calls and accesses of views, does not make
// its callers the thread's: all but that is native code.
func TestFunctionsGoOnAsCode(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		left       uint64 // instructions left to Go in each of the turns
	}{
		{"a call", "f: call 7\nexit", 1},
		{"a call, with a stack", "f: *(u64 *)(r10 - 8) = 5\ncall 7\nr1 = *(u64 *)(r10 - 8)\nr0 += r1\nexit", 1},
		{"a call further down", "f: r6 = 9\nr8 = r10\n*(u64 *)(r10 - 8) = r8\ncall g\nr0 += r6\nr1 = *(u64 *)(r8 - 8)\nexit\ng: r7 = 8\nr6 = 3\ncall 7\nr0 += r6\nexit", 1},
		{"a view", "f: r9 = *(u64 *)(r1 + 0)\nr0 = r9\nr0 += r9\nexit", 1},
		{"both", "f: r7 = *(u64 *)(r1 + 0)\ncall 7\nr0 += r7\nexit", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const turns = 5
			text := "r6 = r1\nr7 = 1\n*(u64 *)(r10 - 8) = 7\nr9 = r10\nr8 = 5\nl: r1 = r6\ncall f\nr7 *= 3\nr7 += r0\nr0 = *(u64 *)(r10 - 8)\nr7 += r0\n" +
				"*(u64 *)(r9 - 8) = r7\nr8 += -1\nif r8 != 0 goto l\nr0 = r7\nexit\n" + tt.text
			r := newRig(t)
			o, err := r.mem.Alloc(32, mem.Region{Name: "object", View: &countingView{}})
			require.NoError(t, err)
			img := lower(t, text, probed)
			run := func(th *vm.Thread) (ret, insns uint64) {
				th.Start(img, o.Base)
				require.Equal(t, vm.Done, th.Run(1000))
				return th.Ret(), th.Insns()
			}
			plain := vm.NewThread(r.mem, vm.ThreadConfig{})
			want, _ := run(plain)
			run(r.thread) // makes the frames, which is the interpreter's
			before := r.engine.Executed()
			got, insns := run(r.thread)
			assert.Equal(t, want, got)
			assert.Equal(t, insns-turns*tt.left-1, r.engine.Executed()-before, "all but the last exit")
		})
	}
}
