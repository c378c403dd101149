package vm

import (
	"math/bits"
	"slices"
)

// CoverSnapshot records which slots had been executed, and which branches of conditional jumps
// taken, at one point in time. The zero value means none.
type CoverSnapshot struct {
	seen map[*Image][]uint64
	gone map[*Image][2][]uint64
}

// Snapshot records which slots were executed. It does not include breakpoints, which belong to the
// user and not to the run.
func (p *Patches) Snapshot() *CoverSnapshot {
	p.fetch()
	s := &CoverSnapshot{seen: make(map[*Image][]uint64, len(p.images)), gone: map[*Image][2][]uint64{}}
	for img, q := range p.images {
		s.seen[img] = slices.Clone(q.seen)
		if p.ways {
			s.gone[img] = [2][]uint64{slices.Clone(q.gone[Taken]), slices.Clone(q.gone[Fell])}
		}
	}
	return s
}

// Restore restores the set of executed slots to that of s.
func (p *Patches) Restore(s *CoverSnapshot) {
	if !p.cover {
		return
	}
	p.fetch()
	for img, q := range p.images {
		was := s.seen[img] // nil: the image had not run
		for way, words := range q.gone {
			clear(words)
			copy(words, s.gone[img][way])
		}
		for i := range q.seen {
			w := uint64(0)
			if was != nil {
				w = was[i]
			}
			q.forget(img, i, q.seen[i]&^w)
			q.seen[i] = w
		}
		p.rearm(img, q)
	}
}

// rearm restores the marks on conditional jumps for which a branch is no longer recorded.
func (p *Patches) rearm(img *Image, q *patched) {
	if !p.ways {
		return
	}
	w := img.findWays()
	for i := range w.branch {
		slots := w.taken[i]&^q.gone[Taken][i] | w.fell[i]&^q.gone[Fell][i]
		q.forget(img, i, slots)
	}
}

// forget restores the marks on the slots of word i of the bitmap that must be recorded again.
func (q *patched) forget(img *Image, i int, slots uint64) {
	for ; slots != 0; slots &= slots - 1 {
		pc := i*64 + bits.TrailingZeros64(slots)
		if pc < img.Len() && !q.breaks[pc] && q.code[pc].op != opSecondSlot {
			q.code[pc] = img.plain[pc]
			q.code[pc].op = opCover
		}
	}
}
