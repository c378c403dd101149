package debug

import (
	"context"
	"slices"

	"github.com/bpfrun/bpfrun/machine"
)

// way is a state on the way of the run that going back starts from, so that it need not start at the beginning every time. Only
// going back makes them: a run forwards pays nothing.
type way struct {
	pos   uint64
	done  int    // edits that were applied
	lanes []lane // of all CPUs
	cpu   int    // the one that was looked at
	mark  *machine.Mark
}

// maxWays limits the states that are kept.
const maxWays = 24

// keep makes the place where the session stands one to start from.
func (tl *timeline) keep() {
	if tl.state != Running {
		return
	}
	at, found := tl.wayIndex(tl.Pos())
	if found {
		return
	}
	tl.ways = slices.Insert(tl.ways, at, way{tl.Pos(), tl.done, tl.copyLanes(), tl.cpu, tl.run.Mark()})
	if len(tl.ways) <= maxWays {
		return
	}
	// The one that is least missed goes; the first stays.
	least, gap := 1, ^uint64(0)
	for i := 1; i < len(tl.ways)-1; i++ {
		if g := tl.ways[i+1].pos - tl.ways[i-1].pos; g < gap && i != at {
			least, gap = i, g
		}
	}
	tl.ways = slices.Delete(tl.ways, least, least+1)
}

func (tl *timeline) wayIndex(pos uint64) (int, bool) {
	return slices.BinarySearchFunc(tl.ways, pos, func(w way, pos uint64) int {
		switch {
		case w.pos < pos:
			return -1
		case w.pos > pos:
			return 1
		}
		return 0
	})
}

// wayTo returns the last state kept that is not after a position, nil when there is none.
func (tl *timeline) wayTo(pos uint64) *way {
	at, found := tl.wayIndex(pos)
	if found {
		return &tl.ways[at]
	}
	if at == 0 {
		return nil
	}
	return &tl.ways[at-1]
}

// dropWays forgets what was kept at a position and after it: the run is another one from there.
func (tl *timeline) dropWays(pos uint64) {
	at, _ := tl.wayIndex(pos)
	if pos == 0 {
		at = min(1, len(tl.ways)) // the beginning comes before its edits
	}
	tl.ways = tl.ways[:at]
}

// resume goes to a state that was kept.
func (tl *timeline) resume(w *way) {
	tl.Forget() // the state that was kept replaces it
	tl.done, tl.hits = w.done, nil
	tl.select0()
	tl.putLanes(w.lanes, w.cpu)
	tl.run.Return(w.mark)
	tl.Refresh()
}

// prepareBack keeps states at growing distances before a position, in one pass over the run, so that a search that goes back from it
// executes short stretches.
func (tl *timeline) prepareBack(ctx context.Context, hi uint64) error {
	for size := uint64(lastStretch); size >= firstStretch; size /= stretchGrowth {
		if hi <= size {
			continue
		}
		lo := hi - size
		if w := tl.wayTo(hi - size/nearShare); w != nil && hi-w.pos <= 2*size {
			continue
		}
		if err := tl.goTo(ctx, lo); err != nil {
			return err
		}
		tl.keep()
	}
	return nil
}

// nearShare describes how near to the end of a stretch a kept state may be to begin it: from this part of the usual size on. A search that
// goes back step by step then uses the same state for a while.
const nearShare = 16

// stretchStart returns where a stretch of about size that ends at hi begins: at a state that was kept, if one is near.
func (tl *timeline) stretchStart(hi, size uint64) uint64 {
	if w := tl.wayTo(hi - min(size/nearShare, hi)); w != nil && hi-w.pos <= 2*size {
		return w.pos
	}
	return hi - min(size, hi)
}
