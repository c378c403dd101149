//go:build (linux && (amd64 || arm64)) || ((freebsd || netbsd) && amd64)

package jit

// sampler watches the branches of a program that could be selections: whether that is better depends on how well the processor
// predicts them.
type sampler struct {
	left     int      // instructions to look at
	index    []uint16 // by slot, number of its branch + 1
	last     int      // number of the branch that was executed last, -1 for none
	branches []branch
}

// branch is a simple predictor of a branch: by what it did the last times, whether it is taken.
type branch struct {
	slot         int32
	history      uint8
	counters     [1 << historyBits]int8 // likely taken if positive
	seen, missed int
}

const (
	historyBits = 6
	// sampled is how many instructions are looked at.
	sampled = 10_000
	// maxMissed is up to how much of the branches is predicted wrongly where a branch is better than a selection, in percent.
	maxMissed = 12
)

// newSampler returns a sampler of branches, given by their slots, in a program of n slots.
func newSampler(slots []int32, n int) *sampler {
	s := &sampler{left: sampled, index: make([]uint16, n+1), last: -1}
	for i, pc := range slots {
		if i == 1<<16-1 {
			break
		}
		s.index[pc] = uint16(i + 1)
		s.branches = append(s.branches, branch{slot: pc})
	}
	return s
}

// observe notes that the instruction at a slot is executed next. It reports whether the sampler wants to see the next one.
func (s *sampler) observe(pc int) bool {
	if s.last >= 0 {
		s.branches[s.last].went(pc != int(s.branches[s.last].slot)+1)
	}
	s.last = int(s.index[pc]) - 1
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

// unpredictable reports whether the branch at a slot was executed often enough, and predicted wrongly often enough.
func (s *sampler) unpredictable(pc int32) bool {
	n := int(s.index[pc]) - 1
	if n < 0 {
		return false
	}
	b := &s.branches[n]
	// As long as counters are new most of them are wrong.
	return b.seen > 4<<historyBits/8 && b.missed*100 > b.seen*maxMissed
}
