package minkernel

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// blame finds the rules of the verifier for which one release refuses what another loads.
func (s *search) blame(bad, good *Answer) error { return s.blameWith(bad, good, &waiver{}) }

// maxBlamed limits how many rules together explain a refusal.
const maxBlamed = 4

// blameWith turns rules of the refusing release around, each to what it is on the other one, until
// the program is accepted: the fewest that do are to blame. Nothing is blamed if not even all of
// them do; then tables or types differ.
func (s *search) blameWith(bad, good *Answer, w *waiver) error {
	if bad.Hold == nil || bad.Hold.Kind != Refusal || bad.target == nil || good.target == nil {
		return nil
	}
	l, lp := s.program(bad.target, s.n)
	if lp == nil || !l.checker.Knows() {
		return nil
	}
	p, err := l.checker.Program(s.ctx, lp)
	if err != nil {
		return s.ctx.Err()
	}
	w.apply(p, lp)
	k := l.checker.Kernel()
	from, to := w.of(k), since.Of(good.target.Version).Rules()
	var differ []since.Rule
	for _, r := range since.All() {
		if r.OfVerifier() && from.Has(r) != to.Has(r) {
			differ = append(differ, r)
		}
	}
	accepts := func(turned []since.Rule) (bool, error) {
		set := *from
		for _, r := range turned {
			set[r] = to.Has(r)
		}
		v, err := verify(s.ctx, k, p, &set)
		return err == nil && v.Outcome == verifier.Accepted, err
	}
	var found []since.Rule
	for {
		ok, err := accepts(found)
		if err != nil {
			return err
		}
		if ok {
			break
		}
		if ok, err = accepts(append(found[:len(found):len(found)], differ...)); err != nil || !ok || len(found) == maxBlamed {
			return err
		}
		// The first rules that are enough with those found: the last of them is needed.
		lo, hi := 0, len(differ)
		for hi-lo > 1 {
			mid := (lo + hi) / 2
			if ok, err = accepts(append(found[:len(found):len(found)], differ[:mid]...)); err != nil {
				return err
			}
			if ok {
				hi = mid
			} else {
				lo = mid
			}
		}
		found, differ = append(found, differ[hi-1]), differ[:hi-1]
	}
	if len(found) == 0 {
		return nil
	}
	bad.Hold.rules(found)
	return nil
}

// rules makes a refusal one by rules.
func (h *Hold) rules(found []since.Rule) {
	h.Rules, h.Kind = found, Rule
	var names []string
	instructions := true
	for _, r := range found {
		row := r.Row()
		names = append(names, row.What)
		h.Since = max(h.Since, row.From)
		instructions = instructions && r.Area() == "Instructions"
	}
	if instructions {
		h.Kind = Instruction
	}
	h.Name = strings.Join(names, "; ")
}
