package machine_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// TestPlacesOfUSDTArguments: a program finds the arguments that a run gives wherever the probe's
// note says they are. A register that two of them use holds the one that is given.
func TestPlacesOfUSDTArguments(t *testing.T) {
	note := func(s string) *string { return &s }
	m := compose(t, load(t, "../../examples/usdt/usdt.bpf.o", target(t, embedded.Name)), machine.Config{})
	status := func(in machine.Input) (count, status int32, err error) {
		res, err := m.Run(t.Context(), "on_query", in)
		if err != nil {
			return 0, 0, err
		}
		require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
		require.Len(t, res.Events, 1)
		data := res.Events[0].Data
		return int32(binary.LittleEndian.Uint32(data[8:])), int32(binary.LittleEndian.Uint32(data[12:])), nil
	}
	for _, tt := range []struct {
		note  *string
		count int32
	}{
		{nil, 1}, // as many as the run gives
		{note("-4@%edi"), 1},
		{note("-4@%edi 8@%rsi"), 2},
		{note("-4@%edi 4@%edi"), 2},           // one register twice
		{note("-4@%edi -8@%rdi 1@%dil"), 3},   // in all its sizes
		{note("-4@-20(%rbp) 8@-16(%rbp)"), 2}, // below one register
		{note("-4@-20(%rbp) 8@%rbp"), 2},      // memory at a register that is an argument nobody gave
		{note("-4@$-2 8@%rdi"), 2},
	} {
		count, got, err := status(machine.Input{USDT: tt.note, Args: map[string]any{"arg1": -2}})
		require.NoError(t, err)
		assert.Equal(t, [2]int32{tt.count, -2}, [2]int32{count, got})
	}
	for _, tt := range []struct {
		note string
		args map[string]any
		want string
	}{
		{"-4@%edi 4@%edi", map[string]any{"arg1": 1, "arg2": 2}, "argument 1"},
		{"-4@$7", map[string]any{"arg1": 1}, "argument 1"},
		{"-4@%edi", map[string]any{"arg2": 1}, "the probe has 1 arguments"},
		{"-4@(%rdi) 8@%rdi", map[string]any{"arg1": 1, "arg2": 16}, "nothing is mapped there"},
		{"-4@(%rdi) 8@2000000(%rdi)", nil, "bytes apart"},
	} {
		_, _, err := status(machine.Input{USDT: note(tt.note), Args: tt.args})
		var wrong *machine.USDTError
		require.ErrorAs(t, err, &wrong, tt.note)
		assert.Contains(t, wrong.Error(), tt.want, tt.note)
	}
}
