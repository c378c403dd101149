package verifier

import (
	"context"

	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// assumeTargets gives an extension whose target is not known the targets that it is made for:
// functions of its own type, in programs of the type whose context its first parameter points to,
// for each attach type; without such a parameter, in programs of any type.
func (p *Program) assumeTargets(l *loader.Linked, lp *loader.LinkedProgram) {
	types := []uapi.ProgType{}
	if t, ok := progtype.RunAs(loader.ContextType(p.BTF, lp.FuncType)); ok {
		types = append(types, t)
	} else {
		for _, r := range progtype.All() {
			if r.Target != progtype.OtherProgram && l.Target.HasProgType(r.Type) {
				types = append(types, r.Type)
			}
		}
	}
	var targets []*Program
	for _, t := range types {
		tried := map[uapi.AttachType]bool{}
		try := func(a uapi.AttachType) {
			if tried[a] {
				return
			}
			tried[a] = true
			targets = append(targets, &Program{
				Name: lp.AttachTo, Type: t, Attach: a, License: p.License, Insns: p.Insns, Refs: p.Refs, BTF: p.BTF, Funcs: []FuncInfo{{Type: lp.FuncType, Name: lp.AttachTo}},
			})
		}
		for _, s := range progtype.Of(t).Sections {
			try(s.Attach)
		}
		try(0)
	}
	if len(targets) == 0 {
		return
	}
	p.AttachProg, p.OrTargets, p.AttachID, p.AttachModule = targets[0], targets[1:], lp.FuncType, ""
}

// verifyAny verifies a program with each of the targets that it may have, until the kernel accepts
// it. What is logged is the last verification.
func verifyAny(ctx context.Context, k *Kernel, p *Program, o Options) (*Verdict, error) {
	silent := o
	silent.Log = nil
	for _, t := range append([]*Program{p.AttachProg}, p.OrTargets...) {
		one := *p
		one.AttachProg, one.OrTargets = t, nil
		v, err := Verify(ctx, k, &one, silent)
		switch {
		case err != nil:
			return nil, err
		case v.Outcome != Accepted:
		case o.Log == nil:
			return v, nil
		default:
			return Verify(ctx, k, &one, o)
		}
	}
	one := *p
	one.OrTargets = nil
	return Verify(ctx, k, &one, o)
}
