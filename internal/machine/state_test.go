package machine_test

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// TestRestoredMachinesRepeat: a machine brought back to a snapshot does exactly the same again,
// whichever component holds the state.
func TestRestoredMachinesRepeat(t *testing.T) {
	for _, file := range examples(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			m := compose(t, load(t, file, target(t, embedded.Name)), machine.Config{Seed: 11})
			fresh := m.Snapshot()
			first := runAll(t, m)
			used := m.Snapshot()
			next := runAll(t, m)

			m.Restore(fresh)
			assert.Equal(t, first, runAll(t, m), "from the start")
			m.Restore(used)
			assert.Equal(t, next, runAll(t, m), "from a used machine")
			m.Restore(fresh)
			assert.Equal(t, first, runAll(t, m), "a snapshot can be used again")
		})
	}
}

// TestMachinesOfOneSeedAgree: nothing depends on anything but the object, the target and the seed.
func TestMachinesOfOneSeedAgree(t *testing.T) {
	for _, file := range examples(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			linked := load(t, file, target(t, embedded.Name))
			a, b := compose(t, linked, machine.Config{Seed: 5}), compose(t, linked, machine.Config{Seed: 5})
			assert.Equal(t, runAll(t, a), runAll(t, b))
		})
	}
}

// TestMachinesRunInParallel: machines share nothing but what never changes. Its proof is the race
// detector's.
func TestMachinesRunInParallel(t *testing.T) {
	linked := load(t, "../../examples/exec/exec.bpf.o", target(t, embedded.Name))
	var results [8][]machine.Result
	var machines [8]*machine.Machine
	for i := range machines {
		machines[i] = compose(t, linked, machine.Config{Seed: 9})
	}
	var wg sync.WaitGroup
	for i, m := range machines {
		wg.Go(func() { results[i] = runAll(t, m) })
	}
	wg.Wait()
	for _, r := range results[1:] {
		require.Equal(t, results[0], r)
	}
}

// TestEventsFollowOneAnother: the default kernel's second event of a kind is the next one. A task
// that was switched in is switched out, and then runs no longer.
func TestEventsFollowOneAnother(t *testing.T) {
	m := compose(t, load(t, "../../examples/tp_btf/tp_btf.bpf.o", target(t, embedded.Name)), machine.Config{Seed: 2})
	before := m.Kernel().Current()
	runAll(t, m)
	assert.Same(t, before, m.Kernel().Current(), "a run leaves the current task as it was")
}

// TestMarks: a session continues from a mark as it did the first time, also after it was over.
func TestMarks(t *testing.T) {
	for _, file := range examples(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			m := compose(t, load(t, file, target(t, embedded.Name)), machine.Config{Seed: 11})
			for _, name := range m.Names() {
				s, _, err := m.Begin(name, machine.Input{})
				require.NoError(t, err)
				if s == nil {
					continue
				}
				s.Run(20)
				mark := s.Mark()
				s.Run(1 << 30)
				first := unbound(s.Finish())
				for range 2 {
					s.Return(mark)
					s.Run(7)
					s.Run(1 << 30)
					assert.Equal(t, first, unbound(s.Finish()), name)
				}
				s.Return(mark)
				s.Leave()
				s.Return(mark)
				s.Run(1 << 30)
				assert.Equal(t, first, unbound(s.Finish()), name)
				s.Leave()
			}
		})
	}
}

// unbound is a result without pointers to kernel objects: those made after a mark are made again,
// at the same addresses and under the same roles.
func unbound(r *machine.Result) machine.Result {
	c := *r
	for _, list := range []*[]machine.KernelAccess{&c.Reads, &c.Writes} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i].Object = nil
		}
	}
	return c
}
