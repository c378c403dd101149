package repl

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug"
)

// printing holds the options of set print.
type printing struct {
	pretty   bool
	elements int // 0 for the default
}

// widest is the length, in bytes, up to which an aggregate without nested ones stays on one line.
const widest = 60

// pretty formats a value over several lines if necessary, with one struct member per line.
func pretty(text string) string {
	var b strings.Builder
	layOut(&b, text, 0)
	return b.String()
}

// layOut formats a value that begins at an indentation level.
func layOut(b *strings.Builder, text string, level int) {
	head, inner, tail, ok := aggregate(text)
	if !ok || len(text) <= widest && !strings.ContainsAny(inner, "{") {
		b.WriteString(text)
		return
	}
	parts := splitArgs(inner)
	if open := head[len(head)-1]; open == '[' && !strings.ContainsAny(inner, "{") { // keep numbers together
		b.WriteString(text)
		return
	}
	b.WriteString(head)
	for i, p := range parts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + strings.Repeat("  ", level+1))
		layOut(b, p, level+1)
	}
	b.WriteString("\n" + strings.Repeat("  ", level) + tail)
}

// aggregate splits a value at the brackets of its first aggregate, if that extends to the end: "x =
// {" "a = 1" "}".
func aggregate(text string) (head, inner, tail string, ok bool) {
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '<' || c == '(': // a note or a type
			return "", "", "", false
		case c == '{' || c == '[' && (i == 0 || strings.HasSuffix(text[:i], "= ")):
			end := text[len(text)-1]
			if c == '{' && end == '}' || c == '[' && end == ']' {
				return text[:i+1], text[i+1 : len(text)-1], text[len(text)-1:], true
			}
			return "", "", "", false
		}
	}
	return "", "", "", false
}

// shownValue formats a value with the options of set print.
func (r *REPL) shownValue(v *debug.Value, opt debug.FormatOptions) string {
	if opt.Elements == 0 {
		opt.Elements = r.print.elements
	}
	text := r.s.Format(v, opt)
	if r.print.pretty {
		return pretty(text)
	}
	return text
}

// setPrint runs set print OPTION VALUE.
func (r *REPL) setPrint(args string) error {
	word, value := splitCommand(args)
	switch word {
	case "pretty":
		return parseOnOff(value, &r.print.pretty)
	case "elements":
		if value == "unlimited" || value == "0" {
			r.print.elements = 1 << 20
			return nil
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 1<<20 {
			return fmt.Errorf("set print elements %s: want a number of elements, or unlimited", value)
		}
		r.print.elements = n
		return nil
	}
	return fmt.Errorf("set print %s: want pretty on|off, or elements N|unlimited", args)
}

func (r *REPL) showPrint() string {
	elements := "the default"
	if n := r.print.elements; n >= 1<<20 {
		elements = "unlimited"
	} else if n > 0 {
		elements = strconv.Itoa(n)
	}
	return fmt.Sprintf("pretty %s, elements %s", onOff(r.print.pretty), elements)
}

var jumpCommand = &command{
	name: "jump", aliases: []string{"j"}, args: "LOCATION", topic: "changing", short: "continue at another instruction of the function, without executing those in between",
	long: "Registers and the stack keep their values. Like any change, the jump becomes part of the run. The program stops at the location;\nuse continue to go on.",
	run: func(r *REPL, _ context.Context, args string) error {
		if args == "" {
			return fmt.Errorf("jump: no location given")
		}
		st, err := r.s.Jump(args)
		return r.stop(st, err)
	},
	complete: locations,
}

var lastCommand = &command{
	name: "last", args: "VARIABLE", topic: "looking", short: "show the last known value of a variable that is optimized out here",
	long: "Searches back through this call of the function and shows the value with the last instruction at which it was known.",
	run: func(r *REPL, ctx context.Context, args string) error {
		if args == "" {
			return fmt.Errorf("last: no variable given")
		}
		l, err := r.s.LastKnown(ctx, args)
		if err != nil {
			return err
		}
		r.printf("%s = %s\n  %d instructions ago, at %s: %s\n", args, l.Text, l.Ago, l.Place, l.Place.Insn())
		return nil
	},
	complete: names,
}
