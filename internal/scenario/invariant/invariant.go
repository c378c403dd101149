package invariant

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// Spec is an invariant as its author writes it.
type Spec struct {
	Name string
	// Prog is the program after whose runs it holds; empty for every program.
	Prog string
	// When says for which runs it holds; empty for all.
	When string
	// Holds is what is not 0 after such a run.
	Holds string
}

// Run is one run of a program, at its first instruction or after its last. Between the calls of
// Begin and End the run's session is not finished.
type Run struct {
	Program *loader.LinkedProgram
	Context *hook.Context
	// Ret is the return value, after the run.
	Ret uint64
	// Events is the number of runs since the state that all runs begin from, including this one.
	Events uint64
}

// Failure is an invariant that does not hold.
type Failure struct {
	// Index is that of the invariant, in the order of [Checker.Add].
	Index int
	Spec  Spec
	// Text says why: the values of what the expression names, or why it has no value.
	Text string
}

// Error is a mistake in an invariant.
type Error struct {
	// Part is "when" or "holds", the text with the mistake.
	Part string
	// Offset is the position of the mistake in that text, in bytes.
	Offset int
	Err    error
}

func (e *Error) Error() string { return e.Part + ": " + e.Err.Error() }

// Unwrap returns the mistake itself.
func (e *Error) Unwrap() error { return e.Err }

// Checker evaluates the invariants of one machine. It is not safe for concurrent use.
type Checker struct {
	ev   *expr.Evaluator
	m    *machine.Machine
	list []*compiled
	run  Run
	over bool // the run is at its end
	memo map[expr.Node]*before
	// checking means that nothing ran: only names matter.
	checking bool
}

type compiled struct {
	Spec
	when, holds expr.Node // when is nil for always
	early       []early
}

// early is a call whose argument is evaluated before the run.
type early struct {
	call, arg expr.Node
	whole     bool // of unchanged: maps are compared by element
}

// New returns a checker without invariants for a machine.
func New(m *machine.Machine) (*Checker, error) {
	c := &Checker{m: m, ev: expr.NewEvaluator(), memo: map[expr.Node]*before{}}
	if err := c.ev.Use(m, nil); err != nil {
		return nil, err
	}
	c.ev.InPlace = true
	c.ev.Now, c.ev.Scope, c.ev.Code = activity{c}, scope{c}, codeNames{}
	c.ev.AfterFault = func() bool { return false } // such runs are not judged
	c.ev.Added = c.functions()
	return c, nil
}

// Len returns the number of invariants.
func (c *Checker) Len() int { return len(c.list) }

// Add compiles an invariant. The error is an *[Error]; names are checked by [Checker.Check].
func (c *Checker) Add(s Spec) error {
	p := &compiled{Spec: s}
	for _, part := range p.parts() {
		if part.text == "" && part.name == "when" {
			continue
		}
		n, err := c.ev.Parse(part.text)
		if err != nil {
			return wrong(part.name, part.text, err)
		}
		if c.ev.IsAssignment(part.text) {
			return wrong(part.name, part.text, errors.New("an assignment; compare with =="))
		}
		if err := p.take(n); err != nil {
			return wrong(part.name, part.text, err)
		}
		*part.to = n
	}
	c.list = append(c.list, p)
	return nil
}

type part struct {
	name, text string
	to         *expr.Node
}

func (p *compiled) parts() []part {
	return []part{{"when", p.When, &p.when}, {"holds", p.Holds, &p.holds}}
}

// take notes what an expression needs from before the run.
func (p *compiled) take(n expr.Node) error {
	var bad error
	expr.EachCall(n, func(call expr.Node, name string, args []expr.Node) {
		if name != "old" && name != "unchanged" {
			return
		}
		p.early = append(p.early, early{call, args[0], name == "unchanged"})
		expr.EachCall(args[0], func(_ expr.Node, inner string, _ []expr.Node) {
			if inner == "old" || inner == "unchanged" {
				bad = fmt.Errorf("%s inside %s: what was before the run is one state", inner, name)
			}
		})
		expr.EachRegister(args[0], func(reg string) {
			if reg == "$retval" {
				bad = fmt.Errorf("%s: $retval has no value before the run", expr.Text(call))
			}
		})
	})
	return bad
}

