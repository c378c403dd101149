package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/loader"
)

// Programs run as native code where the session asks for it.
func TestProgramsRunOnTheEngineOfTheConfiguration(t *testing.T) {
	if !machine.NativeCode() {
		t.Skip("no native code on this system")
	}
	spec, err := embedded.Spec()
	require.NoError(t, err)
	for engine, native := range map[machine.Engine]bool{machine.EngineInterpreter: false, machine.EngineJIT: true} {
		s, err := bpfsys.New(bpfsys.Config{Target: loader.NewTarget(embedded.Name, spec), Machine: machine.Config{Uncovered: true, Unwatched: true, Engine: engine}})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		k := &task{s: s, mem: make([]byte, 1<<20), base: base, files: map[int32]bpfsys.File{}, next: 3}
		p, e := k.load(uapi.ProgTypeXDP, []decode.Insn{
			{Code: 0xb7, Imm: 2},                       // r0 = 2
			{Code: 0xb7, Dst: 1},                       // r1 = 0
			{Code: 0x07, Dst: 1, Imm: 1},               // r1 += 1
			{Code: 0xa5, Dst: 1, Imm: 50_000, Off: -2}, // if r1 < 50000 goto -2
			{Code: 0x95},                               // exit
		})
		require.Zero(t, e)
		packet := k.put(make([]byte, 64))
		for range 100 { // the first two million instructions are tracked, on the interpreter
			_, e, a := k.call(testRun, field{0, int(p)}, field{8, 64}, field{12, 0}, field{16, packet}, field{68, 0})
			require.Zero(t, e, "%v", k.notes)
			require.Equal(t, uint32(2), le.Uint32(a[4:]))
		}
		executed := uint64(0)
		if e, ok := s.Machine().Thread().Engine().(*jit.Engine); ok {
			executed = e.Executed()
		}
		assert.Equal(t, native, executed > 0, "%d instructions as native code", executed)
	}
}
