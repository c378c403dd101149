package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/find/race"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

// raceOptions are the flags of the race command.
type raceOptions struct {
	progs       []string
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
}

// raceInsns limits the instructions of one program in one order.
const raceInsns = 1 << 20

func newRaceCommand(a *app) *cobra.Command {
	c := &raceCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "race OBJECT [--btf KERNEL] [-p PROGRAM]...",
		Short: "Run programs against each other in every order, and find those with a wrong outcome",
		Long: `Run programs of an object at the same time, in every order of their accesses to maps and global variables up to a number of
preemptions, and report orders whose outcome no order of whole programs has: lost updates, values made of two, actions on what has
changed meanwhile, programs that wait for each other.

Each program runs with itself and with every program that shares a map or a
global variable with it: on two CPUs, and in the middle of it on one CPU where the kernel's release permits that.

Code that works without locks by design (atomic operations, compare-and-exchange loops, BPF_NOEXIST) has no finding.

Exit codes: 0 nothing was found, 1 something was. Statistics that may lose a count fail only with --strict.`,
		Example: "  bpfrun race prog.o\n  bpfrun race prog.o -p ingress -p egress --preemptions 3 --time 1m\n  bpfrun race prog.o --btf kernel.btf --json",
		Args:    oneObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.timed = cmd.Flags().Changed("time")
			return c.race(args[0])
		},
	}
	f := cmd.Flags()
	listVar(f, &c.progs, "prog", "p", "only `PROGRAM`; repeatable")
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

func (c *raceCommand) race(path string) error {
	memory, known := memories[c.memory]
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
	if err := c.reports.check(); err != nil {
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
	linked, err := c.linkTo(obj, target, c.progs...)
	if err != nil {
		return err
	}
	cfg.Uncovered, cfg.Unwatched, cfg.Restores, cfg.Engine = true, true, true, machine.EngineInterpreter
	cfg.MaxInsns, cfg.Strict = min(cfg.MaxInsns, raceInsns), false
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	cfg.Verify = pass.NewVerdicts(ctx, linked, c.progs, c.sim.noVerify).Verify
	m, err := machine.New(linked, cfg)
	if err != nil {
		return codeError{exitLoad, err}
	}
	defer m.Close()
	doc := &report.RaceDocument{
		Schema: report.Schema, Kind: "race", Object: obj.Name, Target: report.NewTarget(target, source.Path), Complete: true, Preemptions: c.preemptions, Most: c.orders,
		Races: []report.Race{}, Findings: []report.RaceFinding{}, Left: left(m, linked),
	}
	began := time.Now()
	prepared, err := c.prepare(ctx, m, linked, cfg)
	if err != nil {
		return err
	}
	doc.Unsearched = prepared.Left
	if err := c.meet(ctx, m, doc, memory, prepared, began); err != nil {
		return err
	}
	if err := c.simulate(ctx, linked, cfg, doc, memory, began); err != nil {
		return err
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

// prepare looks for inputs and states that get programs further, on a machine of its own: it
// records coverage, which makes orders slower.
func (c *raceCommand) prepare(ctx context.Context, m *machine.Machine, linked *loader.Linked, cfg machine.Config) (*race.Prepared, error) {
	cfg.Uncovered = false
	other, err := machine.New(linked, cfg)
	if err != nil {
		return nil, codeError{exitLoad, err}
	}
	defer other.Close()
	race.Warm(m)
	race.Warm(other)
	var until time.Time
	if c.clocked() {
		until = time.Now().Add(c.time / 2)
	}
	p, err := race.Prepare(ctx, other, c.progs, until)
	if err != nil {
		return nil, codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
	}
	return p, nil
}

// clocked reports whether the time ends the search.
func (c *raceCommand) clocked() bool { return c.orders == 0 || c.timed }

// leastShare is what a race gets of the time at least: in less none is begun.
const leastShare = 200 * time.Millisecond

// leastOrders is the same for orders.
const leastOrders = 64

// meet runs all races of an object. Each gets an equal share of the orders or the time that is
// left; if that is too little for all, those that come first get enough.
func (c *raceCommand) meet(ctx context.Context, m *machine.Machine, doc *report.RaceDocument, memory race.Memory, prepared *race.Prepared, began time.Time) error {
	meetings := race.Meetings(m, c.progs, c.kernel(m))
	end, most := began.Add(c.time), c.orders
	if len(wholes(m.Linked().Object)) > 0 { // they get the other half
		end, most = began.Add(c.time/2), max(c.orders/2, min(c.orders, 1))
	}
	for i, meeting := range meetings {
		if c.clocked() && !time.Now().Before(end) || c.orders > 0 && doc.Orders >= most {
			doc.Skipped, doc.Complete = len(meetings)-i, false
			break
		}
		cfg := race.Config{Preemptions: c.preemptions, Seed: c.sim.seed, Random: c.random, Memory: memory, Prepared: prepared, Ignore: m.Ignored()}
		if c.clocked() {
			left := time.Until(end)
			cfg.Until = time.Now().Add(max(left/time.Duration(len(meetings)-i), min(left, leastShare)))
		}
		if c.orders > 0 {
			left := most - doc.Orders
			cfg.Most = max(left/(len(meetings)-i), min(left, leastOrders))
		} else if c.timed {
			cfg.Random = math.MaxInt
		}
		r, err := race.Explore(ctx, m, meeting, cfg)
		if err != nil {
			var not *race.NotRunnableError
			if errors.As(err, &not) {
				return codeError{exitLoad, err}
			}
			if ctx.Err() == nil || r == nil {
				return codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
			}
			doc.Add(meeting, r) // what was found so far counts
			doc.Skipped, doc.Complete, doc.Interrupted = len(meetings)-i-1, false, true
			break
		}
		doc.Add(meeting, r)
	}
	return nil
}

// kernel says whether the kernel is preemptible: as --preempt says, or else from the release on
// that has CONFIG_PREEMPT_LAZY.
func (c *raceCommand) kernel(m *machine.Machine) race.Kernel {
	version := m.Linked().Target.Version
	k := race.Kernel{Version: version, Preemptible: since.Of(version).Has(since.PreemptLazy)}
	switch c.preempt {
	case "yes":
		k.Preemptible = true
	case "no":
		k.Preemptible = false
	}
	return k
}

// left lists the programs that take no part.
func left(m *machine.Machine, l *loader.Linked) []report.RaceLeft {
	out := []report.RaceLeft{}
	for _, lp := range l.Programs {
		if _, ok := m.ImageOf(lp.Name); ok {
			continue
		}
		status, err := m.ProgramStatus(lp.Name)
		text := string(status)
		if err != nil {
			text += ": " + err.Error()
		}
		if status != machine.StatusDisabled {
			out = append(out, report.RaceLeft{Program: lp.Name, Status: text})
		}
	}
	return out
}
