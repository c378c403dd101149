package machine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// TestStackBytesNobodyWrote: bytes that leave are a finding that names them; what leaves follows
// from the seed and is not zero; strict machines stop the program, and so do kernels without
// since.UninitStack.
func TestStackBytesNobodyWrote(t *testing.T) {
	const object = "../../testdata/objects/clang-14/silent.o"
	tests := []struct {
		prog    string
		offsets []int
		text    string
	}{
		{"warn_padding_in_key", []int{-19, -18, -17}, "bpf_map_update_elem stores 3 of 16 bytes in map by_padded that this run never wrote: padding after key padded.b (never stored on the stack)"},
		{"warn_padding_in_record", []int{-11, -10, -9}, "bpf_ringbuf_output sends 3 of 16 bytes to ring that this run never wrote: padding after padded.b (never stored on the stack)"},
		{"warn_in_function", []int{-7, -6, -5, -4, -3, -2, -1}, "bpf_ringbuf_output sends 7 of 8 bytes to ring that this run never wrote: bytes 1..7 of the record (never stored on the stack)"},
	}
	for _, tt := range tests {
		t.Run(tt.prog, func(t *testing.T) {
			sent := map[string]bool{}
			for seed := range uint64(3) {
				m := compose(t, load(t, object, target(t, embedded.Name)), machine.Config{Seed: seed})
				for range 2 {
					res := run(t, m, tt.prog)
					require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
					require.Len(t, res.StackReads, 1)
					assert.Equal(t, tt.offsets, res.StackReads[0].Offsets)
					assert.True(t, res.StackReads[0].Leaves)
					assert.Empty(t, res.Warnings, "it is said once")
					require.Len(t, res.Findings, 1)
					assert.Equal(t, tt.text, res.Findings[0].Text)
					assert.Contains(t, res.Findings[0].Source, "silent.bpf.c:")
					for _, e := range res.Events {
						sent[string(e.Data)] = true
					}
				}
			}
			if tt.prog == "warn_in_function" {
				assert.Len(t, sent, 3, "one for each seed")
			}
			strict := compose(t, load(t, object, target(t, embedded.Name)), machine.Config{Strict: true})
			assert.Equal(t, mem.NeverSet, memoryFault(t, run(t, strict, tt.prog)).Kind)
		})
	}
}

// TestNativeRunsTrackTheirBeginning: with native code runs of a short program begin on the
// interpreter, so that they warn as others do; runs that do not ask are native.
func TestNativeRunsTrackTheirBeginning(t *testing.T) {
	if !machine.NativeCode() {
		t.Skip("no native code on this system")
	}
	const object = "../../testdata/objects/clang-14/silent.o"
	m := compose(t, load(t, object, target(t, embedded.Name)), machine.Config{Engine: machine.EngineJIT})
	warned := 0
	const runs = 2048
	for range runs {
		res := run(t, m, "warn_padding_in_key")
		require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
		warned += len(res.StackReads)
	}
	assert.Equal(t, runs, warned)
	res, err := m.Run(t.Context(), "warn_padding_in_record", machine.Input{IgnoreUnset: true})
	require.NoError(t, err)
	assert.Empty(t, res.StackReads)
}

// TestReplaysTrackSamples: native code tracks nothing, so the first packets of a replay and some of
// the others run on the interpreter.
func TestReplaysTrackSamples(t *testing.T) {
	for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
		m := compose(t, load(t, "../../testdata/objects/clang-14/silent.o", target(t, embedded.Name)), machine.Config{Engine: engine})
		r, res, err := m.Replay("warn_padding_in_key", machine.Input{})
		require.NoError(t, err)
		require.Nil(t, res)
		for range 3000 {
			_, err := r.Run(t.Context(), make([]byte, 64))
			require.NoError(t, err)
		}
		res = r.Close()
		assert.Empty(t, res.Warnings)
		assert.Len(t, res.Findings, 1)
	}
}
