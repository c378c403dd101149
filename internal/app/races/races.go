// Package races looks for races of an object's programs: which inputs get programs further first,
// and which part of the time or of the orders each set of actors gets.
//
// It knows budgets. It does not know how a set of actors is explored (internal/find/race), command
// lines or rendering. Start at [Machine] and [Search].
package races

import (
	"context"
	"math"
	"time"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/find/race"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

// MaxInsns limits the instructions of one program in one order.
const MaxInsns = 1 << 20

// Limited returns the configuration with that limit, in which findings are told by a race and not
// by a policy.
func Limited(cfg machine.Config) machine.Config {
	cfg.MaxInsns, cfg.Strict = min(cfg.MaxInsns, MaxInsns), false
	return cfg
}

// Machine returns the configuration of the machine that programs run on.
func Machine(cfg machine.Config) machine.Config {
	cfg = Limited(cfg)
	cfg.Uncovered, cfg.Unwatched, cfg.Restores, cfg.Engine = true, true, true, machine.EngineInterpreter
	return cfg
}

// Options are what is searched, and for how long.
type Options struct {
	// Programs are those that take part, with the programs that they share something with; all if
	// empty.
	Programs    []string
	Preemptions int
	Seed        uint64
	Memory      race.Memory
	// Scene is what a user wrote; nil for nothing. Machine then makes another machine in its state,
	// with a configuration.
	Scene   *race.Scene
	Machine func(machine.Config) (*machine.Machine, func(), error)
	// Known are findings that are not told again, by what they are about; those that are found are
	// added. nil is an empty one.
	Known map[string]bool
	// Preemptible says whether the kernel switches tasks in the middle of a program; nil for what
	// its release does.
	Preemptible *bool
	// Time is the longest that it takes; 0 for no limit.
	Time time.Duration
	// Orders is how many orders there may be: the same on every machine, for one Seed; 0 for no
	// limit.
	Orders int
	// Random is how many random orders follow those within Preemptions, for each race. With a Time,
	// no Orders and Endless, they follow until it is over.
	Random  int
	Endless bool
}

// leastShare is what a race gets of the time at least: in less none is begun.
const leastShare = 200 * time.Millisecond

// leastOrders is the same for orders.
const leastOrders = 64

// Search runs the programs of a machine against each other and adds what it finds to a document,
// which says so if ctx ended the search. cfg is the machine's configuration. The error is that of
// ctx if nothing was searched before it ended, that of making a machine, or a
// *race.NotRunnableError.
func Search(ctx context.Context, m *machine.Machine, cfg machine.Config, doc *report.RaceDocument, opt Options) error {
	doc.Left = left(m)
	began := time.Now()
	prepared, err := prepare(ctx, m, cfg, opt, began)
	if err != nil {
		return err
	}
	doc.Unsearched = prepared.Left
	defer func() { doc.Seconds = time.Since(began).Seconds() }()
	return meet(ctx, m, doc, opt, prepared, began)
}

// NewDocument returns the document of a search before it begins.
func NewDocument(obj *loader.Object, target *report.Target, opt Options) *report.RaceDocument {
	return &report.RaceDocument{
		Schema: report.Schema, Kind: "race", Object: obj.Name, Target: target, Complete: true, Preemptions: opt.Preemptions, Most: opt.Orders,
		Races: []report.Race{}, Findings: []report.RaceFinding{}, Left: []report.RaceLeft{},
	}
}

// prepare looks for inputs and states that get programs further, on a machine of its own: it
// records coverage, which makes orders slower.
func prepare(ctx context.Context, m *machine.Machine, cfg machine.Config, opt Options, began time.Time) (*race.Prepared, error) {
	cfg.Uncovered = false
	open := opt.Machine
	if open == nil {
		open = func(cfg machine.Config) (*machine.Machine, func(), error) {
			other, err := machine.New(m.Linked(), cfg)
			if err != nil {
				return nil, nil, err
			}
			return other, other.Close, nil
		}
	}
	other, done, err := open(cfg)
	if err != nil {
		return nil, err
	}
	defer done()
	race.Warm(m)
	race.Warm(other)
	var until time.Time
	if opt.Time > 0 {
		until = began.Add(opt.Time / 2)
	}
	return race.Prepare(ctx, other, opt.Programs, until)
}

// meet runs all races of an object. Each gets an equal share of the orders or the time that is
// left; if that is too little for all, those that come first get enough.
func meet(ctx context.Context, m *machine.Machine, doc *report.RaceDocument, opt Options, prepared *race.Prepared, began time.Time) error {
	meetings := race.MeetingsOf(m, opt.Scene, opt.Programs, KernelOf(m, opt))
	prepared.Sort(meetings, m.Linked().Programs)
	end, known := began.Add(opt.Time), opt.Known
	if known == nil {
		known = map[string]bool{}
	}
	for i, meeting := range meetings {
		if opt.Time > 0 && !time.Now().Before(end) || opt.Orders > 0 && doc.Orders >= opt.Orders {
			doc.Skipped, doc.Complete = len(meetings)-i, false
			return nil
		}
		cfg := race.Config{Preemptions: opt.Preemptions, Seed: opt.Seed, Random: opt.Random, Memory: opt.Memory, Prepared: prepared, Scene: opt.Scene, Ignore: m.Ignored()}
		if opt.Time > 0 {
			left := time.Until(end)
			cfg.Until = time.Now().Add(max(left/time.Duration(len(meetings)-i), min(left, leastShare)))
		}
		if opt.Orders > 0 {
			left := opt.Orders - doc.Orders
			cfg.Most = max(left/(len(meetings)-i), min(left, leastOrders))
		} else if opt.Endless {
			cfg.Random = math.MaxInt
		}
		r, err := race.Explore(ctx, m, meeting, cfg)
		if r != nil && opt.Scene != nil {
			r.Drop(known)
		}
		switch {
		case err == nil:
			doc.Add(meeting, r)
		case ctx.Err() != nil && r != nil:
			doc.Add(meeting, r) // what was found so far counts
			doc.Skipped, doc.Complete, doc.Interrupted = len(meetings)-i-1, false, true
			return nil
		default:
			return err
		}
	}
	return nil
}

// KernelOf returns the kernel of a machine. It is preemptible if the options say so or, without
// them, if its release has CONFIG_PREEMPT_LAZY.
func KernelOf(m *machine.Machine, opt Options) race.Kernel {
	version := m.Linked().Target.Version
	k := race.Kernel{Version: version, Preemptible: since.Of(version).Has(since.PreemptLazy)}
	if opt.Preemptible != nil {
		k.Preemptible = *opt.Preemptible
	}
	return k
}

// left lists the programs that take no part.
func left(m *machine.Machine) []report.RaceLeft {
	out := []report.RaceLeft{}
	for _, lp := range m.Linked().Programs {
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
