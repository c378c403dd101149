package verifier

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/progtype"
)

// Judge computes the verdicts of a target's kernel on the programs of an object linked for it, each program once. It is
// safe for concurrent use.
type Judge struct {
	linked *loader.Linked
	kernel *Kernel
	opts   Options

	mu    sync.Mutex
	known map[*loader.LinkedProgram]*Verdict
}

// NewJudge returns a Judge for a linked object.
func NewJudge(l *loader.Linked, o Options) *Judge {
	return &Judge{linked: l, kernel: KernelOf(l.Target), opts: o, known: map[*loader.LinkedProgram]*Verdict{}}
}

// Knows reports whether the rules of the target's release are known; without them there are no verdicts.
func (j *Judge) Knows() bool { return j.WhyNot() == "" }

// WhyNot explains why no program can be verified, or returns "" if programs can be.
func (j *Judge) WhyNot() string {
	switch {
	case j.kernel.Release == 0:
		return fmt.Sprintf("the release of %s is unknown: set it with --kernel-version", j.linked.Target.Name)
	case j.kernel.Release < loader.FirstVerified:
		return fmt.Sprintf("bpfrun has verifier rules from Linux %s on, but %s is %s", loader.FirstVerified, j.linked.Target.Name, j.kernel.Release)
	}
	return ""
}

// Verdict verifies a program. It returns nil for programs that never reach the verifier: those that are not loaded,
// whose hook is absent or that were refused earlier. The error is that of ctx.
func (j *Judge) Verdict(ctx context.Context, lp *loader.LinkedProgram) (*Verdict, error) {
	if lp.Status != loader.StatusOK && lp.Status != loader.StatusUnknownHook {
		return nil, nil
	}
	if v := j.Known(lp); v != nil {
		return v, nil
	}
	v, err := j.judge(ctx, lp)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.known[lp] = v
	return v, nil
}

// Known returns the verdict on a program that was already verified, else nil.
func (j *Judge) Known(lp *loader.LinkedProgram) *Verdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.known[lp]
}

func (j *Judge) judge(ctx context.Context, lp *loader.LinkedProgram) (*Verdict, error) {
	unknown := func(format string, args ...any) (*Verdict, error) {
		return &Verdict{Insn: -1, Missing: fmt.Sprintf(format, args...)}, nil
	}
	switch {
	case !j.Knows():
		return unknown("%s", j.WhyNot())
	case progtype.Of(lp.Type).TargetOf(lp.Attach) == progtype.OtherProgram:
		return unknown("the program that it replaces a function of")
	}
	p, err := FromLinked(j.linked, lp)
	if err != nil {
		return unknown("%v", err)
	}
	v, err := Verify(ctx, j.kernel, p, j.opts)
	if errors.Is(err, ErrProgram) {
		return unknown("%v", err)
	}
	return v, err
}

// Refusal returns the reason for not loading a program, a *[RefusedError], or nil. An error of ctx also gives nil.
func (j *Judge) Refusal(ctx context.Context, lp *loader.LinkedProgram) error {
	v, err := j.Verdict(ctx, lp)
	if err != nil || v == nil || v.Outcome != Refused {
		return nil
	}
	return &RefusedError{Program: lp.Name, Verdict: v}
}

// History returns the instructions that led to the refusal of a program, as [RefusalHistory] does.
func (j *Judge) History(ctx context.Context, lp *loader.LinkedProgram) ([]Cause, error) {
	v := j.Known(lp)
	if v == nil {
		return nil, nil
	}
	p, err := FromLinked(j.linked, lp)
	if err != nil {
		return nil, nil
	}
	return RefusalHistory(ctx, j.kernel, p, v)
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

// Summary describes a refusal or a missing rule on one line: the kernel's message, its error and the source position.
func (v *Verdict) Summary() string {
	if v.Outcome == Unknown {
		return "cannot say: " + v.Missing
	}
	if v.Outcome == Accepted {
		return fmt.Sprintf("accepted, %d instructions processed, %d states", v.ProcessedInsns, v.TotalStates)
	}
	text := v.Message
	if text == "" {
		text = v.Reason
	}
	if v.Source != nil {
		text += fmt.Sprintf(" at %s:%d", path.Base(v.Source.File), v.Source.Line)
	}
	return fmt.Sprintf("%s (%s)", text, v.Errno.Name())
}

// PoisonVerdicts combines [loader.LinkedProgram.PoisonVerdicts] with the verdict on the program, which may be nil: in
// an accepted program the poison is dead code; poison that causes a refusal breaks the program.
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
