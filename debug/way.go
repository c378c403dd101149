package debug

import (
	"context"
	"slices"

	"github.com/bpfrun/bpfrun/machine"
)

// way is a state on the way of the run that going back starts from, so that it need not start at the beginning every time. Only
// going back makes them: a run forwards pays nothing.
type way struct {
	pos  uint64
	done int // edits that were applied
	run  *machine.Session
	mark *machine.Mark
}

// maxWays bounds the states that are kept.
const maxWays = 24

// keep makes the place where the session stands one to start from.
func (s *Session) keep() {
	if s.state != Running {
		return
	}
	at, found := s.wayIndex(s.Pos())
	if found {
		return
	}
	s.ways = slices.Insert(s.ways, at, way{s.Pos(), s.done, s.run, s.run.Mark()})
	if len(s.ways) <= maxWays {
		return
	}
	// The one that is least missed goes; the first stays.
	least, gap := 1, ^uint64(0)
	for i := 1; i < len(s.ways)-1; i++ {
		if g := s.ways[i+1].pos - s.ways[i-1].pos; g < gap && i != at {
			least, gap = i, g
		}
	}
	s.ways = slices.Delete(s.ways, least, least+1)
}

func (s *Session) wayIndex(pos uint64) (int, bool) {
	return slices.BinarySearchFunc(s.ways, pos, func(w way, pos uint64) int {
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
func (s *Session) wayTo(pos uint64) *way {
	at, found := s.wayIndex(pos)
	if found {
		return &s.ways[at]
	}
	if at == 0 {
		return nil
	}
	return &s.ways[at-1]
}

// dropWays forgets what was kept at a position and after it: the run is another one from there.
func (s *Session) dropWays(pos uint64) {
	at, _ := s.wayIndex(pos)
	if pos == 0 {
		at = min(1, len(s.ways)) // the beginning comes before its edits
	}
	s.ways = s.ways[:at]
}

// resume goes to a state that was kept.
func (s *Session) resume(w *way) {
	s.clean = nil // the state that was kept replaces it
	s.run, s.done, s.hits = w.run, w.done, nil
	s.select0()
	s.run.Return(w.mark)
	s.state = Running
	s.rewatch()
}

// prepareBack keeps states at growing distances before a position, in one pass over the run, so that a search that goes back from it
// executes short stretches.
func (s *Session) prepareBack(ctx context.Context, hi uint64) error {
	for size := uint64(lastStretch); size >= firstStretch; size /= stretchGrowth {
		if hi <= size {
			continue
		}
		lo := hi - size
		if w := s.wayTo(hi - size/nearShare); w != nil && hi-w.pos <= 2*size {
			continue
		}
		if err := s.goTo(ctx, lo); err != nil {
			return err
		}
		s.keep()
	}
	return nil
}

// nearShare describes how near to the end of a stretch a kept state may be to begin it: from this part of the usual size on. A search that
// goes back step by step then uses the same state for a while.
const nearShare = 16

// stretchStart is where a stretch of about size that ends at hi begins: at a state that was kept, if one is near.
func (s *Session) stretchStart(hi, size uint64) uint64 {
	if w := s.wayTo(hi - min(size/nearShare, hi)); w != nil && hi-w.pos <= 2*size {
		return w.pos
	}
	return hi - min(size, hi)
}
