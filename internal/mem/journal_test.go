package mem

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// state describes all of a memory: bytes, shadow, regions, what is free, marks, windows.
func (m *Memory) state() []string {
	shadow := func(lo, hi uint64) []byte {
		s := slices.Clone(m.shadowRange(lo/granule, hi/granule))
		for i, c := range s {
			if m.sealed(lo+uint64(i)*granule) && c < byte(ClassTrap) {
				s[i] = c &^ byte(ClassStoreTrap)
			}
		}
		return s
	}
	out := []string{fmt.Sprintf("limit %d, quarantine %v of %d bytes, undefined %v", m.limit, m.quarantine, m.quarBytes, m.undef)}
	for _, n := range slices.Sorted(maps.Keys(m.freeBlocks)) {
		if l := *m.freeBlocks[n]; len(l) > 0 {
			out = append(out, fmt.Sprintf("free %d: %v", n, l))
		}
	}
	for i, b := range m.blocks {
		r := *b.r
		part := ""
		if r.part != nil {
			part = fmt.Sprintf("%+v", *r.part)
			r.part = nil
		}
		out = append(out, fmt.Sprintf("block %d: %d %d %p %+v %s %x %x", i, b.start, b.end, b.r, r, part, m.bytesAt(b.start, b.end-b.start), shadow(b.start, b.end)))
	}
	for _, w := range m.windows {
		for _, n := range slices.Sorted(maps.Keys(w.pages)) {
			out = append(out, fmt.Sprintf("page %d of %s: %x", n, w.Name, w.pages[n][:64]))
		}
	}
	return out
}

// change does one random thing.
func change(t *testing.T, m *Memory, w *Window, rnd *rand.Rand) {
	t.Helper()
	var live []*Region
	for _, b := range m.blocks {
		if !b.r.Freed || b.r.resting {
			live = append(live, b.r)
		}
	}
	alloc := func() {
		kind := []RegionKind{Scratch, Stack, MapValue, KernelObject}[rnd.IntN(4)]
		r := Region{Kind: kind, Name: fmt.Sprint(rnd.IntN(9)), ReadOnly: rnd.IntN(5) == 0}
		if kind == KernelObject {
			r.View = constView(7) // the state of views is no part of a memory's
		}
		var err error
		if rnd.IntN(3) == 0 {
			_, err = m.AllocArray(1+rnd.Uint64N(8), 1+rnd.Uint64N(30), 0, r)
		} else if rnd.IntN(3) == 0 {
			_, err = m.AllocArray(100+rnd.Uint64N(200), 1+rnd.Uint64N(30), 0, Region{Kind: MapValue})
		} else {
			_, err = m.Alloc(1+rnd.Uint64N(200), r)
		}
		require.NoError(t, err)
	}
	if len(live) < 6 {
		alloc()
		return
	}
	r := live[rnd.IntN(len(live))]
	at := r.Base + rnd.Uint64N(r.Size+1)
	if r.Count > 1 {
		at = r.Base + rnd.Uint64N(r.Count)*r.Stride
	}
	switch rnd.IntN(16) {
	case 0, 1:
		alloc()
	case 2:
		m.Free(r)
	case 3:
		lo := r.ext + rnd.Uint64N(r.extSz+1)
		_ = m.SetBounds(r, lo, lo+rnd.Uint64N(r.ext+r.extSz-lo+1)) // arrays and the dead refuse
	case 4:
		m.FreeElem(r, rnd.Uint64N(r.Count+1))
	case 5:
		if i := rnd.Uint64N(r.Count + 1); i < r.Count {
			m.FreeElem(r, i)
			m.ReviveElem(r, i)
			_ = m.Store(r.Base+i*r.Stride, 1, rnd.Uint64())
		}
	case 6:
		if r.View == nil {
			m.SetReadOnly(r, rnd.IntN(2) == 0)
		}
	case 7:
		m.MarkUndefined(r)
	case 8:
		m.MarkDefined(r)
	case 9:
		m.Rest(r, "moved")
	case 10:
		_ = m.Wake(r, r.ext, r.ext+rnd.Uint64N(r.extSz+1))
	case 11:
		if b := m.ExtentBytes(r); len(b) > 0 && r.View == nil {
			i := rnd.IntN(len(b))
			m.Written(r.ext+uint64(i), 1)
			b[i] = byte(rnd.Uint32())
		}
	case 12:
		page := w.Base + pageSize*rnd.Uint64N(6)
		if rnd.IntN(3) == 0 {
			w.Unmap(page, 1)
		} else {
			require.NoError(t, w.Map(page, 1+rnd.Uint64N(pageSize)))
		}
	case 13:
		_ = w.Poke(w.Base+rnd.Uint64N(5*pageSize)&^7, []byte{byte(rnd.Uint32())})
	default:
		_ = m.Store(at, 1<<rnd.IntN(4), rnd.Uint64()) // may fault
	}
}

// TestRestoreFromTheJournal compares what a restore leaves with what was there when the snapshot
// was taken, over random changes and snapshots: the latest one, which is restored from the journal,
// as well as others.
func TestRestoreFromTheJournal(t *testing.T) {
	type snap struct {
		s    *Snapshot
		want []string
	}
	fast := 0
	for seed := range uint64(80) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		m := newMem(t, Config{TrackStores: []uint64{0, 1}[seed%2]})
		w, err := m.AddWindow(Window{Base: 0x10000, Size: 1 << 20, Kind: WindowUser, Name: "user"})
		require.NoError(t, err)
		var snaps []snap
		for range 40 {
			for range rnd.IntN(24) {
				change(t, m, w, rnd)
			}
			if len(snaps) == 0 || rnd.IntN(5) == 0 {
				snaps = append(snaps, snap{m.Snapshot(), m.state()})
				continue
			}
			s := snaps[len(snaps)-1]
			if rnd.IntN(6) == 0 {
				s = snaps[rnd.IntN(len(snaps))]
			}
			if m.journal.base == s.s {
				fast++
			}
			before := m.Epoch()
			limit := m.Limit()
			m.Restore(s.s)
			require.Equal(t, s.want, m.state(), "seed %d", seed)
			require.True(t, m.Limit() >= limit || m.Epoch() != before, "engines are told of memory that ended")
		}
	}
	require.Greater(t, fast, 500, "restores from the journal")
}
