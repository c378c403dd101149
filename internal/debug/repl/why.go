package repl

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug"
)

var whyCommand = &command{
	name: "why", args: "EXPR|not [LOCATION]", topic: "looking", short: "show where a value came from, or why the run did not reach a location",
	long: "why EXPR goes back through instructions, stack slots and helper calls to kernel fields, packet bytes, map elements, arguments\nand constants. For records sent to user space write MAP[N].FIELD.\nwhy not LOCATION shows the branch after which the location could no longer be reached, what it compared, and what would change\nthat; without a location it explains the places where the program has visible effects.",
	run: func(r *REPL, ctx context.Context, args string) error {
		if args == "" {
			return errors.New("why: no expression given")
		}
		if place, ok := strings.CutPrefix(args+" ", "not "); ok {
			return r.whyNot(ctx, strings.TrimSpace(place))
		}
		o, err := r.s.Why(ctx, args)
		if err != nil {
			return err
		}
		r.printf("%s\n", o.Text)
		r.origins(o, 1, "")
		return nil
	},
	complete: names,
}

// origins prints the steps of an origin: a chain stays at one indentation, branches are indented.
func (r *REPL) origins(o *debug.Origin, depth int, last string) {
	for len(o.From) == 1 {
		o = o.From[0]
		last = r.origin(o, depth, "", last)
	}
	for _, f := range o.From {
		r.origin(f, depth, "- ", "")
		r.origins(f, depth+1, "")
	}
}

// origin prints one step, with its source line if it differs from the last one.
func (r *REPL) origin(o *debug.Origin, depth int, mark, last string) (line string) {
	indent := strings.Repeat("  ", depth)
	if o.Place.Prog == nil {
		r.printf("%s%s%s\n", indent, mark, r.paint(yellow, o.Text))
		return last
	}
	text := fmt.Sprintf("insn %d: %s", o.Place.PC, o.Text)
	if r.s.Several() {
		text = fmt.Sprintf("CPU %d, %s", o.CPU, text)
	}
	l, ok := r.s.LineAt(o.Place)
	if !ok {
		r.printf("%s%s%s\n", indent, mark, text)
		return last
	}
	line = fmt.Sprintf("%s:%d", filepath.Base(l.File), l.Line)
	if line != last {
		text = fmt.Sprintf("%-60s ; %s: %s", text, line, strings.TrimSpace(r.s.SourceLineText(l)))
	}
	r.printf("%s%s%s\n", indent, mark, text)
	return line
}

func (r *REPL) whyNot(ctx context.Context, location string) error {
	goal := debug.HasEffect
	if location != "" {
		places, _, err := r.s.Locate(location)
		if err != nil {
			return err
		}
		goal = func(p debug.Place) bool { return slices.Contains(places, p) }
	}
	d, err := r.s.WhyNot(ctx, goal)
	if err != nil {
		return fmt.Errorf("why not: %w", err)
	}
	for _, line := range d.Lines() {
		r.printf("%s\n", line)
	}
	return nil
}
