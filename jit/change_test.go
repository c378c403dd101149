package jit

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// TestChangesBetweenRuns holds that native code learns of everything that changed since it ran
// last.
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

	// Snapshots, of the thread and of memory: the frame of the function called is freed, and made
	// again elsewhere.
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

// TestBoundsBetweenRuns changes what is accessible in many ways, with the addresses that were fine
// before tried again and again: native code must refuse what the interpreter refuses.
func TestBoundsBetweenRuns(t *testing.T) {
	r := newRig(t)
	interp := vm.NewThread(r.mem, vm.ThreadConfig{})
	var imgs []*vm.Image
	for _, text := range []string{
		"r0 = *(u8 *)(r1 + 0); exit", "r0 = *(u32 *)(r1 + 4); exit", "r0 = *(u64 *)(r1 + 0); exit",
		"r0 = *(u64 *)(r1 + 8); r2 = *(u64 *)(r1 + 24); r0 += r2; exit", "*(u16 *)(r1 + 2) = r2; r0 = 0; exit",
	} {
		imgs = append(imgs, lower(t, text, nil))
	}
	packet, err := r.mem.Alloc(256, mem.Region{Kind: mem.Packet})
	require.NoError(t, err)
	array, err := r.mem.AllocArray(8, 16, 16, mem.Region{Kind: mem.MapValue})
	require.NoError(t, err)
	gaps, err := r.mem.AllocArray(8, 12, 24, mem.Region{Kind: mem.MapValue})
	require.NoError(t, err)
	extent, _ := packet.Extent()
	rng := rand.New(rand.NewPCG(7, 7))
	natively := uint64(0)
	faults := 0
	for range 2000 {
		for range rng.IntN(4) * rng.IntN(6) { // at times more than are remembered
			i := rng.Uint64N(8)
			switch rng.IntN(7) {
			case 0, 1:
				lo := rng.Uint64N(40)
				require.NoError(t, r.mem.SetBounds(packet, extent+lo, extent+lo+rng.Uint64N(257-lo)))
			case 2:
				r.mem.FreeElem(array, i)
				r.mem.FreeElem(gaps, i)
			case 3:
				r.mem.ReviveElem(array, i)
				r.mem.ReviveElem(gaps, i)
			case 4:
				r.mem.SetReadOnly(gaps, !gaps.ReadOnly)
			case 6:
				require.NoError(t, r.mem.SetBounds(packet, packet.Base, packet.Base+max(packet.Size, 1)-1))
			case 5:
				other, err := r.mem.Alloc(100, mem.Region{})
				require.NoError(t, err)
				r.mem.Free(other)
			}
		}
		for range 16 {
			img := imgs[rng.IntN(len(imgs))]
			addr := []uint64{extent, array.Base, gaps.Base}[rng.IntN(3)] + rng.Uint64N(280) - 16
			if rng.IntN(2) == 0 { // at the end
				addr = packet.Base + packet.Size - rng.Uint64N(36)
			}
			before := r.engine.Executed()
			r.thread.Start(img, addr, 1)
			got := r.thread.Run(100)
			natively += r.engine.Executed() - before
			interp.Start(img, addr, 1)
			require.Equal(t, interp.Run(100), got, "%s at %#x", decode.DisassembleAll(img.Insns(), nil), addr)
			require.Equal(t, interp.Ret(), r.thread.Ret())
			require.Equal(t, interp.PC(), r.thread.PC())
			if got == vm.Faulted {
				require.Equal(t, interp.Fault().Error(), r.thread.Fault().Error())
				faults++
			}
		}
	}
	assert.Greater(t, natively, uint64(10000))
	assert.Greater(t, faults, 1000)
}
