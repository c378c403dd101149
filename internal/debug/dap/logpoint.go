package dap

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/bpfrun/bpfrun/internal/debug"
)

// hitCondition parses N, >= N, > N, == N, < N, <= N and % N.
func hitCondition(text string) (func(hits int) bool, error) {
	op, word := ">=", strings.TrimSpace(text)
	for _, o := range []string{">=", "<=", "==", "=", ">", "<", "%"} {
		if rest, ok := strings.CutPrefix(word, o); ok {
			op, word = o, strings.TrimSpace(rest)
			break
		}
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("hit condition %q: want a number of hits, or one after ==, >, >=, <, <= or %%", text)
	}
	switch op {
	case ">=":
		return func(hits int) bool { return hits >= n }, nil
	case ">":
		return func(hits int) bool { return hits > n }, nil
	case "<=":
		return func(hits int) bool { return hits <= n }, nil
	case "<":
		return func(hits int) bool { return hits < n }, nil
	case "%":
		return func(hits int) bool { return hits%n == 0 }, nil
	}
	return func(hits int) bool { return hits == n }, nil
}

// piece is a part of a log message: text or an expression.
type piece struct {
	text string
	expr bool
}

// splitLog splits a log message into text and the expressions in braces; \{ is a literal brace.
func splitLog(msg string) ([]piece, error) {
	var out []piece
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, piece{text: text.String()})
			text.Reset()
		}
	}
	for i := 0; i < len(msg); i++ {
		switch {
		case msg[i] == '\\' && i+1 < len(msg) && (msg[i+1] == '{' || msg[i+1] == '}'):
			i++
			text.WriteByte(msg[i])
		case msg[i] == '{':
			depth, end := 0, -1
			for j := i; j < len(msg) && end < 0; j++ {
				switch msg[j] {
				case '{':
					depth++
				case '}':
					if depth--; depth == 0 {
						end = j
					}
				}
			}
			if end < 0 {
				return nil, errors.New(`log message: a { without its } (\{ is a brace)`)
			}
			flush()
			out = append(out, piece{strings.TrimSpace(msg[i+1 : end]), true})
			i = end
		default:
			text.WriteByte(msg[i])
		}
	}
	flush()
	return out, nil
}

// logged writes a log message.
func (c *conn) logged(b *debug.Breakpoint, pieces []piece) {
	var text strings.Builder
	for _, p := range pieces {
		if !p.expr {
			text.WriteString(p.text)
			continue
		}
		v, err := c.s.Eval(p.text)
		if err != nil {
			fmt.Fprintf(&text, "<%v>", err)
			continue
		}
		text.WriteString(c.s.ShortText(v, maxText))
	}
	out := &dap.OutputEvent{Event: event("output"), Body: dap.OutputEventBody{Category: "console", Output: text.String() + "\n"}}
	if l, ok := c.s.LineAt(b.Places[0]); ok {
		out.Body.Source, out.Body.Line = c.sourceOf(l.File), c.lineOut(l.Line)
	}
	c.send(out)
}
