package repl

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/visible"
)

var verifierCommand = &command{
	name: "verifier", args: "[all]", topic: "looking", short: "compare the verifier's state here with the registers' values",
	long: "The verifier may reach an instruction in several states, one for each path that differs. Without all, only the states that match\nthe current values are shown. \"other\" marks a value that a state excludes: the verifier had already found that the value does\nnot matter from here on.",
	run: func(r *REPL, ctx context.Context, args string) error {
		if args != "" && args != "all" {
			return errors.New("verifier: want no argument, or all")
		}
		a, err := r.s.Abstract(ctx)
		if err != nil {
			return err
		}
		r.abstract(a, args == "all")
		return nil
	},
	complete: func(*REPL, string) []string { return []string{"all"} },
}

func (r *REPL) abstract(a *debug.Abstract, all bool) {
	s := a.States
	r.printf("%s: %s\n", a.Place, a.Place.Insn())
	verdict := s.Verdict.Summary()
	if s.Verdict.Outcome == verifier.Refused {
		verdict = "refused: " + verdict
	}
	r.printf("verifier of %s: %s\n", r.s.Linked().Target.Name, verdict)
	if s.Visits == 0 {
		why := "it never walks this instruction: no path leads here, or other states cover those that do"
		if s.Verdict.Outcome != verifier.Accepted {
			why = "it stops before it reaches this instruction"
		}
		r.printf("%s\n", why)
		return
	}
	times := func(n int) string {
		if n == 1 {
			return "once"
		}
		return fmt.Sprintf("%d times", n)
	}
	text := fmt.Sprintf("gets here %s", times(s.Visits))
	if s.Pruned > 0 {
		text += fmt.Sprintf(", and %s in a state that an earlier one covers", times(s.Pruned))
	}
	r.printf("%s\n", visible.Lines(text))
	shown := s.List
	if !all {
		var fit []verifier.StateView
		for _, v := range s.List {
			if v.Holds(a.Values) {
				fit = append(fit, v)
			}
		}
		if len(fit) > 0 {
			shown = fit
		}
		const most = 2
		shown = shown[:min(len(shown), most)]
	}
	regs, err := r.s.Registers()
	if err != nil {
		return
	}
	for i := range shown {
		if len(s.List) > 1 {
			r.printf("one of %d states:\n", len(s.List))
		}
		r.abstractState(a, &shown[i], regs)
	}
	if left := len(s.List) - len(shown); left > 0 {
		r.printf("%d more: verifier all\n", left)
	}
}

func (r *REPL) abstractState(a *debug.Abstract, v *verifier.StateView, regs []debug.Register) {
	for i := range v.Regs {
		g := &v.Regs[i]
		value, ok := a.Values[i]
		if g.Text == "" {
			continue // not readable for the program
		}
		now := "-"
		if ok {
			now = fmt.Sprintf("%#x", value)
			if g.Number && value < 1<<32 {
				now = fmt.Sprint(value)
			}
			if !g.Number && i < len(regs) && regs[i].Note != "" && regs[i].Value == value {
				now += " " + regs[i].Note
			}
		}
		other := ""
		if ok && !g.Holds(value) {
			other = "  other"
		}
		r.printf("r%-3d %-40s %s%s\n", i, now, g.Text, other)
	}
	if n := strings.Index(v.Text, " fp-"); n >= 0 {
		r.printf("stack %s\n", v.Text[n+1:])
	}
}
