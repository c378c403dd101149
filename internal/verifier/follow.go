package verifier

import (
	"context"
	"errors"
	"fmt"
)

// RunStep is an instruction of a run: its index, the depth of calls, and r0 to r10 before it.
type RunStep struct {
	Insn, Depth int
	Regs        [11]uint64
}

// Followed is the result of [Follow].
type Followed struct {
	// Steps and Registers count what was compared.
	Steps, Registers int
	// Stopped tells why the rest of the run was not compared, "" if all of it was.
	Stopped string
	// Violation is not nil if the run did what the verifier excludes.
	Violation *Violation
}

// Violation is a step of a run that the verifier excludes: a value that a register cannot have, or
// a branch that cannot be taken.
type Violation struct {
	Step, Insn int
	// Reg is the register, -1 for a branch; Value is its value in the run, and State what the
	// verifier knows of it.
	Reg   int
	Value uint64
	State string
}

// Error returns the violation in one line.
func (v *Violation) Error() string {
	if v.Reg < 0 {
		return fmt.Sprintf("step %d: the run got to instruction %d, which the verifier excludes", v.Step, v.Insn)
	}
	return fmt.Sprintf("step %d, instruction %d: r%d is 0x%x, the verifier knows %s", v.Step, v.Insn, v.Reg, v.Value, v.State)
}

// errFollowed ends a verification that follows a run.
var errFollowed = errors.New("followed")

// Follow verifies only the path that a run took, and compares the registers of the run with the
// state before each instruction. Nothing is pruned, so the state is that of exactly this path.
// Global functions, which the verifier does not enter, are passed over.
func Follow(ctx context.Context, k *Kernel, p *Program, steps []RunStep) (*Followed, error) {
	f := &follower{steps: steps}
	v, err := Verify(ctx, k, p, Options{follow: f})
	switch {
	case errors.Is(err, errFollowed):
	case err != nil:
		return nil, err
	case v.Outcome != Accepted:
		f.out.Stopped = fmt.Sprintf("the program is %s: %s%s", v.Outcome, v.Message, v.Missing)
	}
	return &f.out, nil
}

// follower compares an exploration with a run.
type follower struct {
	steps []RunStep
	at    int // next step
	out   Followed

	active    bool // while the program itself is explored, not a global function alone
	ambiguous bool // several states were possible at a step; the one followed may be the wrong one
}

// stop ends the comparison.
func (f *follower) stop(format string, args ...any) {
	if f.out.Violation == nil {
		f.out.Stopped = fmt.Sprintf(format, args...)
	}
	panic(stopped{errFollowed})
}

// steer continues with the state, among the current one and those queued by the last instruction,
// in which the run is at its next step.
func (f *follower) steer(e *explorer, prev *int) {
	if f.at >= len(f.steps) {
		f.stop("")
	}
	step := &f.steps[f.at]
	candidates := append(e.pool.pending, pendingState{st: e.cur, insn: e.insn, prev: *prev})
	e.pool.pending = e.pool.pending[:0:0]
	for { // pass over global functions
		var bad *Violation
		found := -1
		for i := len(candidates) - 1; i >= 0; i-- {
			c := &candidates[i]
			if c.insn != step.Insn || c.st.curFrame != step.Depth-f.steps[0].Depth {
				continue
			}
			if v := f.check(e, c.st, step); v != nil {
				bad = v
				continue
			}
			f.ambiguous = f.ambiguous || found >= 0
			found = i
		}
		if found >= 0 {
			f.take(e, &candidates[found], prev)
			return
		}
		if step.Depth-f.steps[0].Depth <= e.cur.curFrame {
			f.excluded(e, bad, step)
		}
		if f.at++; f.at >= len(f.steps) {
			f.stop("")
		}
		step = &f.steps[f.at]
	}
}

func (f *follower) take(e *explorer, c *pendingState, prev *int) {
	if c.st != e.cur {
		e.cur, e.insn, *prev = c.st, c.insn, c.prev
		if e.liveness.live != nil {
			e.liveness.live.forget()
		}
	}
	e.prev = *prev
	f.at++
	f.out.Steps++
	for i := range 10 {
		if e.cur.regs()[i].typ == scalar {
			f.out.Registers++
		}
	}
}

// excluded ends the comparison at a step for which there is no state.
func (f *follower) excluded(e *explorer, bad *Violation, step *RunStep) {
	last := &e.insns[f.steps[max(f.at-1, 0)].Insn]
	switch {
	case f.ambiguous:
		f.stop("several states were possible before instruction %d", step.Insn)
	case bad != nil:
		f.out.Violation = bad
	case isConditional(last):
		f.out.Violation = &Violation{Step: f.at, Insn: step.Insn, Reg: -1}
	default:
		f.stop("the run continues at instruction %d, the verifier elsewhere", step.Insn)
	}
	f.stop("")
}

// check compares registers.
func (f *follower) check(e *explorer, s *state, step *RunStep) *Violation {
	for i := range 10 {
		if r := &s.regs()[i]; !r.allows(step.Regs[i]) {
			return &Violation{Step: f.at, Insn: step.Insn, Reg: i, Value: step.Regs[i], State: regText(e.position, r, s.curFrame)}
		}
	}
	return nil
}

// allows reports whether the register may have a value: a number within its bounds, or an address,
// of which only is known whether it may be null.
func (r *reg) allows(v uint64) bool {
	if r.typ == scalar {
		return r.Holds(v)
	}
	if v != 0 || r.typ.mayBeNull() {
		return true
	}
	switch r.typ.base() {
	case ptrCtx, ptrMapValue, ptrMapKey, ptrStack, ptrPacket, ptrPacketMeta, ptrPacketEnd, constMap:
		return false
	}
	return true
}
