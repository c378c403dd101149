package repl

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug"
)

var traceCommand = &command{
	name: "trace", args: "[WHAT...|off]", topic: "running", short: "print lines, instructions, helper calls, kernel accesses or events as they happen",
	long: "WHAT is one or more of lines, insns, helpers, kernel and events. Everything executed forwards from then on is traced, whatever\n" +
		"command runs it, until trace off. Without an argument, print what is traced.",
	run: func(r *REPL, _ context.Context, args string) error {
		switch args {
		case "":
		case "off":
			r.s.Tracing = 0
		default:
			var all debug.Tracing
			for _, word := range strings.FieldsFunc(args, func(c rune) bool { return c == ' ' || c == ',' }) {
				t, err := debug.ParseTracing(word)
				if err != nil {
					return err
				}
				all |= t
			}
			r.s.Tracing = all
		}
		if r.s.Tracing == 0 {
			r.printf("Nothing is being traced.\n")
		} else {
			r.printf("Tracing from here on: %s.\n", r.s.Tracing)
		}
		return nil
	},
	complete: func(*REPL, string) []string { return append(debug.TracingNames(), "off") },
}

// traced prints one traced event.
func (r *REPL) traced(t debug.Traced) {
	indent := strings.Repeat("  ", t.Depth)
	switch t.Kind {
	case debug.TraceLines:
		l, _ := r.s.LineAt(t.Place)
		r.printf("%s%s\t%s\n", indent, r.paint(bold, fmt.Sprintf("%s:%d", filepath.Base(l.File), l.Line)), t.Text)
	case debug.TraceInsns:
		r.printf("%s%4d: %s\n", indent, t.Place.PC, t.Text)
	default:
		r.printf("%s%4d: %s\n", indent, t.Place.PC, r.paint(yellow, t.Text))
	}
}
