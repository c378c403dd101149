package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/races"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/find/race"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// raceOptions are the flags of the race command.
type raceOptions struct {
	progs       []string
	scenario    string
	preemptions int
	time        time.Duration
	random      int
	orders      int
	preempt     string
	keep        string
	memory      string
	reports     reportFiles
}

// memories are the words of --memory.
var memories = map[string]race.Memory{"sc": race.Sequential, "x86": race.X86, "arm64": race.ARM64}

// raceCommand is bpfrun race.
type raceCommand struct {
	*console
	linker
	sim *machineFlags

	raceOptions
	timed bool // --time was given
	with  *raceScene
	// simulated are findings in what a simulation calls, by their place in the document.
	simulated map[int]race.Finding
}

func newRaceCommand(a *app) *cobra.Command {
	c := &raceCommand{console: &a.console, linker: a.linker(), sim: &a.sim, simulated: map[int]race.Finding{}}
	cmd := &cobra.Command{
		Use:   "race OBJECT [-s FILE] [--btf KERNEL] [-p PROGRAM]...",
		Short: "Run programs against each other in every order, and find those with a wrong outcome",
		Long: `Run programs of an object at the same time, in every order of their accesses to maps and global variables up to a number of
preemptions, and report orders whose outcome no order of whole programs has: lost updates, values made of two, actions on what has
changed meanwhile, programs that wait for each other.

Each program runs with itself and with every program that shares a map or a
global variable with it: on two CPUs, and in the middle of it on one CPU where the kernel's release permits that.

With -s, the state is that of a scenario file, programs get the inputs of its runs, each with each other, its race: is explored too,
and its invariants hold at the end of every order.

Code that works without locks by design (atomic operations, compare-and-exchange loops, BPF_NOEXIST) has no finding.

Exit codes: 0 nothing was found, 1 something was. Statistics that may lose a count fail only with --strict.`,
		Example: "  bpfrun race prog.o\n  bpfrun race prog.o -p ingress -p egress --preemptions 3 --time 1m\n  bpfrun race prog.o -s tests/flows.yaml\n  bpfrun race prog.o --btf kernel.btf --json",
		Args:    oneObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.timed = cmd.Flags().Changed("time")
			return c.race(args[0])
		},
	}
	f := cmd.Flags()
	listVar(f, &c.progs, "prog", "p", "only `PROGRAM`; repeatable")
	f.StringVarP(&c.scenario, "scenario", "s", "", "scenario `FILE` with the state, inputs, races and invariants")
	f.IntVar(&c.preemptions, "preemptions", 2, "at most `N` times in one order a program that could go on is stopped for another")
	f.DurationVar(&c.time, "time", 10*time.Second, "stop after `TIME`; if it is given, random orders follow those within --preemptions until then")
	f.IntVar(&c.orders, "orders", 0, "stop after `N` orders instead of a time: the same on every machine, for one --seed; a --time then is the longest that it takes")
	f.StringVar(&c.keep, "keep", "", "write a scenario file for each finding to `DIR`: bpfrun test repeats its order, bpfrun debug -s steps through it")
	f.StringVar(&c.memory, "memory", "sc", "`MODEL` of memory between CPUs: sc (all see a store at once), x86 (later, in order), arm64 (later, those of different bytes in any order)")
	f.StringVar(&c.preempt, "preempt", "auto", "whether the kernel switches to another task in the middle of a program: yes, no, or auto: from Linux 6.13 (CONFIG_PREEMPT_LAZY)")
	f.IntVar(&c.random, "random", 0, "follow `N` random orders after those within --preemptions, for each race")
	c.reports.add(f, "html")
	return cmd
}

// check finds mistakes in the flags.
func (c *raceCommand) check() error {
	_, known := memories[c.memory]
	switch {
	case c.preemptions < 0 || c.preemptions > 64:
		return usagef("--preemptions %d: want 0 to 64", c.preemptions)
	case c.preempt != "auto" && c.preempt != "yes" && c.preempt != "no":
		return usagef("--preempt %q: want yes, no or auto", c.preempt)
	case !known:
		return usagef("--memory %q: want sc, x86 or arm64", c.memory)
	case c.time <= 0:
		return usagef("--time %v: want a duration such as 10s", c.time)
	case c.orders < 0:
		return usagef("--orders %d: want a number of orders", c.orders)
	case c.random < 0:
		return usagef("--random %d: want a number of orders", c.random)
	}
	return c.reports.check()
}

