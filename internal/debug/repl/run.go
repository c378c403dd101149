package repl

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/visible"
)

var runCommands = []*command{
	{
		name: "run", aliases: []string{"r", "start"}, args: "[PROGRAM|RUN] [on cpu N]", topic: "running", short: "start a program, or a run of the scenario, and stop at its first instruction",
		long: "Without a name it is the one that was started last, or the first one. Maps, global variables and time are as earlier runs\nleft them; a run of a scenario has what the scenario sets up. " +
			"While programs are in the middle of their runs on other CPUs,\nit joins them.",
		run: func(r *REPL, ctx context.Context, args string) error {
			args, cpu, err := cutCPU(args)
			if err == nil && cpu >= 0 {
				err = r.s.SelectCPU(cpu)
			}
			if err != nil {
				return err
			}
			st, err := r.s.StartContext(ctx, args)
			return r.stop(st, err)
		},
		complete: func(r *REPL, _ string) []string {
			out := r.s.Machine().Names()
			for _, c := range r.s.Cases() {
				out = append(out, c.Name)
			}
			return out
		},
	},
	{
		name: "restart", topic: "running", short: "go back to the first instruction of the run",
		run: func(r *REPL, _ context.Context, _ string) error {
			st, err := r.s.Restart()
			return r.stop(st, err)
		},
	},
	{
		name: "reset", aliases: []string{"kill"}, topic: "running", short: "reset maps, variables and time to their state before the first run",
		run: func(r *REPL, _ context.Context, _ string) error {
			r.s.Reset()
			r.printf("The machine was reset.\n")
			return nil
		},
	},
	{
		name: "continue", aliases: []string{"c"}, args: "[N]", topic: "running", short: "run until something stops the program", repeat: bare,
		long: "With N, ignore the next N-1 hits of the breakpoint here.",
		run: func(r *REPL, ctx context.Context, args string) error {
			n, err := count(args)
			if err != nil {
				return err
			}
			return r.times(ctx, n, r.s.Continue)
		},
	},
	{
		name: "step", aliases: []string{"s"}, args: "[N]", topic: "running", short: "run to another source line, stepping into functions", repeat: same,
		run: func(r *REPL, ctx context.Context, args string) error { return r.repeated(ctx, args, r.s.Step) },
	},
	{
		name: "next", aliases: []string{"n"}, args: "[N]", topic: "running", short: "run to another source line, stepping over functions", repeat: same,
		run: func(r *REPL, ctx context.Context, args string) error { return r.repeated(ctx, args, r.s.Next) },
	},
	{
		name: "stepi", aliases: []string{"si"}, args: "[N]", topic: "running", short: "execute one instruction, or N", repeat: same,
		run: func(r *REPL, ctx context.Context, args string) error {
			n, err := count(args)
			if err != nil {
				return err
			}
			st, err := r.s.StepInsn(ctx, uint64(n))
			return r.stopInsn(st, err)
		},
	},
	{
		name: "nexti", aliases: []string{"ni"}, args: "[N]", topic: "running", short: "execute one instruction, stepping over calls", repeat: same,
		run: func(r *REPL, ctx context.Context, args string) error {
			n, err := count(args)
			if err != nil {
				return err
			}
			for i := range n {
				st, err := r.s.NextInsn(ctx)
				if err != nil || st.Reason != debug.Stepped || i == n-1 {
					return r.stopInsn(st, err)
				}
			}
			return nil
		},
	},
	{
		name: "finish", aliases: []string{"fin", "stepout"}, topic: "running", short: "run until the selected function returns", repeat: same,
		run: func(r *REPL, ctx context.Context, _ string) error {
			st, err := r.s.Finish(ctx)
			return r.stop(st, err)
		},
	},
	{
		name: "until", aliases: []string{"u"}, args: "[LOCATION]", topic: "running", short: "like next, but never back to an earlier line of a loop; or run to a location", repeat: same,
		run: until, complete: locations,
	},
	{
		name: "goto", args: "N|checkpoint N", topic: "running", short: "go to the point after the first N instructions of the run, or to a checkpoint",
		run: func(r *REPL, ctx context.Context, args string) error {
			word, rest := splitCommand(args)
			if word != "" && strings.HasPrefix("checkpoint", word) {
				id, err := strconv.Atoi(rest)
				if err != nil {
					return fmt.Errorf("goto checkpoint: want a number")
				}
				c, ok := r.s.Checkpoint(id)
				if !ok {
					return fmt.Errorf("no checkpoint %d", id)
				}
				st, err := r.s.GoTo(ctx, c.Pos)
				return r.stop(st, err)
			}
			n, err := strconv.ParseUint(args, 0, 64)
			if err != nil {
				return fmt.Errorf("goto: want an instruction count ($insns is the current one)")
			}
			st, err := r.s.GoTo(ctx, n)
			return r.stop(st, err)
		},
	},
	{
		name: "checkpoint", aliases: []string{"check"}, topic: "running", short: "mark this point of the run for goto and diff",
		run: func(r *REPL, _ context.Context, _ string) error {
			c, err := r.s.Mark()
			if err != nil {
				return err
			}
			r.printf("Checkpoint %d after %d instructions: %s\n", c.ID, c.Pos, c.Note)
			return nil
		},
	},
}

