package bpfsys_test

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/testing/randcall"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

var calls = flag.Int("calls", 0, "make `N` random calls")

// Random calls neither crash nor leave objects or memory behind.
func TestRandomCallsLeaveNothingBehind(t *testing.T) {
	n := testsize.Pick(1_000_000, 30_000, 5_000)
	if *calls > 0 {
		n = *calls
	}
	k := newTask(t)
	const first, last = 24, 55
	r := randcall.Source{Rand: rand.New(rand.NewPCG(uint64(n), 1)), Base: base, Bad: []uint64{0, 8, base - 4, base + uint64(len(k.mem)) - 4, 1 << 47, ^uint64(0) - 7}, FirstFD: first, LastFD: last}
	copy(k.mem, randcall.Memory())
	closeFD := func(fd int32) {
		f, open := k.files[fd]
		delete(k.files, fd)
		if open && f.Object != nil {
			k.s.Release(f.Object)
		}
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := heap(), uint64(0)
	succeeded := 0
	for i := range n {
		cmd, attr := r.Call()
		at := uint64(base + randcall.Size)
		copy(k.mem[at-base:], attr)
		x := k.s.Call(k, cmd, at, uint32(len(attr)), 0, 0)
		if x.Errno == 0 {
			succeeded++
		}
		if x.File != nil {
			fd := int32(first + r.IntN(last-first+1))
			closeFD(fd)
			k.files[fd] = *x.File
		}
		if r.IntN(20) == 0 {
			closeFD(int32(r.FD()))
		}
		if r.IntN(200) == 0 {
			_ = k.s.Unlink("/sys/fs/bpf/"+string(rune('a'+r.IntN(4))), false)
		}
		if i%(n/4) == 0 {
			most = max(most, heap())
		}
	}
	assert.Greater(t, succeeded, n/20, "most calls fail early")
	for fd := range k.files {
		closeFD(fd)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		_ = k.s.Unlink("/sys/fs/bpf/"+name, false)
	}
	for _, kind := range []bpfsys.Kind{bpfsys.KindMap, bpfsys.KindProg, bpfsys.KindLink, bpfsys.KindPerf, bpfsys.KindIter, bpfsys.KindToken} {
		assert.Empty(t, k.s.Objects(kind), kind)
	}
	assert.Len(t, k.s.Objects(bpfsys.KindBTF), 1, "the kernel's")
	t.Logf("%d of %d calls succeeded; heap %d MiB before, %d at most, %d after", succeeded, n, before>>20, most>>20, heap()>>20)
	assert.Less(t, heap(), before+64<<20)
}