func (c *raceCommand) race(path string) error {
	if err := c.check(); err != nil {
		return err
	}
	cfg, err := c.sim.config(false)
	if err != nil {
		return err
	}
	table, err := c.table()
	if err != nil {
		return err
	}
	source, err := c.kernels.one("race works on one kernel")
	if err != nil {
		return err
	}
	obj, err := c.objects.open(path)
	if err != nil {
		return err
	}
	if err := c.sim.checkIgnored(obj); err != nil {
		return err
	}
	for _, p := range c.progs {
		if _, ok := obj.Program(p); !ok {
			return usagef("-p %s: no such program in %s (available: %s)", p, obj.Name, programNames(obj))
		}
	}
	target, err := c.kernels.target(source)
	if err != nil {
		return err
	}
	cfg = races.Machine(cfg)
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	opt := c.search(memories[c.memory])
	m, err := c.machine(ctx, obj, target, &cfg, &opt)
	if err != nil {
		return err
	}
	defer m.Close()
	linked := m.Linked()
	if c.with != nil {
		opt.Known = map[string]bool{}
	}
	doc := races.NewDocument(obj, report.NewTarget(target, source.Path), opt)
	var not *race.NotRunnableError
	began := time.Now()
	list := c.wholes(linked, cfg)
	if len(list) > 0 { // they get the other half
		opt.Time /= 2
		opt.Orders = max(opt.Orders/2, min(opt.Orders, 1))
	}
	switch err := races.Search(ctx, m, cfg, doc, opt); {
	case err == nil:
	case errors.As(err, &not) || ctx.Err() == nil:
		return codeError{exitLoad, err}
	default:
		return codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
	}
	if c.with != nil || c.sim.cpus != 1 {
		if err := c.simulate(ctx, list, doc, opt, began); err != nil {
			return err
		}
	}
	doc.Seconds = time.Since(began).Seconds()
	if err := c.keepFindings(context.WithoutCancel(ctx), path, m, doc); err != nil {
		return err
	}
	for i := range doc.Findings {
		if !doc.Findings[i].Benign || c.sim.strict {
			doc.Exit = exitExpectation
		}
	}
	if doc.Interrupted {
		doc.Exit = exitInterrupted
	}
	c.code = doc.Exit
	wrong := c.reports.write("html", func(w io.Writer) error { return report.WriteRaceHTML(w, doc) })
	if c.json {
		return errors.Join(report.WriteJSON(c.stdout, doc), wrong)
	}
	return errors.Join(report.WriteRace(c.stdout, doc, table), wrong)
}

// machine makes the machine whose programs meet. It puts what a scenario file adds to the search
// into opt.
func (c *raceCommand) machine(ctx context.Context, obj *loader.Object, target *loader.Target, cfg *machine.Config, opt *races.Options) (*machine.Machine, error) {
	if c.scenario != "" {
		s, err := c.scene(ctx, obj, target)
		if err != nil {
			return nil, err
		}
		if opt.Scene, err = s.runner.RaceScene(); err != nil {
			s.runner.Close()
			return nil, usageError{err}
		}
		c.with, opt.Machine = s, s.another
		cfg.Ignore = append(cfg.Ignore, s.runner.Machine().Ignored()...)
		return s.runner.Machine(), nil
	}
	linked, err := c.linkTo(obj, target, c.progs...)
	if err != nil {
		return nil, err
	}
	cfg.Verify = pass.NewVerdicts(ctx, linked, c.progs, c.sim.noVerify).Verify
	m, err := machine.New(linked, *cfg)
	if err != nil {
		return nil, codeError{exitLoad, err}
	}
	return m, nil
}

// search returns what is searched, and for how long.
func (c *raceCommand) search(memory race.Memory) races.Options {
	opt := races.Options{Programs: c.progs, Preemptions: c.preemptions, Seed: c.sim.seed, Memory: memory, Orders: c.orders, Random: c.random, Endless: c.timed}
	if c.clocked() { // the time ends the search
		opt.Time = c.time
	}
	if c.preempt != "auto" {
		yes := c.preempt == "yes"
		opt.Preemptible = &yes
	}
	return opt
}

// clocked reports whether the time ends the search.
func (c *raceCommand) clocked() bool { return c.orders == 0 || c.timed }
