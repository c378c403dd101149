package debug

import (
	"context"
	"slices"

	"github.com/bpfrun/bpfrun/internal/machine"
)

// way is a state of the run kept for going back, so that going back need not start at the beginning
// every time. Only going back creates them: a run forwards has no cost.
type way struct {
	pos   uint64
	done  int    // edits applied
	lanes []lane // of all CPUs
	cpu   int    // the selected CPU
	mark  *machine.Mark
}

// maxWays is the largest number of states kept.
const maxWays = 24

// keep saves the current state.
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
	// Drop the state whose loss leaves the smallest gap; the first stays.
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

// wayTo returns the last state kept at or before a position, nil if there is none.
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

// dropWays drops the states kept at and after a position, since the run changes from there.
func (tl *timeline) dropWays(pos uint64) {
	at, _ := tl.wayIndex(pos)
	if pos == 0 {
		at = min(1, len(tl.ways)) // the beginning precedes its edits
	}
	tl.ways = tl.ways[:at]
}

// resume restores a state that was kept.
func (tl *timeline) resume(w *way) {
	tl.Forget() // the restored state replaces it
	tl.done, tl.hits = w.done, nil
	tl.select0()
	tl.putLanes(w.lanes, w.cpu)
	tl.run.Return(w.mark)
	tl.Refresh()
}

// prepareBack keeps states at growing distances before a position in one pass over the run, so that
// a search back from it executes short stretches.
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

// nearShare limits how close to the end of a stretch a kept state may be to start it: the usual
// size divided by nearShare. Searches that go back step by step can then reuse a state for a while.
const nearShare = 16

// stretchStart returns the start of a stretch of about size instructions that ends at hi: a kept
// state, if one is close enough.
func (tl *timeline) stretchStart(hi, size uint64) uint64 {
	if w := tl.wayTo(hi - min(size/nearShare, hi)); w != nil && hi-w.pos <= 2*size {
		return w.pos
	}
	return hi - min(size, hi)
}