// wrong gives a mistake its position.
func wrong(part, text string, err error) *Error {
	e := &Error{Part: part, Err: err}
	var syntax *expr.SyntaxError
	var unknown *expr.UnknownError
	switch {
	case errors.As(err, &syntax):
		e.Offset = syntax.Pos
	case errors.As(err, &unknown):
		e.Offset = max(0, wordAt(text, unknown.Name))
	}
	return e
}

// wordAt returns where a name stands alone in a text, -1 if nowhere.
func wordAt(text, name string) int {
	isWord := func(b byte) bool {
		return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
	}
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			break
		}
		i += from
		end := i + len(name)
		if (i == 0 || !isWord(text[i-1])) && (end == len(text) || !isWord(text[end])) {
			return i
		}
		from = end
	}
	return -1
}

// Applies reports whether any invariant is about runs of a program.
func (c *Checker) Applies(prog string) bool {
	return slices.ContainsFunc(c.list, func(p *compiled) bool { return p.about(prog) })
}

func (p *compiled) about(prog string) bool { return p.Prog == "" || p.Prog == prog }

// Check checks the names in invariant i for runs of a program, whose context exists. The error is
// an *[Error].
func (c *Checker) Check(i int, r Run) error {
	p := c.list[i]
	if !p.about(r.Program.Name) {
		return nil
	}
	c.run, c.checking = r, true
	defer func() { c.run, c.checking = Run{}, false }()
	for _, part := range p.parts() {
		if *part.to == nil {
			continue
		}
		if err := c.ev.CheckNames(*part.to); err != nil {
			return wrong(part.name, part.text, err)
		}
	}
	return nil
}

// Begin takes what invariants need from before a run, which is at its first instruction.
func (c *Checker) Begin(r Run) {
	c.run, c.over = r, false
	clear(c.memo)
	for _, p := range c.list {
		if !p.about(r.Program.Name) {
			continue
		}
		for _, e := range p.early {
			c.memo[e.call] = c.take(e)
		}
	}
}

// End evaluates the invariants after the run that began with [Checker.Begin].
func (c *Checker) End(r Run) []Failure {
	c.run, c.over = r, true
	var out []Failure
	for i, p := range c.list {
		if !p.about(r.Program.Name) {
			continue
		}
		if text := c.judge(p); text != "" {
			out = append(out, Failure{i, p.Spec, text})
		}
	}
	return out
}

// judge returns why an invariant does not hold, "" if it does or is not about this run.
func (c *Checker) judge(p *compiled) string {
	if p.when != nil {
		ok, err := c.truth(p.when)
		if err != nil && !missing(err) {
			return "when has no value: " + err.Error()
		}
		if !ok { // nor for what does not exist in this run
			return ""
		}
	}
	ok, err := c.truth(p.holds)
	switch {
	case err != nil && missing(err):
		return "it has no value: " + err.Error() + "; has(...) in when limits it to runs that have one"
	case err != nil:
		return "it has no value: " + err.Error()
	case ok:
		return ""
	}
	return c.values(p.holds)
}

func (c *Checker) truth(n expr.Node) (bool, error) {
	v, err := c.ev.EvalNode(n)
	if err != nil {
		return false, err
	}
	return c.ev.IsTrue(v)
}

// missing reports whether an error is about something that some runs have: an element, a record, a
// header.
func missing(err error) bool {
	var unknown *expr.UnknownError
	return expr.IsAbsent(err) || errors.As(err, &unknown) && (unknown.What == "header" || unknown.What == "field")
}

// values lists the values of what an expression names: "pkt.ip.ttl is 64, old(pkt.ip.ttl) is 64".
func (c *Checker) values(n expr.Node) string {
	var list []string
	expr.EachOperand(n, func(n expr.Node) {
		text := expr.Text(n)
		v, err := c.ev.EvalNode(n)
		if err != nil || slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, text+" is ") }) {
			return
		}
		if b := c.memo[n]; b != nil && b.whole {
			if diff := c.difference(b, n); diff != "" {
				list = append(list, diff)
			}
			return
		}
		if shown := c.ev.Format(v, expr.FormatOptions{}); shown != text {
			list = append(list, text+" is "+shown)
		}
	})
	if len(list) == 0 {
		return "it is false"
	}
	return strings.Join(list, ", ")
}
