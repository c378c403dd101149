//go:build linux && (amd64 || arm64)

package jit

import (
	"context"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// soakTime is how long TestSoak runs: BPFRUN_SOAK, a duration such as 5m, or about a second.
func soakTime(t *testing.T) time.Duration {
	if text := os.Getenv("BPFRUN_SOAK"); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		return d
	}
	return time.Second
}

// deep is a helper that needs a deep stack and makes garbage: the goroutine's stack moves while
// native code waits for it.
func deep(n int) int {
	var pad [256]byte
	if n == 0 {
		return len(pad)
	}
	garbage := make([]byte, 1024)
	return deep(n-1) + int(pad[n%256]) + len(garbage)/1024
}

const soakText = `
	r6 = r1
	r7 = 0
	r8 = 0
l:	r1 = r7
	call f
	r8 += r0
	r2 = r6
	r3 = r7
	r3 &= 63
	r3 <<= 3
	r2 += r3
	*(u64 *)(r2 + 0) = r8
	r0 = *(u64 *)(r2 + 0)
	*(u64 *)(r10 - 8) = r0
	r7 += 1
	if r7 != 2000 goto l
	r1 = 3
	call 7
	r0 += r8
	exit
f:	r0 = r1
	r0 *= 3
	r2 = 100
	if r1 != r2 goto g
	r1 = 5
	call 7
g:	exit`

// TestSoak runs machines in parallel under garbage collection, profiling signals and cancellation,
// and looks for pages left behind.
func TestSoak(t *testing.T) {
	if !Supported() {
		t.Skip("no native code on this system")
	}
	ctx, cancel := context.WithTimeout(context.Background(), soakTime(t))
	defer cancel()
	if err := pprof.StartCPUProfile(io.Discard); err == nil {
		defer pprof.StopCPUProfile()
	}
	before := live.Load()
	helper := &vm.Func{Name: "deep", ID: 7, Fn: func(_ *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
		return uint64(deep(int(args[0]) * 20)), nil
	}}
	insns, err := decode.Assemble(soakText)
	require.NoError(t, err)
	var wg sync.WaitGroup
	runs := make([]int, 8*runtime.GOMAXPROCS(0))
	failed := make(chan string, len(runs))
	for w := range runs {
		wg.Go(func() {
			want := uint64(0)
			for ctx.Err() == nil { // a new machine each time, some hundred runs on each
				ret, n, text := soakMachine(ctx, insns, helper, w%3 == 0, tiers[w/3%len(tiers)].eager)
				runs[w] += n
				switch {
				case text != "":
					failed <- text
					return
				case want == 0:
					want = ret
				case n > 0 && ret != want:
					failed <- "results differ"
					return
				}
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			runtime.GC()
			time.Sleep(2 * time.Millisecond)
		}
	})
	wg.Wait()
	close(failed)
	for text := range failed {
		t.Error(text)
	}
	total := 0
	for _, n := range runs {
		total += n
	}
	assert.NotZero(t, total)
	assert.Equal(t, before, live.Load(), "code pages left behind")
	t.Log(total, "runs")
}

// soakMachine runs a program some hundred times on a machine of its own, in small pieces if sliced.
// Eager is that of a tier.
func soakMachine(ctx context.Context, insns []decode.Insn, helper *vm.Func, sliced bool, eager int) (ret uint64, n int, failed string) {
	m, err := mem.New(mem.Config{Size: 16 << 20})
	if err != nil {
		return 0, 0, err.Error()
	}
	defer m.Close()
	e, err := New(m)
	if err != nil {
		return 0, 0, err.Error()
	}
	defer e.Close()
	if eager >= 0 {
		e.SetEager(eager)
	}
	img, err := vm.Lower(vm.LowerConfig{Insns: insns, Fuse: true, Call: func(int, decode.Insn) (*vm.Func, error) { return helper, nil }})
	if err != nil {
		return 0, 0, err.Error()
	}
	r, err := m.Alloc(512, mem.Region{Name: "soak"})
	if err != nil {
		return 0, 0, err.Error()
	}
	t := vm.NewThread(m, vm.ThreadConfig{})
	t.SetEngine(e)
	slice := uint64(1 << 30)
	if sliced {
		slice = 997
	}
	for ; n < 200 && ctx.Err() == nil; n++ {
		t.Start(img, r.Base)
		stop := t.Run(slice)
		for stop == vm.Budget && ctx.Err() == nil {
			stop = t.Run(slice)
		}
		if stop == vm.Budget {
			break // cancelled in the middle
		}
		if stop != vm.Done {
			return 0, n, t.Fault().Error()
		}
		ret = t.Ret()
	}
	if e.Executed() == 0 && n > 0 {
		return 0, n, "nothing ran as native code"
	}
	return ret, n, ""
}

// TestUnclosedEngine: pages of an engine that nobody closed go when it is collected.
func TestUnclosedEngine(t *testing.T) {
	r := newRig(t)
	before := live.Load()
	func() {
		e, err := New(r.mem)
		require.NoError(t, err)
		th := vm.NewThread(r.mem, vm.ThreadConfig{})
		th.SetEngine(e)
		th.Start(lower(t, "r0 = 1\nexit", nil))
		require.Equal(t, vm.Done, th.Run(1<<20))
		require.Greater(t, live.Load(), before)
	}()
	require.Eventually(t, func() bool { runtime.GC(); return live.Load() == before }, 10*time.Second, 10*time.Millisecond)
}
