package scenario

import (
	"context"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

var expectChainForm = &form{"expect.chain", "What the programs of a chain decided together.", []member{
	{name: "verdict", doc: "What the kernel does in the end, as bpfrun run --chain prints it: TCX_DROP, NETKIT_PASS, TC_ACT_OK, allow, deny (-EPERM), an error of an LSM hook.", shape: text},
	{name: "ran", doc: "The programs that ran, in order: those up to the one that decided.", shape: listOf(text)},
}}

// decodeChain decodes chain: the programs that share a hook, in the order in which they run.
func (r *Run) decodeChain(n *Node) error {
	r.ChainNode, r.ProgNode = n, n
	if n.Kind != Sequence || len(n.Items) == 0 {
		return n.errorf("chain: want a list of programs, got %s", n.describe())
	}
	var wrong mistakes
	for _, item := range n.Items {
		name, err := item.text("chain")
		if wrong.add(err) {
			r.Chain = append(r.Chain, name)
		}
	}
	if len(r.Chain) > 0 {
		r.Prog, r.Name = r.Chain[0], strings.Join(r.Chain, ", ")
	}
	return wrong.err()
}

// inChain checks that the object has all programs of the chain.
func (r *Run) inChain(obj *loader.Object) error {
	var wrong mistakes
	for i, name := range r.Chain {
		if _, ok := obj.Program(name); !ok {
			wrong.add(r.ChainNode.Items[i].unknown("program", name, programNames(obj)))
		}
	}
	return wrong.err()
}

// checkChain checks that the programs of a chain share a hook.
func (r *Runner) checkChain(run *Run) error {
	if run.Chain == nil {
		return nil
	}
	if err := r.m.CheckChain(run.Chain); err != nil {
		return run.ChainNode.wrap("chain", err)
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
		return n.errorf("chain: the run is of one program; name those of the hook with chain: [PROGRAM, ...]")
	}
	if err := n.fields(expectChainForm); err != nil {
		return err
	}
	if v := n.Get("verdict"); v != nil {
		want, err := v.text("verdict")
		if err != nil {
			return err
		}
		if !j.checking {
			j.expect(v.Pos, "chain.verdict", want == j.chained.Verdict, want, j.chained.Verdict)
		}
	}
	v := n.Get("ran")
	if v == nil {
		return nil
	}
	if v.Kind != Sequence {
		return v.errorf("ran: want a list of programs, got %s", v.describe())
	}
	var want []string
	for _, item := range v.Items {
		if !slices.Contains(j.run.Chain, item.Text) {
			return item.unknown("program of the chain", item.Text, j.run.Chain)
		}
		want = append(want, item.Text)
	}
	if j.checking {
		return nil
	}
	var ran []string
	for _, res := range j.chained.Results {
		if res.Ran {
			ran = append(ran, res.Program)
		}
	}
	j.expect(v.Pos, "chain.ran", slices.Equal(want, ran), strings.Join(want, ", "), strings.Join(ran, ", "))
	return nil
}
