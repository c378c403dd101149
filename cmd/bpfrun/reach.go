package main

import (
	"context"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// plainUsage describes --plain, which is a flag of run and of bpfrun without a command.
const plainUsage = "run programs once, with the default input: do not change it to pass the branches that stop a program"

// oneRun reports whether flags ask for something of the one run with the given input, so that no
// other input is tried.
func (c *runCommand) oneRun() bool {
	return c.repeat > 1 || c.trace || c.profile.wanted() || c.chain || c.whyNot != "" || c.replays() || c.pcap != "" || c.out != "" || c.collected != nil || len(c.dumpMaps) > 0 ||
		len(c.objects.attachProgs) > 0 || c.sim.engine == "jit" || c.sim.engine == "both"
}

// searches reports whether runs are made with changed inputs. A packet or context that the user
// gives is what the program is to run with, unless the search is asked for.
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

// once runs a program and adds the run to the document (see [pass.Once]).
func (c *runCommand) once(ctx context.Context, doc *report.RunDocument, m *machine.Machine, name string, in machine.Input) (res *machine.Result, changed bool, err error) {
	opt := pass.Search{Alone: c.oneRun(), Plain: !c.searches(), Unexplained: c.unseen(m, name), Options: search.Options{Keep: c.keeps}}
	if c.reach {
		opt.Runs, opt.Insns = longer*search.DefaultRuns, longer*search.DefaultInsns
	}
	return pass.Once(ctx, doc, m, name, in, opt)
}
