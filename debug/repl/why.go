package repl

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bpfrun/bpfrun/debug"
)

var whyCommand = &command{
	name: "why", args: "EXPR", topic: "looking", short: "where a value came from",
	long: "The way goes back through instructions, stack slots and calls of helpers to kernel fields, packet bytes, map elements,\narguments and constants. Of records sent to user space MAP[N].FIELD is asked for.",
	run: func(r *REPL, ctx context.Context, args string) error {
		if args == "" {
			return errors.New("why: no expression given")
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

// origins writes the steps a value came by: a chain stays at one depth, branches go deeper.
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

// origin writes one step, with its source line where that is another one.
func (r *REPL) origin(o *debug.Origin, depth int, mark, last string) (line string) {
	indent := strings.Repeat("  ", depth)
	if o.Place.Prog == nil {
		r.printf("%s%s%s\n", indent, mark, r.paint(yellow, o.Text))
		return last
	}
	text := fmt.Sprintf("insn %d: %s", o.Place.PC, o.Text)
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