func until(r *REPL, ctx context.Context, args string) error {
	if args == "" {
		st, err := r.s.Until(ctx)
		return r.stop(st, err)
	}
	places, note, err := r.s.Locate(args)
	if err != nil {
		return err
	}
	if note != "" {
		r.printf("%s\n", note)
	}
	st, err := r.s.Advance(ctx, places)
	return r.stop(st, err)
}

// backward defines the reverse form of a command.
func backward(name string, aliases ...string) *command {
	var forward *command
	for _, c := range runCommands {
		if c.name == name {
			forward = c
		}
	}
	return &command{
		name: "reverse-" + name, aliases: aliases, args: forward.args, topic: "going back", short: forward.name + " backwards", repeat: forward.repeat,
		run: func(r *REPL, ctx context.Context, args string) error {
			r.s.Reverse = !r.s.Reverse
			defer func() { r.s.Reverse = !r.s.Reverse }()
			return forward.run(r, ctx, args)
		},
		complete: forward.complete,
	}
}

var backCommands = []*command{
	backward("step", "rs"), backward("next", "rn"), backward("stepi", "rsi"), backward("nexti", "rni"),
	backward("continue", "rc", "rewind"), backward("finish", "rfin"), backward("until", "ru"),
	{
		name: "direction", args: "[forward|reverse]", topic: "going back", short: "show or set the direction of step, next, continue and similar commands",
		run: func(r *REPL, _ context.Context, args string) error {
			switch args {
			case "":
			case "forward":
				r.s.Reverse = false
			case "reverse":
				r.s.Reverse = true
			default:
				return fmt.Errorf("direction: want forward or reverse")
			}
			word := "forward"
			if r.s.Reverse {
				word = "reverse"
			}
			r.printf("Direction: %s.\n", word)
			return nil
		},
		complete: func(*REPL, string) []string { return []string{"forward", "reverse"} },
	},
}

func count(args string) (int, error) {
	if args == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(args)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q: want a number of times", args)
	}
	return n, nil
}

// repeated steps as often as the argument demands, unless something else stops the program.
func (r *REPL) repeated(ctx context.Context, args string, step func(context.Context) (*debug.Stop, error)) error {
	n, err := count(args)
	if err != nil {
		return err
	}
	for i := range n {
		st, err := step(ctx)
		if err != nil || st.Reason != debug.Stepped || i == n-1 {
			return r.stop(st, err)
		}
	}
	return nil
}

// times continues n times; it reports only the last stop, or the first that is not at a breakpoint.
func (r *REPL) times(ctx context.Context, n int, run func(context.Context) (*debug.Stop, error)) error {
	for i := range n {
		st, err := run(ctx)
		if err != nil || st.Reason != debug.AtBreakpoint || i == n-1 {
			return r.stop(st, err)
		}
	}
	return nil
}

// stop reports the reason for a stop and its location.
func (r *REPL) stop(st *debug.Stop, err error) error { return r.tell(st, err, false) }

// stopInsn is stop after an instruction step: it shows the next instruction.
func (r *REPL) stopInsn(st *debug.Stop, err error) error { return r.tell(st, err, true) }

