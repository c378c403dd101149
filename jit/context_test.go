package jit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// countingView yields its offset and counts loads.
type countingView struct{ loads int }

func (v *countingView) Load(off uint64, _ int) (uint64, *mem.Fault) {
	v.loads++
	return 0x1000 + off, nil
}
func (v *countingView) Store(uint64, int, uint64) *mem.Fault { return nil }
func (v *countingView) Read(uint64, []byte) *mem.Fault       { return nil }
func (v *countingView) Write(uint64, []byte) *mem.Fault      { return nil }

// TestContextWords: loads of words of the context yield their values on both engines, whoever is
// asked for how many.
func TestContextWords(t *testing.T) {
	value, other := uint64(0xffff888000001234), uint64(0x5678)
	words := []*uint64{&value, nil, &other}
	for _, tt := range []struct {
		name, text string
		asked      int  // times in a run
		native     bool // code is not left to the interpreter but for that
	}{
		{"two words", "r6 = r1\nr2 = *(u32 *)(r6 + 0)\nr3 = *(u32 *)(r6 + 8)\nr0 = r2\nr0 += r3\nexit", 0, true},
		{"a word that is not named", "r2 = *(u32 *)(r1 + 0)\nr0 = *(u32 *)(r1 + 4)\nr0 += r2\nexit", 1, false},
		{"half a word", "r0 = *(u16 *)(r1 + 0)\nexit", 1, false},
		{"two at once", "r0 = *(u64 *)(r1 + 0)\nexit", 1, false},
		{"by another way", "r2 = r1\nr2 += 8\nr0 = *(u32 *)(r2 + 0)\nexit", 0, false},
		{"not the context", "r1 += 4\nr0 = *(u32 *)(r1 + 0)\nexit", 1, false},
		{"something plain", "*(u64 *)(r10 - 8) = 77\nr1 = r10\nr1 += -16\nr2 = 1\ncall f\nexit\nf: r0 = *(u32 *)(r1 + 8)\nr0 += r2\nexit", 0, true},
		{"in a function", "r6 = r1\nr2 = 5\ncall f\nr7 = *(u32 *)(r6 + 0)\nr0 += r7\nexit\nf: r0 = *(u32 *)(r1 + 8)\nr0 += r2\nexit", 0, true},
		{"over itself", "r1 = *(u32 *)(r1 + 8)\nr0 = r1\nexit", 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			native, plain := newRig(t), newRig(t)
			plain.thread.SetEngine(nil)
			img := lower(t, tt.text, nil)
			run := func(r *rig, words []*uint64) (view *countingView, executed uint64) {
				view = &countingView{}
				c, err := r.mem.Alloc(16, mem.Region{Kind: mem.Context, View: view})
				require.NoError(t, err)
				defer r.mem.Free(c)
				r.thread.SetContext(c.Base, words)
				for range 3 {
					view.loads = 0
					executed = r.engine.Executed()
					r.thread.Start(img, c.Base)
					require.Equal(t, vm.Done, r.thread.Run(1000), "%v", r.thread.Fault())
				}
				return view, r.engine.Executed() - executed
			}
			for range 2 { // with another address the second time
				got, executed := run(native, words)
				want, _ := run(plain, words)
				assert.Equal(t, plain.thread.Ret(), native.thread.Ret())
				assert.Equal(t, plain.thread.Insns(), native.thread.Insns())
				assert.Equal(t, tt.asked, want.loads)
				assert.Equal(t, want.loads, got.loads)
				if tt.native { // but for the exit
					assert.Equal(t, native.thread.Insns()-1, executed)
				}
				value++
			}
			for _, words := range [][]*uint64{nil, {nil, nil, &other}, {&value}} { // code is there already
				run(native, words)
				run(plain, words)
				assert.Equal(t, plain.thread.Ret(), native.thread.Ret())
			}
		})
	}
}
