package jit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// TestUnusedRegistersAreNotSaved: what is interpreted in a function may change every register of
// its caller, but those the program does not have are in no register of the host, which holds
// something of its own there.
func TestUnusedRegistersAreNotSaved(t *testing.T) {
	if !Supported() {
		t.Skip("no native code on this system")
	}
	insns, err := decode.Assemble("r6 = 7; call +1; exit; call 99; exit")
	require.NoError(t, err)
	m, err := mem.New(mem.Config{Size: 16 << 20})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	e, err := New(m)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	img, err := vm.Lower(vm.LowerConfig{Name: "saved", Insns: insns}) // call 99 is for the interpreter, which stops there
	require.NoError(t, err)
	th := vm.NewThread(m, vm.ThreadConfig{})
	th.SetEngine(e)
	for range 2 { // frames that native code enters were used before
		th.Start(img)
		require.Equal(t, vm.Faulted, th.Run(100))
	}
	require.Equal(t, 1, th.Depth())
	for i, want := range []uint64{7, 0, 0, 0} {
		got, ok := th.FrameReg(1, 6+i)
		assert.True(t, ok)
		assert.Equal(t, want, got, "r%d", 6+i)
	}
}
