//go:build linux && (amd64 || arm64)

package jit

import "github.com/bpfrun/bpfrun/jit/plan"

// sampler watches a program for a while: how often instructions are executed, and how well branches
// that could become selections are predicted, which decides whether a selection would be faster.
type sampler struct {
	left     int // instructions still to observe
	counts   plan.Profile
	last     int      // slot executed last, -1 for none
	index    []uint16 // by slot, number of its branch + 1
	branches []branch
}

// branch is a simple predictor of a branch, based on its recent outcomes.
type branch struct {
	history      uint8
	counters     [1 << historyBits]int8 // likely taken if positive
	seen, missed int
}

const (
	historyBits = 6
	// maxMissed is the misprediction rate in percent up to which a branch is faster than a
	// selection.
	maxMissed = 12
)

// newSampler returns a sampler of branches, given by their slots, in a program of n slots.
func newSampler(slots []int32, n int) *sampler {
	s := &sampler{
		left: sampled, last: -1, index: make([]uint16, n+1),
		counts: plan.Profile{Seen: make([]uint32, n+1), Taken: make([]uint32, n+1)},
	}
	for i, pc := range slots {
		if i == 1<<16-1 {
			break
		}
		s.index[pc] = uint16(i + 1)
		s.branches = append(s.branches, branch{})
	}
	return s
}

// observe records that the instruction at a slot is executed next. It reports whether the sampler
// needs the next one as well.
func (s *sampler) observe(pc int) bool {
	if s.last >= 0 {
		taken := pc != s.last+1
		if taken {
			s.counts.Taken[s.last]++
		}
		if n := s.index[s.last]; n != 0 {
			s.branches[n-1].went(taken)
		}
	}
	s.counts.Seen[pc]++
	s.last = pc
	s.left--
	return s.left > 0
}

func (b *branch) went(taken bool) {
	c := &b.counters[b.history]
	b.seen++
	if taken != (*c > 0) {
		b.missed++
	}
	b.history = b.history << 1 & (1<<historyBits - 1)
	if taken {
		*c = min(*c+1, 2)
		b.history |= 1
	} else {
		*c = max(*c-1, -1)
	}
}

// unpredictable reports whether the branch at a slot was executed often enough, and predicted
// wrongly often enough.
func (s *sampler) unpredictable(pc int32) bool {
	n := int(s.index[pc]) - 1
	if n < 0 {
		return false
	}
	b := &s.branches[n]
	// While counters are new, most of them are wrong.
	return b.seen > 4<<historyBits/8 && b.missed*100 > b.seen*maxMissed
}