func (r *REPL) tell(st *debug.Stop, err error, insn bool) error {
	if err != nil {
		return err
	}
	r.list = listing{}
	if r.s.Several() {
		r.printf("[CPU %d] ", st.CPU)
	}
	if st.Err != nil {
		r.printf("%v\n", st.Err)
	}
	switch st.Reason {
	case debug.Exited:
		r.exited(st)
		return nil
	case debug.Faulted:
		r.printf("%s\n", visible.Lines(r.paint(red, "The program was stopped: "+debug.FaultText(st.Result.Fault))))
	case debug.AtBreakpoint:
		for _, b := range st.Breakpoints {
			if len(b.Commands) > 0 && b.Commands[0] == silent {
				r.queue = append(r.queue, b.Commands[1:]...)
				return nil
			}
		}
		for _, b := range st.Breakpoints {
			word := "Breakpoint"
			if b.Temporary {
				word = "Temporary breakpoint"
			}
			r.printf("%s, ", r.paint(yellow, fmt.Sprintf("%s %d", word, b.ID)))
		}
	case debug.AtWatchpoint:
		for _, w := range st.Watches {
			r.watchHit(w)
		}
	case debug.Started:
		r.printf("Start of %s, ", r.s.Program())
	case debug.AtStart:
		r.printf("Reached the start of the run, ")
	case debug.Interrupted:
		r.printf("Interrupted, ")
	case debug.Waiting:
		r.printf("Waiting, ")
	case debug.Returned:
		if st.Value != nil {
			n := r.s.Remember(st.Value)
			r.printf("Value returned: $%d = %s\n", n, visible.Lines(r.s.Format(st.Value, debug.FormatOptions{})))
		}
	}
	r.here(insn)
	r.displays()
	for _, n := range st.Notes {
		r.printf("%s\n", n)
	}
	for _, b := range st.Breakpoints {
		r.queue = append(r.queue, b.Commands...)
	}
	return nil
}

func (r *REPL) watchHit(w debug.WatchHit) {
	r.printf("%s: %s\n", r.paint(yellow, fmt.Sprintf("Watchpoint %d", w.Watch.ID)), w.Watch.Expr)
	if w.Write {
		r.printf("  old: %s\n  new: %s\n", w.Old, w.New)
	} else {
		r.printf("  read: %s\n", w.New)
	}
	if text := w.Place.Insn(); text != "" {
		r.printf("  by insn %d: %s\n", w.Place.PC, text)
	}
}

// exited reports the result of a run.
func (r *REPL) exited(st *debug.Stop) {
	res := st.Result
	text := fmt.Sprintf("%s returned %d after %d instructions", res.Program, int32(uint32(res.Ret)), res.Insns)
	if v := r.s.Verdict(); v != "" {
		text = fmt.Sprintf("%s returned %s (%d) after %d instructions", res.Program, v, int32(uint32(res.Ret)), res.Insns)
	}
	r.printf("%s\n", r.paint(green, text+"."))
	for _, e := range r.s.Events() {
		r.printf("  event %s\n", e)
	}
	for _, c := range r.s.Changes() {
		r.printf("  map %s\n", c)
	}
	for _, t := range res.Trace {
		r.printf("  trace %s\n", strings.TrimRight(t, "\n"))
	}
	for _, w := range res.Warnings {
		r.printf("  warning: %s\n", w)
	}
	for _, f := range res.Findings {
		r.printf("  %s %s\n", r.paint(yellow, "finding:"), f)
	}
}

// here shows the selected frame: function, line, source text.
func (r *REPL) here(insn bool) {
	frames, err := r.s.Frames()
	if err != nil {
		r.printf("%s\n", r.s.Here())
		return
	}
	f := frames[r.s.SelectedFrame()]
	r.printf("%s\n", f)
	if f.Line > 0 {
		if lines, err := r.s.List(f.File, f.Line, f.Line); err == nil && len(lines) == 1 {
			r.printf("%d\t%s\n", f.Line, lines[0].Text)
		}
	} else {
		insn = true
	}
	if p := f.Place; insn && p.Prog != nil {
		r.codeLines(r.s.Disassemble(p.Prog, p.PC, p.PC+1), false)
	}
}
