package loader

import "errors"

// Verified is what the verifier of the target's kernel says about a program. The zero value means
// that there is no verdict: the program was not verified, or the verifier lacks a rule for it.
type Verified struct {
	Decided bool
	Refusal error // nil: accepted
	Insn    int   // the instruction that is refused, -1 for the whole program
	// Reached are the slots of an accepted program that some input may reach; nil for all.
	Reached []bool
}

// Refusal returns the reason why the kernel does not load a program that libbpf passes to it, or
// nil. This is the one place that decides whether the checks of this package count that stand for
// the verifier's: only without a verdict. The verifier checks just what it reaches, so that it
// accepts code that these checks cannot tell from dead code. Where it refuses the program too, they
// say more than its message: if it is the same instruction, or if the kernel lacks something.
func (lp *LinkedProgram) Refusal(v Verified) error {
	s := lp.Static
	switch {
	case v.Decided && (v.Refusal == nil || s == nil || v.Insn != s.Insn && !errors.Is(s, ErrUnknownToTarget)):
		return v.Refusal
	case s != nil:
		return s
	}
	return nil
}

// static checks helper numbers, the structure of instructions, and the kernel's tables.
func (l *loading) static(lp *LinkedProgram) *Error {
	if err := l.checkInsns(lp); err != nil {
		return err
	}
	if l.t.BTF == nil {
		return nil
	}
	if err := l.checkRules(lp); err != nil {
		return l.progError(lp, err)
	}
	return nil
}
