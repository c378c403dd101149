package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// output compares the output of an iterator, as a whole or with a regular expression.
func (j *judge) output(e *Expect) error {
	n := e.Output
	switch {
	case n == nil || n.Tag == "!any":
		return nil
	case n.Tag == "!match":
		ms, err := matches(n, j.res.Output, "output")
		if err == nil && !j.Checking {
			j.mismatches(n, "output", ms)
		}
		return err
	case n.Tag != "":
		return n.Errorf("output: %s does not fit here", n.Tag)
	}
	if !j.Checking {
		want, got := n.Text, j.res.Output
		if at, ok := firstDifference(want, got); ok {
			j.Expect(n.Pos, fmt.Sprintf("output, line %d", at), false, fmt.Sprintf("%q", line(want, at)), fmt.Sprintf("%q", line(got, at)))
			return nil
		}
		j.Expect(n.Pos, "output", true, "", "")
	}
	return nil
}

// firstDifference returns the number, from 1, of the first line in which two strings differ.
func firstDifference(a, b string) (int, bool) {
	if a == b {
		return 0, false
	}
	n := 1
	for i := 0; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
		if a[i] == '\n' {
			n++
		}
	}
	return n, true
}

// line returns the nth line of a string, from 1.
func line(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	if n > len(lines) {
		return ""
	}
	return lines[n-1]
}

// effects compares a run's side effects in order: kinds, or kinds with their numbers.
func (j *judge) effects(e *Expect) error {
	if e.Effects == nil || j.Checking {
		return nil
	}
	if len(e.Effects.Items) != len(j.res.Effects) {
		var list []string
		for i := range j.res.Effects {
			list = append(list, effectText(&j.res.Effects[i]))
		}
		j.Expect(e.Effects.Pos, "effects", false, itoa(len(e.Effects.Items)), fmt.Sprintf("%d: %s", len(list), strings.Join(list, ", ")))
		return nil
	}
	for i, n := range e.Effects.Items {
		x := &j.res.Effects[i]
		kind, number, numbered := strings.Cut(n.Text, " ")
		ok := kind == x.Kind.String()
		if numbered && ok {
			want, err := strconv.ParseUint(number, 0, 64)
			ok = err == nil && want == x.Number
		}
		j.Expect(n.Pos, fmt.Sprintf("effects[%d]", i), ok, n.Text, effectText(x))
	}
	return nil
}

// checkEffect returns an error for an effect that no program can have.
func checkEffect(n *grammar.Node) error {
	if n.Kind != grammar.Scalar {
		return n.Errorf("effects: want a kind, or a kind and its number, got %s", n.Describe())
	}
	kind, number, numbered := strings.Cut(n.Text, " ")
	if kinds := helpers.EventKinds(); !slices.Contains(kinds, kind) {
		return n.Unknown("kind of effect", kind, kinds)
	}
	if _, err := strconv.ParseUint(number, 0, 64); numbered && err != nil {
		return n.Errorf("effects: want the number of %s after its kind, got %s", kind, grammar.Brief(number))
	}
	return nil
}

func effectText(e *helpers.Event) string { return fmt.Sprintf("%s %d", e.Kind, e.Number) }
