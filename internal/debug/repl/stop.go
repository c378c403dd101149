package repl

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug"
)

const locationHelp = `A location is LINE, FILE:LINE, FUNCTION, FUNCTION+N, *N (instruction N), the name of a helper (its calls),
core (all instructions that CO-RE changed) or core:TEXT (those of fields that contain TEXT). With cpu N it stops on that CPU alone.`

var stopCommands = []*command{
	{
		name: "break", aliases: []string{"b"}, args: "[LOCATION] [cpu N] [if EXPR]", topic: "stopping", short: "stop before a location is executed", long: locationHelp,
		run:      func(r *REPL, _ context.Context, args string) error { return r.breakAt(args, false) },
		complete: locations,
	},
	{
		name: "tbreak", aliases: []string{"tb"}, args: "[LOCATION] [cpu N] [if EXPR]", topic: "stopping", short: "break that stops once",
		run:      func(r *REPL, _ context.Context, args string) error { return r.breakAt(args, true) },
		complete: locations,
	},
	{
		name: "watch", args: "EXPR", topic: "stopping", short: "stop when a value changes",
		long:     "Watching memory does not slow the program down; registers and what other expressions read are compared after every instruction.",
		run:      func(r *REPL, _ context.Context, args string) error { return r.watch(args, false, true) },
		complete: names,
	},
	{
		name: "rwatch", args: "EXPR", topic: "stopping", short: "stop when memory is read",
		run:      func(r *REPL, _ context.Context, args string) error { return r.watch(args, true, false) },
		complete: names,
	},
	{
		name: "awatch", args: "EXPR", topic: "stopping", short: "stop when memory is read or changes",
		run:      func(r *REPL, _ context.Context, args string) error { return r.watch(args, true, true) },
		complete: names,
	},
	{
		name: "condition", aliases: []string{"cond"}, args: "N [EXPR]", topic: "stopping", short: "set or remove the condition of a breakpoint",
		run: func(r *REPL, _ context.Context, args string) error {
			word, rest := splitCommand(args)
			id, err := number("breakpoint", word)
			if err != nil {
				return err
			}
			rest = strings.TrimSpace(strings.TrimPrefix(rest, "if "))
			if err := r.s.SetCondition(id, rest); err != nil {
				return err
			}
			if rest == "" {
				r.printf("Breakpoint %d is now unconditional.\n", id)
			}
			return nil
		},
	},
	{
		name: "ignore", args: "N COUNT", topic: "stopping", short: "ignore the next COUNT hits of a breakpoint",
		run: func(r *REPL, _ context.Context, args string) error {
			word, rest := splitCommand(args)
			id, err := number("breakpoint", word)
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(rest)
			if err != nil || n < 0 {
				return fmt.Errorf("ignore: want a breakpoint and a count")
			}
			b, err := r.s.Breakpoint(id)
			if err != nil {
				return err
			}
			b.Ignore = n
			r.printf("The next %s of breakpoint %d will be ignored.\n", plural(n, "hit"), id)
			return nil
		},
	},
	{
		name: "commands", args: "[N] [COMMAND; ...]", topic: "stopping", short: "run commands when a breakpoint stops the program",
		long: "Without commands on the line, the following lines up to \"end\" are used. Without N, the last breakpoint is meant. If the first\n" +
			"command is silent, the stop is not printed; continue resumes the program.",
		run: commandsOf,
	},
	{
		name: "enable", args: "[N...]", topic: "stopping", short: "enable breakpoints and watchpoints, or all",
		run: func(r *REPL, _ context.Context, args string) error { return r.able(args, true) },
	},
	{
		name: "disable", aliases: []string{"dis"}, args: "[N...]", topic: "stopping", short: "disable breakpoints and watchpoints, or all",
		run: func(r *REPL, _ context.Context, args string) error { return r.able(args, false) },
	},
	{
		name: "delete", aliases: []string{"d"}, args: "[N...]", topic: "stopping", short: "delete breakpoints and watchpoints, or all",
		run: func(r *REPL, ctx context.Context, args string) error {
			if word, rest := splitCommand(args); word != "" && strings.HasPrefix("display", word) {
				return undisplay(r, ctx, rest)
			}
			ids, err := r.points(args)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := r.s.Delete(id); err != nil {
					return err
				}
			}
			return nil
		},
	},
}

// points parses the numbers of breakpoints and watchpoints; empty for all.
func (r *REPL) points(args string) ([]int, error) {
	words := strings.FieldsFunc(args, func(c rune) bool { return c == ' ' || c == ',' || c == '\t' })
	if len(words) > 0 && (strings.HasPrefix("breakpoints", words[0]) || strings.HasPrefix("watchpoints", words[0])) {
		words = words[1:]
	}
	var out []int
	for _, w := range words {
		lo, hi, isRange := strings.Cut(w, "-")
		id, err := number("breakpoint", lo)
		if err != nil {
			return nil, err
		}
		last := id
		if isRange {
			if last, err = number("breakpoint", hi); err != nil {
				return nil, err
			}
		}
		const most = 1000
		for ; id <= last && len(out) < most; id++ {
			out = append(out, id)
		}
	}
	if len(words) > 0 {
		return out, nil
	}
	for _, b := range r.s.Breakpoints() {
		out = append(out, b.ID)
	}
	for _, w := range r.s.Watches() {
		out = append(out, w.ID)
	}
	return out, nil
}

