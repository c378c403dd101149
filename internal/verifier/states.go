package verifier

import (
	"context"

	"github.com/bpfrun/bpfrun/internal/verifier/num"
)

// States are those in which exploration reaches an instruction.
type States struct {
	// Verdict is the verdict on the program.
	Verdict *Verdict
	// Visits counts how often the instruction was reached; Pruned, how often the path ended there
	// because an earlier state covers it.
	Visits, Pruned int
	// List has the first different states.
	List []StateView
}

// StateView is a state as far as it concerns the function of the instruction.
type StateView struct {
	Regs [11]RegView
	// Text is the whole state including the stack, as the kernel's log prints it.
	Text string
}

// RegView is what the verifier knows about a register.
type RegView struct {
	// Text is what the log prints, "" for a register that was not set.
	Text string
	// Number means that it is a number and not a pointer; only numbers have bounds.
	Number bool

	bounds num.Bounds
}

// Holds reports whether a number is within the bounds. For a pointer nothing is known, so the
// result is true.
func (r *RegView) Holds(v uint64) bool { return !r.Number || r.bounds.Holds(v) }

// Holds reports whether the state allows these register values. Registers that are not known are
// ignored.
func (s *StateView) Holds(regs map[int]uint64) bool {
	for i, v := range regs {
		if !s.Regs[i].Holds(v) {
			return false
		}
	}
	return true
}

// StatesAt explores a program and returns the states in which it reaches instruction insn, at most
// limit different ones.
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
		view := StateView{Text: contentText(e, e.cur, e.cur.curFrame)}
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
