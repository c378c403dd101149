package verifier

import (
	"context"

	"github.com/bpfrun/bpfrun/verifier/num"
)

// States are those in which the walk comes to an instruction.
type States struct {
	// Verdict is that on the program.
	Verdict *Verdict
	// Visits counts how often the walk came there; Pruned of these, how often it went no further since an earlier state covers what
	// follows.
	Visits, Pruned int
	// List has the different states, the first ones.
	List []StateView
}

// StateView is a state as far as it concerns the function of the instruction.
type StateView struct {
	Regs [11]RegView
	// Text is the whole state as the kernel's log writes it, with the stack.
	Text string
}

// RegView is what the verifier knows of a register.
type RegView struct {
	// Text is what a log writes, "" for a register that was not set.
	Text string
	// Number means that it is a number and no pointer; only then it has bounds.
	Number bool

	bounds num.Bounds
}

// Holds reports whether a number is within the bounds; of pointers nothing is known, which is true.
func (r *RegView) Holds(v uint64) bool { return !r.Number || r.bounds.Holds(v) }

// Holds reports whether the state is one of these registers. Those that are not known are left out.
func (s *StateView) Holds(regs map[int]uint64) bool {
	for i, v := range regs {
		if !s.Regs[i].Holds(v) {
			return false
		}
	}
	return true
}

// StatesAt walks a program and returns the states in which the walk comes to instruction insn, at most limit different ones.
func StatesAt(ctx context.Context, k *Kernel, p *Program, insn, limit int) (*States, error) {
	out := &States{}
	seen := map[string]bool{}
	v, err := Verify(ctx, k, p, Options{onInsn: func(e *position, pruned bool) {
		if e.insn != insn {
			return
		}
		if pruned {
			out.Pruned++
			return
		}
		out.Visits++
		if len(out.List) >= limit {
			return
		}
		view := StateView{Text: stateText(e, e.cur, e.cur.curFrame)}
		if seen[view.Text] {
			return
		}
		seen[view.Text] = true
		for i, r := range e.cur.regs() {
			if r.typ != notInit {
				view.Regs[i] = RegView{Text: regText(e, &r, e.cur.curFrame), Number: r.typ == scalar, bounds: r.Bounds}
			}
		}
		out.List = append(out.List, view)
	}})
	out.Verdict = v
	return out, err
}
