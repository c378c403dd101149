package machine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// TestBudgetIsTheSameOnBothEngines: how far a run gets does not depend on the engine, whatever the
// budget and whatever uses it up: instructions, callbacks, or bytes that helpers move. With both
// engines nothing differs either.
func TestBudgetIsTheSameOnBothEngines(t *testing.T) {
	if !machine.NativeCode() {
		t.Skip("no native code here")
	}
	small := []uint64{1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987}
	large := testsize.Sample([]uint64{2_000_000, 2_097_152, 2_100_000, 4_194_304, 6_300_000, 9_000_001, 20_000_000}, []uint64{2_097_152})
	for _, c := range []struct {
		object  string
		prog    string
		budgets []uint64
	}{
		{"senders", "flood_copies", append(small, large...)},
		{"senders", "in_turn", small},
		{"budget", "copies", append(small, large...)},
		{"callbacks", "nested", small},
		{"callbacks", "each", small},
		{"callbacks", "timer", small},
		{"ticking", "start", small},
	} {
		linked := load(t, "../../testdata/objects/clang-14/"+c.object+".o", target(t, embedded.Name))
		if _, ok := linked.Program(c.prog); !ok {
			var names []string
			for _, p := range linked.Programs {
				names = append(names, p.Name)
			}
			t.Fatalf("%s has %v", c.object, names)
		}
		for _, budget := range c.budgets {
			outcome := func(engine machine.Engine) string {
				var differs []string
				m := compose(t, linked, machine.Config{MaxInsns: budget, Engine: engine, EagerLoops: true, OnDifference: func(d string) { differs = append(differs, d) }})
				res := run(t, m, c.prog)
				text := fmt.Sprintf("%s %d %d %v", res.Status, res.Ret, res.Insns, differs)
				if res.Fault != nil {
					text = fmt.Sprintf("%s insn %d after %d: %v %v", res.Status, res.Fault.Insn, res.Insns, res.Fault.Fault, differs)
				}
				return text
			}
			want := outcome(machine.EngineInterpreter)
			require.NotEmpty(t, want)
			assert.Equal(t, want, outcome(machine.EngineJIT), "%s with %d instructions, native code", c.prog, budget)
			if budget < 1_000_000 {
				assert.Equal(t, want, outcome(machine.EngineBoth), "%s with %d instructions, both engines", c.prog, budget)
			}
		}
	}
}

// TestOnlyBytesOfTheRunAreCounted: what was moved before a run does not bring its limit closer.
func TestOnlyBytesOfTheRunAreCounted(t *testing.T) {
	linked := load(t, "../../testdata/objects/clang-14/budget.o", target(t, embedded.Name))
	m := compose(t, linked, machine.Config{MaxInsns: 1_000_000, Engine: machine.EngineJIT, Uncovered: true})
	var insns []uint64
	for range 3 {
		res, err := m.Run(t.Context(), "copies", machine.Input{IgnoreUnset: true, NoChanges: true})
		require.NoError(t, err)
		require.Equal(t, machine.StatusFault, res.Status)
		insns = append(insns, res.Insns)
		m.Memory().NoteMoved(8 << 20) // half of what is charged at once
	}
	assert.Equal(t, insns[1], insns[2])
	assert.InDelta(t, insns[0], insns[1], 1000, "the first run makes elements that the others find")
}
