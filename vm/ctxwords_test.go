package vm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
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

func TestWordsOfTheContextYieldTheirValues(t *testing.T) {
	e := newEnv(t)
	view := &countingView{}
	r, err := e.m.Alloc(16, mem.Region{Kind: mem.Context, View: view})
	require.NoError(t, err)
	load := func(code uint8, off int16) decode.Insn { return ins(code, 2, 1, off, 0) }
	value := uint64(0xffff888000001234)
	for _, c := range []struct {
		name  string
		insn  decode.Insn
		words []*uint64
		want  uint64
		asked int
	}{
		{"the whole value, whatever the width", load(0x61, 4), []*uint64{nil, &value}, value, 0},
		{"a word that is not named", load(0x61, 0), []*uint64{nil, &value}, 0x1000, 1},
		{"behind the last word", load(0x61, 8), []*uint64{nil, &value}, 0x1008, 1},
		{"half a word", load(0x69, 4), []*uint64{nil, &value}, 0x1004, 1},
		{"two words", load(0x79, 0), []*uint64{&value, &value}, 0x1000, 1},
		{"no words", load(0x61, 4), nil, 0x1004, 1},
	} {
		for _, step := range []uint64{1, 100} {
			view.loads = 0
			th := NewThread(e.m, ThreadConfig{})
			th.SetContext(r.Base, c.words)
			th.Start(e.lower(t, c.insn, movReg(0, 2), exitInsn), r.Base)
			require.Equal(t, Done, runAll(th, step, 10), "%s: %v", c.name, th.Fault())
			assert.Equal(t, c.want, th.Ret(), c.name)
			assert.Equal(t, c.asked, view.loads, c.name)
			assert.EqualValues(t, 3, th.Insns(), c.name)
		}
	}
}

func TestWatchesSeeLoadsOfContextWords(t *testing.T) {
	e := newEnv(t)
	view := &countingView{}
	r, err := e.m.Alloc(16, mem.Region{Kind: mem.Context, View: view})
	require.NoError(t, err)
	hits := 0
	e.m.OnWatch = func(mem.Hit) { hits++ }
	e.m.AddWatch(r.Base, 4, true, false)
	value := uint64(7)
	th := NewThread(e.m, ThreadConfig{})
	th.SetContext(r.Base, []*uint64{&value})
	th.Start(e.lower(t, ins(0x61, 0, 1, 0, 0), exitInsn), r.Base)
	require.Equal(t, Done, runAll(th, 100, 10))
	assert.Equal(t, 1, hits)
}
