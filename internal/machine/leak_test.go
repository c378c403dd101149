package machine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
)

// TestLeaksAreFound: each way in which bytes leave that the run never wrote, with the field and
// where the bytes come from, on both engines and in every run.
func TestLeaksAreFound(t *testing.T) {
	const reserved = "never stored in the reserved record, which has bytes of earlier ones"
	tests := map[string]string{
		"record":        "bpf_ringbuf_submit sends 6 of 32 bytes to events that this run never wrote: padding after event.flags, event.comm[13..15] (" + reserved + ")",
		"record_dynptr": "bpf_ringbuf_submit_dynptr sends 11 of 32 bytes to events that this run never wrote: padding after event.flags, event.ts (" + reserved + ")",
		"one_path":      "bpf_ringbuf_submit sends 8 of 32 bytes to events that this run never wrote: event.ts (" + reserved + ")",
		"stack_tail":    "bpf_perf_event_output sends 3 of 32 bytes to samples that this run never wrote: event.comm[13..15] (not stored by the helper that was to fill the buffer)",
		"failed_read":   "bpf_ringbuf_output sends 8 of 32 bytes to events that this run never wrote: event.comm[8..15] (never stored on the stack)",
		"copied":        "bpf_ringbuf_submit sends 3 of 32 bytes to events that this run never wrote: padding after event.flags (copied from where they were never stored)",
		"map_value":     "bpf_map_update_elem stores 3 of 32 bytes in map seen that this run never wrote: padding after value event.flags (never stored on the stack)",
		"map_key":       "bpf_map_update_elem stores 3 of 8 bytes in map by_padded that this run never wrote: padding after key padded.a (never stored on the stack)",
		"stored_value":  "a store leaves 3 of 32 bytes in map seen that this run never wrote: padding after value event.flags (copied from where they were never stored)",
		"user_memory":   "bpf_probe_write_user writes 3 of 8 bytes to user memory that this run never wrote: bytes 1..3 (never stored on the stack)",
		"in_loop":       "bpf_ringbuf_submit sends 16 of 32 bytes to events that this run never wrote: event.comm[0..15] (" + reserved + ")",
		"encapsulated":  "the program passes on 4 of 80 bytes to the network that this run never wrote: bytes 12..15 of the packet (never stored in the room that was added to the packet)",
	}
	for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
		m := compose(t, load(t, "../../testdata/objects/clang-14/leaks.o", target(t, embedded.Name)), machine.Config{Engine: engine})
		for prog, text := range tests {
			for range 3 {
				res := run(t, m, prog)
				require.Equal(t, machine.StatusOK, res.Status, "%s: %v", prog, res.Fault)
				require.Len(t, res.Findings, 1, prog)
				f := res.Findings[0]
				assert.Equal(t, []any{finding.Leak, prog, text}, []any{f.Kind, f.Program, f.Text})
				assert.Contains(t, f.Line, "/* wrong */")
				assert.Empty(t, res.Warnings, "the finding says it")
			}
		}
		assert.Equal(t, len(tests)+1, len(m.Names()), "every program of the object is here or below")
	}
}

// TestStaleBytesOfABuffer: what an earlier run left in a per-CPU array leaves with a shorter
// record; zeros of the map's creation, and what user space stored there, were left by no run.
func TestStaleBytesOfABuffer(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/leaks.o", target(t, embedded.Name)), machine.Config{})
	assert.Empty(t, run(t, m, "scratch").Findings, "zeros")
	for range 2 {
		res := run(t, m, "scratch")
		require.Len(t, res.Findings, 1)
		assert.Equal(t, "bpf_perf_event_output sends 8 of 32 bytes to samples that this run never wrote: event.comm[4..11] (left there by an earlier run)", res.Findings[0].Text)
	}
	heap, ok := m.MapByName("heap")
	require.True(t, ok)
	value := make([]byte, 64) // of both CPUs
	require.Zero(t, heap.Update(-1, make([]byte, 4), value, 0))
	assert.Empty(t, run(t, m, "scratch").Findings, "user space cleared it")
}

// TestMemoryThatIsWholeHasNoFinding: the correct twins, again and again.
func TestMemoryThatIsWholeHasNoFinding(t *testing.T) {
	for _, strict := range []bool{false, true} {
		for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
			m := compose(t, load(t, "../../testdata/objects/clang-14/leakfree.o", target(t, embedded.Name)), machine.Config{Engine: engine, Strict: strict})
			for range 3 {
				for _, prog := range m.Names() {
					res := run(t, m, prog)
					require.Equal(t, machine.StatusOK, res.Status, "%s: %v", prog, res.Fault)
					assert.Empty(t, res.Findings, prog)
					assert.Empty(t, res.Warnings, prog)
				}
			}
		}
	}
}

// TestSilentRunsDoNotTrack: a run that does not ask has no leaks.
func TestSilentRunsDoNotTrack(t *testing.T) {
	for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
		m := compose(t, load(t, "../../testdata/objects/clang-14/leaks.o", target(t, embedded.Name)), machine.Config{Engine: engine})
		res, err := m.Run(t.Context(), "record", machine.Input{IgnoreUnset: true})
		require.NoError(t, err)
		assert.Empty(t, res.Findings)
	}
}
