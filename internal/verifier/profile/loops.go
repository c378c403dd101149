package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// loop is a natural loop: the instructions from which its head is reached again without leaving it.
type loop struct {
	head  int
	tails []int // jumps back to the head
	body  map[int]bool
}

// maxBodies bounds how many instructions all loops have together: each may be in thousands of
// loops. What has no room is left out.
const maxBodies = 1 << 21

// findLoops finds the loops of all functions: edges back to an instruction that the search has not
// left.
func (r *Profile) findLoops() {
	n := len(r.p.Insns)
	preds := make([][]int, n)
	state := make([]uint8, n) // 1: entered, 2: left
	by := map[int]*loop{}
	var next []int
	type visit struct{ insn, next int }
	starts := []int{0}
	for _, f := range r.p.Funcs {
		starts = append(starts, f.Insn)
	}
	for _, c := range r.costs.Calls {
		starts = append(starts, c.Start)
	}
	for _, start := range starts {
		if start < 0 || start >= n || state[start] != 0 {
			continue
		}
		state[start] = 1
		for todo := []visit{{insn: start}}; len(todo) > 0; {
			v := &todo[len(todo)-1]
			next = decode.Successors(next[:0], r.p.Insns, v.insn)
			if v.next == len(next) {
				state[v.insn] = 2
				todo = todo[:len(todo)-1]
				continue
			}
			from, to := v.insn, next[v.next]
			v.next++
			if to < 0 || to >= n {
				continue
			}
			preds[to] = append(preds[to], from)
			switch state[to] {
			case 0:
				state[to] = 1
				todo = append(todo, visit{insn: to})
			case 1:
				l := by[to]
				if l == nil {
					l = &loop{head: to, body: map[int]bool{to: true}}
					by[to] = l
				}
				l.tails = append(l.tails, from)
			}
		}
	}
	left := maxBodies
	for _, head := range slices.Backward(slices.Sorted(maps.Keys(by))) { // inner ones first
		l := by[head]
		todo := slices.Clone(l.tails)
		for len(todo) > 0 && len(l.body) < left {
			i := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if l.body[i] {
				continue
			}
			l.body[i] = true
			todo = append(todo, preds[i]...)
		}
		if len(todo) > 0 {
			continue
		}
		left -= len(l.body)
		r.loops = append(r.loops, *l)
	}
	slices.SortFunc(r.loops, func(a, b loop) int { return a.head - b.head })
}

func (r *Profile) addLoops() {
	r.findLoops()
	for i := range r.loops {
		l := &r.loops[i]
		x := Loop{Place: r.loopPlace(l), Kind: r.kindOf(l)}
		for _, t := range l.tails {
			switch c := &r.costs.Insns[t]; {
			case !isConditional(&r.p.Insns[t]):
				x.Turns += c.Processed - c.Pruned
			case t+1 == l.head:
				x.Turns += c.Fell
			default:
				x.Turns += c.Taken
			}
		}
		x.Entered = max(0, r.costs.Insns[l.head].Processed-x.Turns)
		for at := range l.body {
			x.Processed += r.costs.Insns[at].Processed
		}
		x.Processed += r.calledFrom(l)
		if x.Turns == 0 {
			continue
		}
		if a := r.turns(l); a != nil {
			x.Differs = a.change()
		}
		r.Loops = append(r.Loops, x)
	}
	slices.SortFunc(r.Loops, func(a, b Loop) int { return cmp.Or(b.Processed-a.Processed, a.Insn-b.Insn) })
}

// loopPlace is the smallest line of the loop's instructions in the file of its head: that of the
// statement that loops.
func (r *Profile) loopPlace(l *loop) Place {
	at := r.place(l.head)
	for _, t := range l.tails {
		// The jump back belongs to the condition of the loop.
		if p := r.place(t); p.File == at.File && p.Line > 0 && (at.Line == 0 || p.Line < at.Line) {
			p.Insn = l.head
			at = p
		}
	}
	return at
}

// calledFrom is how much was processed in functions that the loop calls.
func (r *Profile) calledFrom(l *loop) int {
	n := 0
	for i := range r.costs.Calls {
		for c := &r.costs.Calls[i]; c.Parent >= 0; c = &r.costs.Calls[c.Parent] {
			if l.body[c.Site] {
				n += sum(r.costs.Calls[i].Insns)
				break
			}
		}
	}
	return n
}

func (r *Profile) kindOf(l *loop) string {
	for at := range l.body {
		in := &r.p.Insns[at]
		if in.Op() == decode.OpMayGoto {
			return "may_goto"
		}
		if ref := r.p.Refs[at]; ref.Kind == verifier.RefKfunc && strings.HasPrefix(ref.Name, "bpf_iter_") && strings.HasSuffix(ref.Name, "_next") {
			return "iterator"
		}
	}
	return "counted"
}

// turns returns what most often differs between turns of a loop.
func (r *Profile) turns(l *loop) *Apart {
	var best *Apart
	for i := range r.Apart {
		if a := &r.Apart[i]; a.Loop && l.body[a.At.Insn] && (best == nil || a.Alone+a.Also > best.Alone+best.Also) {
			best = a
		}
	}
	return best
}

// change describes the difference in one line.
func (a *Apart) change() string {
	text := a.Place
	if a.Variable != "" {
		text = fmt.Sprintf("%s (%s)", a.Variable, a.Place)
	}
	if a.Kept != "" || a.Now != "" {
		text += fmt.Sprintf(": %s, then %s", a.Kept, a.Now)
	}
	return text
}
