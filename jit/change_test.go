package jit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// TestChangesBetweenRuns holds that native code learns of everything that changed since it ran last.
func TestChangesBetweenRuns(t *testing.T) {
	r := newRig(t)
	region, err := r.mem.Alloc(64, mem.Region{Name: "buffer"})
	require.NoError(t, err)
	run := func(img *vm.Image, args ...uint64) vm.Stop {
		r.thread.Start(img, args...)
		return r.thread.Run(1 << 20)
	}
	natively := func(want bool, f func()) {
		t.Helper()
		before := r.engine.Executed()
		f()
		assert.Equal(t, want, r.engine.Executed() != before, "runs as native code")
	}
	load := lower(t, "r0 = *(u64 *)(r1 + 0); exit", nil)
	warm := func() {
		for range 3 {
			require.Equal(t, vm.Done, run(load, region.Base), "%v", r.thread.Fault())
		}
	}

	// Watches.
	warm()
	hits := 0
	r.mem.OnWatch = func(mem.Hit) { hits++ }
	id := r.mem.AddWatch(region.Base, 8, true, true)
	natively(false, func() { run(load, region.Base) })
	assert.Equal(t, 1, hits)
	r.mem.RemoveWatch(id)
	natively(true, func() { run(load, region.Base) })
	assert.Equal(t, 1, hits)

	// Patches.
	p := vm.NewPatches(true)
	r.thread.SetPatches(p)
	natively(false, func() { run(load, region.Base) })
	assert.True(t, p.Covered(load, 1))
	r.thread.SetPatches(nil)
	natively(true, func() { run(load, region.Base) })
	p = vm.NewPatches(false)
	require.True(t, p.SetBreak(load, 1))
	r.thread.SetPatches(p)
	require.Equal(t, vm.Break, run(load, region.Base))
	r.thread.SetPatches(nil)
	require.Equal(t, vm.Done, r.thread.Run(1))

	// The arena mapping.
	cast := lower(t, "r0 = addr_space_cast(r1, 0, 1); exit", nil)
	for i := range uint64(3) {
		kern := region.Base + i<<32
		r.thread.SetArena(kern, 1<<40)
		natively(true, func() { run(cast, 16) })
		assert.Equal(t, kern+16, r.thread.Ret())
	}

	// Other threads.
	fp := lower(t, "r0 = r10; *(u64 *)(r10 - 8) = r1; exit", nil)
	other := vm.NewThread(r.mem, vm.ThreadConfig{})
	other.SetEngine(r.engine)
	for range 3 {
		for _, th := range []*vm.Thread{r.thread, other} {
			th.Start(fp, 7)
			require.Equal(t, vm.Done, th.Run(10))
			assert.Equal(t, th.Reg(10), th.Ret())
			v, fault := r.mem.Load(th.Ret()-8, 8)
			require.Nil(t, fault)
			assert.EqualValues(t, 7, v)
		}
	}
	assert.NotEqual(t, r.thread.Reg(10), other.Reg(10))
	strict := vm.NewThread(r.mem, vm.ThreadConfig{Strict: true})
	strict.SetEngine(r.engine)
	natively(false, func() {
		strict.Start(load, region.Base)
		require.Equal(t, vm.Done, strict.Run(10))
	})

	// Snapshots, of the thread and of memory: the frame of the function called is freed, and made again elsewhere.
	call := lower(t, "r1 = r10; call f; exit\nf: r0 = r10; *(u64 *)(r10 - 8) = r1; exit", nil)
	saved := r.mem.Snapshot()
	for range 2 {
		for range 3 {
			require.Equal(t, vm.Done, run(call))
			assert.NotEqual(t, r.thread.Reg(10), r.thread.Ret())
			assert.NotNil(t, r.mem.Find(r.thread.Ret()-1))
		}
		r.mem.Restore(saved)
		_, err := r.mem.Alloc(1<<12, mem.Region{Name: "in between"})
		require.NoError(t, err)
	}
	r.thread.Start(call)
	require.Equal(t, vm.Budget, r.thread.Run(2))
	inside := r.thread.Snapshot()
	require.Equal(t, vm.Done, r.thread.Run(10))
	want := r.thread.Ret()
	r.thread.Restore(inside)
	require.Equal(t, vm.Done, r.thread.Run(10))
	assert.Equal(t, want, r.thread.Ret())

	// Memory that is gone.
	warm()
	r.mem.Free(region)
	require.Equal(t, vm.Faulted, run(load, region.Base))
	assert.Equal(t, vm.Memory, r.thread.Fault().Kind)
}

// TestRunIsDirect holds that budgets are exact on the shortest way through a run.
func TestRunIsDirect(t *testing.T) {
	for _, text := range []string{"r0 = 7; exit", "r0 = 1; r0 = 2; r0 = 3; r0 = 7; exit", "call f; exit\nf: r0 = 7; exit"} {
		img := lower(t, text, nil)
		whole := newRig(t)
		whole.thread.Start(img)
		require.Equal(t, vm.Done, whole.thread.Run(^uint64(0)))
		for budget := range uint64(100) {
			r := newRig(t)
			for range 2 {
				r.thread.Start(img)
				total := uint64(0)
				for r.thread.Run(budget) == vm.Budget {
					total += budget
					require.Equal(t, total, r.thread.Insns())
					if budget == 0 {
						break
					}
				}
				if budget != 0 {
					require.Equal(t, vm.Done, r.thread.Status())
					assert.EqualValues(t, 7, r.thread.Ret())
					assert.Equal(t, whole.thread.Insns(), r.thread.Insns())
					assert.Equal(t, whole.thread.PC(), r.thread.PC())
				}
			}
		}
	}
}