// commandsOf sets the commands of a breakpoint.
func commandsOf(r *REPL, _ context.Context, args string) error {
	word, rest := splitCommand(args)
	list := r.s.Breakpoints()
	if len(list) == 0 {
		return errors.New("commands: no breakpoint is set")
	}
	b := list[len(list)-1]
	if id, err := strconv.Atoi(word); err == nil {
		if b, err = r.s.Breakpoint(id); err != nil {
			return err
		}
	} else {
		rest = args
	}
	if rest != "" {
		var lines []string
		for line := range strings.SplitSeq(rest, ";") {
			if line = strings.TrimSpace(line); line != "" && line != "end" {
				lines = append(lines, line)
			}
		}
		return r.setCommands(b, lines)
	}
	var lines []string
	r.collecting = func(line string) error {
		if line != "end" {
			if line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
			return nil
		}
		r.collecting = nil
		return r.setCommands(b, lines)
	}
	return nil
}

func (r *REPL) setCommands(b *debug.Breakpoint, lines []string) error {
	for _, line := range lines {
		if line == silent {
			continue
		}
		if _, err := r.find(line); err != nil {
			return err
		}
	}
	b.Commands = lines
	return nil
}

// silent as a breakpoint's first command suppresses the report of its stop.
const silent = "silent"

func number(what, word string) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of a %s", word, what)
	}
	return n, nil
}

func (r *REPL) breakAt(args string, temporary bool) error {
	loc, cond, conditional := strings.Cut(" "+args+" ", " if ")
	loc, cond = strings.TrimSpace(loc), strings.TrimSpace(cond)
	loc, cpu, err := cutCPU(loc)
	if err != nil {
		return fmt.Errorf("break: %w", err)
	}
	if n := len(r.s.CPUs()); cpu >= n {
		return fmt.Errorf("break: there is no CPU %d, the machine has %d (--cpus)", cpu, n)
	}
	if loc == "" {
		here := r.s.Here()
		if here.Prog == nil {
			return fmt.Errorf("break: no location given")
		}
		loc = fmt.Sprintf("*%d", here.PC)
	}
	b, err := r.s.Break(loc, temporary)
	if err != nil {
		return err
	}
	if conditional && cond == "" {
		_ = r.s.Delete(b.ID) // just created
		return errors.New("break: no condition after if")
	}
	if cond != "" {
		if err := r.s.SetCondition(b.ID, cond); err != nil {
			_ = r.s.Delete(b.ID) // just created
			return err
		}
	}
	if cpu >= 0 {
		b.CPU = cpu
	}
	word := "Breakpoint"
	if temporary {
		word = "Temporary breakpoint"
	}
	if b.Note != "" {
		r.printf("%s\n", b.Note)
	}
	if len(b.Places) == 1 {
		r.printf("%s %d: %s\n", word, b.ID, b.Places[0])
		return nil
	}
	r.printf("%s %d: %d locations\n", word, b.ID, len(b.Places))
	const most = 10
	for i, p := range b.Places {
		if i == most {
			r.printf("  ... %d more\n", len(b.Places)-most)
			break
		}
		r.printf("  %s: %s\n", p.Prog.Name, p)
	}
	return nil
}

func (r *REPL) watch(args string, read, write bool) error {
	for _, flag := range []string{"-location ", "-l "} {
		args = strings.TrimSpace(strings.TrimPrefix(args, flag))
	}
	if args == "" {
		return fmt.Errorf("watch: no expression given")
	}
	w, err := r.s.AddWatch(args, read, write)
	if err != nil {
		return err
	}
	note := ""
	if w.Soft() {
		note = " (evaluated after every instruction)"
	}
	r.printf("Watchpoint %d: %s%s\n", w.ID, w.Expr, note)
	return nil
}

func (r *REPL) able(args string, on bool) error {
	ids, err := r.points(args)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := r.s.Enable(id, on); err != nil {
			return err
		}
	}
	return nil
}

// describe formats a breakpoint for a list.
func describe(b *debug.Breakpoint) string {
	var notes []string
	if b.Temporary {
		notes = append(notes, "temporary")
	}
	if !b.Enabled {
		notes = append(notes, "off")
	}
	if b.CPU != debug.AllCPUs {
		notes = append(notes, fmt.Sprintf("cpu %d", b.CPU))
	}
	if b.Cond != "" {
		notes = append(notes, "if "+b.Cond)
	}
	if b.Ignore > 0 {
		notes = append(notes, fmt.Sprintf("ignore next %d", b.Ignore))
	}
	if b.Hits > 0 {
		notes = append(notes, fmt.Sprintf("hits %d", b.Hits))
	}
	text := fmt.Sprintf("%-3d break  %s", b.ID, b.Spec)
	if len(b.Places) == 1 {
		text += ": " + b.Places[0].String()
	} else {
		text += fmt.Sprintf(": %d locations", len(b.Places))
	}
	if len(notes) > 0 {
		text += " [" + strings.Join(notes, ", ") + "]"
	}
	return text
}

func describeWatch(w *debug.Watch) string {
	kind := map[[2]bool]string{{false, true}: "watch", {true, false}: "rwatch", {true, true}: "awatch"}[[2]bool{w.Read, w.Write}]
	text := fmt.Sprintf("%-3d %-6s %s", w.ID, kind, w.Expr)
	if w.Hits > 0 {
		text += fmt.Sprintf(" [hits %d]", w.Hits)
	}
	if !w.Enabled {
		text += " [off]"
	}
	return text
}
