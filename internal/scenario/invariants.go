package scenario

import (
	"errors"
	"fmt"

	khook "github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/scenario/invariant"
	"github.com/bpfrun/bpfrun/loader"
)

// Invariant is an entry of invariants.
type Invariant struct {
	invariant.Spec
	grammar.Pos
	// progNode, when and holds are the values in the file; holds is not nil.
	progNode, when, holds *grammar.Node
}

func (f *File) decodeInvariants(n *grammar.Node) error {
	if n == nil {
		return nil
	}
	if n.Kind != grammar.Sequence {
		return n.Errorf("invariants: want a list, got %s", n.Describe())
	}
	var wrong grammar.Mistakes
	for _, item := range n.Items {
		if !wrong.Add(item.Fields(invariantForm)) {
			continue
		}
		v := &Invariant{Pos: item.Pos, progNode: item.Get("prog"), when: item.Get("when"), holds: item.Get("holds")}
		ok := true
		for _, m := range []struct {
			name string
			node *grammar.Node
			to   *string
		}{{"name", item.Get("name"), &v.Name}, {"prog", v.progNode, &v.Prog}, {"when", v.when, &v.When}, {"holds", v.holds, &v.Holds}} {
			if m.node != nil {
				var err error
				*m.to, err = m.node.NonEmpty(m.name)
				ok = wrong.Add(err) && ok
			}
		}
		if v.Name == "" {
			v.Name = v.Holds
		}
		if ok {
			f.Invariants = append(f.Invariants, v)
		}
	}
	return wrong.Err()
}

// wrap gives a mistake in an expression its position in the file.
func (v *Invariant) wrap(err error) error {
	var e *invariant.Error
	if !errors.As(err, &e) {
		return v.holds.Wrap("invariants", err)
	}
	n := v.holds
	if e.Part == "when" {
		n = v.when
	}
	pos := n.Pos
	if pos.Col += e.Offset; n.Quoted {
		pos.Col++
	}
	return &grammar.Error{Pos: pos, Text: e.Error(), Err: err}
}

// invariants are those of a file on the runner's machine. They observe its runs.
type invariants struct {
	checker *invariant.Checker // nil without invariants
	list    []*Invariant
	events  uint64 // runs since the state before the first one
	// of the current run of the file:
	applied bool
	first   map[int]string // the first failure of each invariant that failed
	failed  map[int]int    // how often
}

// setInvariants compiles the invariants of the file.
func (r *Runner) setInvariants() error {
	if len(r.file.Invariants) == 0 {
		return nil
	}
	c, err := invariant.New(r.m)
	if err != nil {
		return err
	}
	var wrong grammar.Mistakes
	for _, v := range r.file.Invariants {
		if _, ok := r.m.Linked().Program(v.Prog); v.Prog != "" && !ok {
			if _, other := r.m.Linked().Object.Program(v.Prog); !other {
				wrong.Add(v.progNode.Unknown("program", v.Prog, programNames(r.m.Linked().Object)))
				continue
			}
		}
		if err := c.Add(v.Spec); err != nil {
			wrong.Add(v.wrap(err))
			continue
		}
		r.inv.list = append(r.inv.list, v)
	}
	r.inv.checker = c
	r.m.Observe(&r.inv)
	return wrong.Err()
}

// checkInvariants checks their names for runs of a program with a context.
func (r *Runner) checkInvariants(prog string, c *khook.Context) error {
	lp, ok := r.m.Linked().Program(prog)
	if r.inv.checker == nil || !ok {
		return nil
	}
	var wrong grammar.Mistakes
	for i, v := range r.inv.list {
		if err := r.inv.checker.Check(i, invariant.Run{Program: lp, Context: c}); err != nil {
			wrong.Add(v.wrap(err))
		}
	}
	return wrong.Err()
}

// reset forgets what runs did, before a unit of runs.
func (iv *invariants) reset() { iv.events = 0 }

// begin prepares for a run of the file.
func (iv *invariants) begin() {
	iv.applied, iv.first, iv.failed = false, map[int]string{}, map[int]int{}
}

// Begun implements [machine.Observer].
func (iv *invariants) Begun(p *loader.LinkedProgram, c *khook.Context) {
	iv.events++
	iv.checker.Begin(invariant.Run{Program: p, Context: c, Events: iv.events})
}

// Ended implements [machine.Observer].
func (iv *invariants) Ended(p *loader.LinkedProgram, c *khook.Context, ret uint64) {
	iv.applied = iv.applied || iv.checker.Applies(p.Name)
	for _, f := range iv.checker.End(invariant.Run{Program: p, Context: c, Ret: ret, Events: iv.events}) {
		if iv.failed[f.Index]++; iv.failed[f.Index] == 1 {
			iv.first[f.Index] = f.Text
		}
	}
}

var _ machine.Observer = (*invariants)(nil)

// invariants adds an expectation for each invariant that is about the run.
func (j *judge) invariants() {
	iv := &j.r.inv
	if iv.checker == nil || !iv.applied {
		return
	}
	for i, v := range iv.list {
		n := iv.failed[i]
		got := iv.first[i]
		if n > 1 {
			got += fmt.Sprintf(" (the first of %d runs in which it does not hold)", n)
		}
		j.Expect(v.holds.Pos, "invariant "+v.Name, n == 0, v.Holds, got)
	}
}
