package main

import (
	"context"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/search"
)

// plainUsage describes --plain, which is a flag of run and of bpfrun without a command.
const plainUsage = "run programs once, with the default input: do not change it to pass the branches that stop a program"

// oneRun reports whether flags ask for something of the one run with the given input, so that no other input is tried.
func (c *runCommand) oneRun() bool {
	return c.repeat > 1 || c.trace || c.chain || c.whyNot != "" || c.replays() || c.pcap != "" || c.out != "" || c.collected != nil || len(c.dumpMaps) > 0 ||
		len(c.objects.attachProgs) > 0 || c.sim.engine == "jit" || c.sim.engine == "both"
}

// searches reports whether runs are made with changed inputs. A packet or context that the user gives is what the program is to run with, unless the
// search is asked for.
func (c *runCommand) searches() bool {
	return c.reach || !c.plain && !c.oneRun() && c.packet == "" && c.ctx == ""
}

// keeps reports whether an input is what the user gave.
func (c *runCommand) keeps(o search.Override) bool {
	switch o.Place.Input {
	case search.Packet:
		return c.packet != ""
	case search.Argument, search.ContextField:
		return c.ctx != ""
	case search.Global:
		return slices.ContainsFunc(c.objects.globals, func(g string) bool {
			name, _, _ := strings.Cut(g, "=")
			return name == o.Place.Name || strings.HasPrefix(name, o.Place.Name+".")
		})
	}
	return o.Kind == search.Length && c.packet != ""
}

// longer is how many times as far --reach searches.
const longer = 16

// once runs a program and adds the run to the document: the one with the given input, or one with changed input that got further. The run that is
// added tells what kept it from most of the program.
func (c *runCommand) once(ctx context.Context, doc *report.RunDocument, m *machine.Machine, name string, in machine.Input) (res *machine.Result, changed bool, err error) {
	again := !c.oneRun() && !callsBPF(m.Linked()) // no snapshot takes back what bpf(2) made
	if !again || !c.searches() {
		res, err = plainly(ctx, doc, m, name, in, again)
		return res, false, err
	}
	opt := search.Options{Keep: c.keeps}
	if c.reach {
		opt.Runs, opt.Insns = longer*search.DefaultRuns, longer*search.DefaultInsns
	}
	start := m.Snapshot()
	found, err := search.Furthest(ctx, m, name, in, opt)
	if err != nil {
		return nil, false, err
	}
	doc.Add(m, found.Result)
	if len(found.Changed) == 0 {
		return found.Result, false, explain(ctx, doc, m, start, found, in)
	}
	reached := &report.Reached{Plain: report.Coverage(found.Plain)}
	for _, o := range found.Changed {
		reached.By = append(reached.By, o.String())
	}
	doc.Reached(name, reached)
	if err := explain(ctx, doc, m, start, found, in); err != nil {
		return nil, false, err
	}
	// The programs after it see what the plain run left.
	m.Restore(start)
	_, err = m.Run(ctx, name, in)
	return found.Result, true, err
}

// plainly makes one run with the given input. If again is true, it may be repeated to explain it.
func plainly(ctx context.Context, doc *report.RunDocument, m *machine.Machine, name string, in machine.Input, again bool) (*machine.Result, error) {
	if !again {
		res, err := m.Run(ctx, name, in)
		if err == nil {
			doc.Add(m, res)
		}
		return res, err
	}
	start := m.Snapshot()
	res, err := m.Run(ctx, name, in)
	if err != nil {
		return nil, err
	}
	doc.Add(m, res)
	return res, explain(ctx, doc, m, start, &search.Found{Result: res}, in)
}

// explain adds to a run that executed less than half of its program which branch decided that. start is the state in which the run began. The
// machine is left as it is.
func explain(ctx context.Context, doc *report.RunDocument, m *machine.Machine, start *machine.Snapshot, found *search.Found, in machine.Input) error {
	res := found.Result
	if !res.Ran || res.Fault != nil || 2*res.Coverage.Executed >= res.Coverage.Reachable {
		return nil
	}
	if found.Stop == nil && len(found.Changed) == 0 {
		after := m.Snapshot()
		m.Restore(start)
		stop, ok, err := search.Explain(ctx, m, res, in)
		m.Restore(after)
		if err != nil {
			return err
		}
		if ok {
			found.Stop = &stop
		}
	}
	if found.Stop != nil {
		doc.Explain(res.Program, found.Stop.Lines())
	}
	return nil
}
