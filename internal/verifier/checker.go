package verifier

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/bpfrun/bpfrun/loader"
)

// Checker computes the verdicts of a target's kernel on the programs of an object linked for it,
// each program once. It is safe for concurrent use.
type Checker struct {
	linked *loader.Linked
	kernel *Kernel
	opts   Options
	cache  *Cache // nil: verdicts are kept for this object only

	mu    sync.Mutex
	known map[*loader.LinkedProgram]*Verdict
}

// NewChecker returns a Checker for a linked object.
func NewChecker(l *loader.Linked, o Options) *Checker {
	return &Checker{linked: l, kernel: KernelOf(l.Target), opts: o, known: map[*loader.LinkedProgram]*Verdict{}}
}

// Knows reports whether the rules of the target's release are known; without them there are no
// verdicts.
func (c *Checker) Knows() bool { return c.WhyNot() == "" }

// WhyNot explains why no program can be verified, or returns "" if programs can be.
func (c *Checker) WhyNot() string {
	return c.kernel.WhyNot(c.linked.Target.Name)
}

// Verdict verifies a program. It returns nil for programs that never reach the verifier: those that
// are not loaded, whose hook is absent or that were refused earlier. The error is that of ctx.
func (c *Checker) Verdict(ctx context.Context, lp *loader.LinkedProgram) (*Verdict, error) {
	if lp.Status != loader.StatusOK && lp.Status != loader.StatusUnknownHook {
		return nil, nil
	}
	if v := c.Known(lp); v != nil {
		return v, nil
	}
	v, err := c.check(ctx, lp)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[lp] = v
	return v, nil
}

// Known returns the verdict on a program that was already verified, else nil.
func (c *Checker) Known(lp *loader.LinkedProgram) *Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[lp]
}

func (c *Checker) check(ctx context.Context, lp *loader.LinkedProgram) (*Verdict, error) {
	unknown := func(format string, args ...any) (*Verdict, error) {
		return &Verdict{Insn: -1, Missing: fmt.Sprintf(format, args...)}, nil
	}
	if !c.Knows() {
		return unknown("%s", c.WhyNot())
	}
	p, err := c.Program(ctx, lp)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return unknown("%v", err)
	}
	v, err := c.cache.verify(ctx, c.kernel, p, c.opts)
	if errors.Is(err, ErrProgram) {
		return unknown("%v", err)
	}
	if err == nil && v.Outcome == Refused {
		own := *v // the cache's is shared
		own.Lacks = lp.PoisonText(v.Insn)
		v = &own
	}
	return v, err
}

// Program returns the program that libbpf would pass to the kernel, with what the verdict on the
// program that it attaches to tells. The error is that of ctx or [ErrProgram].
func (c *Checker) Program(ctx context.Context, lp *loader.LinkedProgram) (*Program, error) {
	if t := lp.AttachProg; t != nil {
		if v, err := c.Verdict(ctx, t); err != nil {
			return nil, err
		} else if v != nil {
			t.Verified(v.Reliable, v.Untyped)
		}
	}
	return FromLinked(c.linked, lp)
}

// Kernel returns the target's kernel.
func (c *Checker) Kernel() *Kernel { return c.kernel }

// Verify returns the verdict on a program for the machine that runs it. An error of ctx gives none.
func (c *Checker) Verify(ctx context.Context, lp *loader.LinkedProgram) loader.Verified {
	v, err := c.Verdict(ctx, lp)
	if err != nil {
		return loader.Verified{}
	}
	return v.Of(lp)
}

// Of returns the verdict, which may be nil, as the verdict on a linked program.
func (v *Verdict) Of(lp *loader.LinkedProgram) loader.Verified {
	switch {
	case v == nil || v.Outcome == Unknown:
		return loader.Verified{}
	case v.Outcome == Refused:
		return loader.Verified{Decided: true, Insn: v.Insn, Refusal: &RefusedError{Program: lp.Name, Verdict: v}}
	}
	return loader.Verified{Decided: true, Insn: -1, Reached: v.Reached}
}

// History returns the instructions that led to the refusal of a program, as [RefusalHistory] does.
func (c *Checker) History(ctx context.Context, lp *loader.LinkedProgram) ([]Cause, error) {
	v := c.Known(lp)
	if v == nil {
		return nil, nil
	}
	p, err := FromLinked(c.linked, lp)
	if err != nil {
		return nil, nil
	}
	return RefusalHistory(ctx, c.kernel, p, v)
}

// RefusedError means that the kernel's verifier refuses a program.
type RefusedError struct {
	Program string
	Verdict *Verdict
}

// Error contains the kernel's message, the source position, and the command that shows more.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the verifier refuses it: %s; bpfrun verify -p %s explains it", e.Verdict.Summary(), e.Program)
}

// Summary describes a refusal or a missing rule on one line: the kernel's message, its error and
// the source position.
func (v *Verdict) Summary() string {
	if v.Outcome == Unknown {
		return "cannot say: " + v.Missing
	}
	if v.Outcome == Accepted {
		return fmt.Sprintf("accepted, %d instructions processed, %d states", v.ProcessedInsns, v.TotalStates)
	}
	text := v.Lacks
	if text == "" {
		text = v.Message
	}
	if text == "" {
		text = v.Reason
	}
	if v.Source != nil {
		text += fmt.Sprintf(" at %s:%d", path.Base(v.Source.File), v.Source.Line)
	}
	return fmt.Sprintf("%s (%s)", text, v.Errno.Name())
}

// PoisonVerdicts combines [loader.LinkedProgram.PoisonVerdicts] with the verdict on the program,
// which may be nil: in an accepted program the poison is dead code; poison that causes a refusal
// breaks the program.
func (v *Verdict) PoisonVerdicts(lp *loader.LinkedProgram) []loader.PoisonVerdict {
	out := lp.PoisonVerdicts()
	if v == nil {
		return out
	}
	for i := range out {
		if out[i].Verdict != loader.MayBreak {
			continue
		}
		switch {
		case v.Outcome == Accepted:
			out[i].Verdict = loader.Dead
		case v.Outcome == Refused && v.Insn == out[i].Insn:
			out[i].Verdict = loader.Break
		}
	}
	return out
}

// Excuse returns the function that makes the Verify functions of machines which run programs
// whatever the verifier says, as debuggers do: it matters only where the loader's checks object to
// code that the verifier accepts.
func Excuse(ctx context.Context) func(*loader.Linked) func(*loader.LinkedProgram) loader.Verified {
	return func(l *loader.Linked) func(*loader.LinkedProgram) loader.Verified {
		checker := NewChecker(l, Options{})
		return func(lp *loader.LinkedProgram) loader.Verified {
			if lp.Static == nil {
				return loader.Verified{}
			}
			v := checker.Verify(ctx, lp)
			if v.Refusal != nil {
				return loader.Verified{}
			}
			return v
		}
	}
}
