package scenario

import (
	"context"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/loader"
)

var expectChainForm = &grammar.Form{Name: "expect.chain", Doc: "What the programs of a chain decided together.", Members: []grammar.Member{
	{Name: "verdict", Doc: "What the kernel does in the end, as bpfrun run --chain prints it: TCX_DROP, NETKIT_PASS, TC_ACT_OK, allow, deny (-EPERM), an error of an LSM hook.", Shape: grammar.Text},
	{Name: "ran", Doc: "The programs that ran, in order: those up to the one that decided.", Shape: grammar.ListOf(grammar.Text)},
}}

// decodeChain decodes chain: the programs that share a hook, in the order in which they run.
func (r *Run) decodeChain(n *grammar.Node) error {
	r.ChainNode, r.ProgNode = n, n
	if n.Kind != grammar.Sequence || len(n.Items) == 0 {
		return n.Errorf("chain: want a list of programs, got %s", n.Describe())
	}
	var wrong grammar.Mistakes
	for _, item := range n.Items {
		name, err := item.NonEmpty("chain")
		if wrong.Add(err) {
			r.Chain = append(r.Chain, name)
		}
	}
	if len(r.Chain) > 0 {
		r.Prog, r.Name = r.Chain[0], strings.Join(r.Chain, ", ")
	}
	return wrong.Err()
}

// inChain checks that the object has all programs of the chain.
func (r *Run) inChain(obj *loader.Object) error {
	var wrong grammar.Mistakes
	for i, name := range r.Chain {
		if _, ok := obj.Program(name); !ok {
			wrong.Add(r.ChainNode.Items[i].Unknown("program", name, programNames(obj)))
		}
	}
	return wrong.Err()
}

// checkChain checks that the programs of a chain share a hook.
func (r *Runner) checkChain(run *Run) error {
	if run.Chain == nil {
		return nil
	}
	if err := r.m.CheckChain(run.Chain); err != nil {
		return run.ChainNode.Wrap("chain", err)
	}
	return nil
}

// runChain runs the programs of a chain, and returns what they did together.
func (r *Runner) runChain(ctx context.Context, run *Run, p *prepared) (*machine.Result, *machine.Chained, error) {
	c, err := r.m.RunChain(ctx, run.Chain, p.in, func(s *machine.Session) error { return p.setFields(run, s) })
	if err != nil {
		return nil, nil, run.failed(err)
	}
	return c.Whole(), c, nil
}

// chain compares what the programs of a chain decided.
func (j *judge) chain(e *Expect) error {
	n := e.Chain
	switch {
	case n == nil:
		return nil
	case j.run.Chain == nil:
		return n.Errorf("chain: the run is of one program; name those of the hook with chain: [PROGRAM, ...]")
	}
	if err := n.Fields(expectChainForm); err != nil {
		return err
	}
	if v := n.Get("verdict"); v != nil {
		want, err := v.NonEmpty("verdict")
		if err != nil {
			return err
		}
		if !j.Checking {
			j.Expect(v.Pos, "chain.verdict", want == j.chained.Verdict, want, j.chained.Verdict)
		}
	}
	v := n.Get("ran")
	if v == nil {
		return nil
	}
	if v.Kind != grammar.Sequence {
		return v.Errorf("ran: want a list of programs, got %s", v.Describe())
	}
	var want []string
	for _, item := range v.Items {
		if !slices.Contains(j.run.Chain, item.Text) {
			return item.Unknown("program of the chain", item.Text, j.run.Chain)
		}
		want = append(want, item.Text)
	}
	if j.Checking {
		return nil
	}
	var ran []string
	for _, res := range j.chained.Results {
		if res.Ran {
			ran = append(ran, res.Program)
		}
	}
	j.Expect(v.Pos, "chain.ran", slices.Equal(want, ran), strings.Join(want, ", "), strings.Join(ran, ", "))
	return nil
}
