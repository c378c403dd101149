package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/races"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/find/race"
	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// raceScene is a scenario file whose runs and races take part.
type raceScene struct {
	c      *raceCommand
	ctx    context.Context
	obj    *loader.Object
	target *loader.Target
	file   *scenario.File
	text   []byte
	runner *scenario.Runner
}

// scene opens the file of -s on a machine whose state is the file's.
func (c *raceCommand) scene(ctx context.Context, obj *loader.Object, target *loader.Target) (*raceScene, error) {
	s := &raceScene{c: c, ctx: ctx, obj: obj, target: target}
	var err error
	if s.text, err = os.ReadFile(c.scenario); err != nil {
		return nil, usageError{err}
	}
	if s.file, err = scenario.Parse(c.scenario, s.text); err != nil {
		return nil, usageError{err}
	}
	s.file.Kernel.Defaults = true // of fields that nobody set: programs without a run take part too
	s.runner, err = s.open(races.Machine)
	var mistake *scenario.Error
	var mistakes scenario.Errors
	switch {
	case errors.As(err, &mistake), errors.As(err, &mistakes):
		return nil, usageError{err}
	case err != nil:
		return nil, codeError{exitLoad, err}
	}
	return s, nil
}

// open makes a machine with the file's state.
func (s *raceScene) open(adjust func(machine.Config) machine.Config) (*scenario.Runner, error) {
	opt, err := s.c.sim.scenarioOptions(s.c.objects, nil)
	if err != nil {
		return nil, err
	}
	opt.Config = adjust(opt.Config)
	opt.Load.Also = append(slices.Clone(opt.Load.Also), s.c.progs...)
	opt.Verify = func(l *loader.Linked) func(*loader.LinkedProgram) loader.Verified {
		return pass.NewVerdicts(s.ctx, l, s.c.progs, s.c.sim.noVerify).Verify
	}
	return scenario.Open(s.file, s.obj, s.target, opt)
}

// another makes a second machine, with a configuration of its own.
func (s *raceScene) another(cfg machine.Config) (*machine.Machine, func(), error) {
	r, err := s.open(func(have machine.Config) machine.Config {
		cfg.Verify, cfg.Clock, cfg.Mode = have.Verify, have.Clock, kobject.ModeDefault
		return cfg
	})
	if err != nil {
		return nil, nil, err
	}
	r.Machine().Observe(nil) // inputs that get further are no runs of the file
	return r.Machine(), r.Close, nil
}

// written writes a finding as a scenario with the file's state: with its race, or with its runs as
// actors.
func (s *raceScene) written(object string, f *report.RaceFinding) (string, error) {
	root, err := grammar.ReadNode(s.c.scenario, s.text)
	if err != nil {
		return "", err
	}
	var own *grammar.Node
	if list := root.Get("race"); list != nil {
		for i, run := range s.races() {
			if run.Name == f.Race && i < len(list.Items) {
				own = list.Items[i].Clone()
			}
		}
	}
	if own == nil {
		own = &grammar.Node{Kind: grammar.Mapping}
		own.Put("name", grammar.Quote(f.Race))
		if f.AfterRuns {
			before := &grammar.Node{Kind: grammar.Sequence}
			for _, a := range f.Actors {
				if n := len(before.Items); n == 0 || before.Items[n-1].Text != a.Program {
					before.Items = append(before.Items, grammar.Word(a.Program))
				}
			}
			own.Put("before", before)
		}
		actors := &grammar.Node{Kind: grammar.Sequence}
		for _, a := range f.Actors {
			actors.Items = append(actors.Items, actorNode(root, &a))
		}
		own.Put("actors", actors)
	}
	return writtenRace(root, own, object, f), nil
}

// mostEarlier limits the calls before a race that are written to a file.
const mostEarlier = 200

// writtenCalls writes a finding in what a run calls: with the calls before, and the actors' bytes.
func (s *raceScene) writtenCalls(object string, f *report.RaceFinding, found race.Finding) (string, error) {
	root, err := grammar.ReadNode(s.c.scenario, s.text)
	if err != nil {
		return "", err
	}
	if len(found.Earlier) > mostEarlier {
		return "", &scenario.NotWrittenError{Program: f.Program, What: fmt.Sprintf("more than %d calls before it", mostEarlier)}
	}
	own := &grammar.Node{Kind: grammar.Mapping}
	own.Put("name", grammar.Quote(f.Race))
	before, actors := &grammar.Node{Kind: grammar.Sequence}, &grammar.Node{Kind: grammar.Sequence}
	for _, e := range found.Earlier {
		n, err := s.runner.WriteInput(e.Program, *e.Input)
		if err != nil {
			return "", err
		}
		n.Put("cpu", grammar.Word(fmt.Sprint(e.Input.CPU)))
		before.Items = append(before.Items, n)
	}
	if len(before.Items) > 0 {
		own.Put("before", before)
	}
	for i, a := range f.Actors {
		n, err := s.runner.WriteInput(a.Program, found.Actors[i].Input)
		if err != nil {
			return "", err
		}
		place(n, &a)
		actors.Items = append(actors.Items, n)
	}
	own.Put("actors", actors)
	return writtenRace(root, own, object, f), nil
}

// place adds an actor's name and where it runs.
func place(n *grammar.Node, a *report.RaceActor) {
	if name := plainName(a); name != a.Program && a.Callback == "" {
		n.Put("name", grammar.Quote(name))
	}
	if a.Callback != "" {
		n.Put("callback", grammar.Word(a.Function))
	}
	if a.Over != "" {
		n.Put("over", grammar.Quote(a.Over))
		n.Put("enters", grammar.Word(a.Enters))
	} else {
		n.Put("cpu", grammar.Word(fmt.Sprint(a.CPU)))
	}
}

// plainName is an actor's name without its number among actors of one name.
func plainName(a *report.RaceActor) string {
	if at := strings.LastIndexByte(a.Name, '#'); at > 0 {
		if _, err := strconv.Atoi(a.Name[at+1:]); err == nil {
			return a.Name[:at]
		}
	}
	return a.Name
}

// writtenRace writes a race with a finding's order, and the file's state.
func writtenRace(root, own *grammar.Node, object string, f *report.RaceFinding) string {
	own.Drop("schedule")
	turns := &grammar.Node{Kind: grammar.Sequence}
	for _, t := range f.Order {
		turns.Items = append(turns.Items, grammar.Quote(fmt.Sprintf("%s %d", t.Actor, t.Insns)))
	}
	own.Put("schedule", turns)
	for _, key := range []string{"runs", "sequence", "race", "description", "kernels", "object"} {
		root.Drop(key)
	}
	head := &grammar.Node{Kind: grammar.Mapping}
	head.Put("object", grammar.Quote(object))
	root.Pairs = append(head.Pairs, root.Pairs...)
	root.Child("kernel").Put("values", grammar.Word("default"))
	root.Put("race", &grammar.Node{Kind: grammar.Sequence, Items: []*grammar.Node{own}})
	var b bytes.Buffer
	visible.Fprintf(&b, "# %s: %s\n", f.Kind, f.Message)
	b.Write(root.Print())
	return b.String()
}

// races are those of the file, in its order.
func (s *raceScene) races() []*scenario.Run {
	return slices.DeleteFunc(slices.Clone(s.file.Runs), func(r *scenario.Run) bool { return r.Race == nil })
}

// actorNode writes an actor: the run that it is, or its program.
func actorNode(root *grammar.Node, a *report.RaceActor) *grammar.Node {
	name, n := plainName(a), &grammar.Node{Kind: grammar.Mapping}
	if list := root.Get("runs"); list != nil {
		for _, item := range list.Items {
			if run := item.Get("name"); run != nil && run.Text == name || run == nil && item.Get("prog") != nil && item.Get("prog").Text == name {
				n = item.Clone()
				break
			}
		}
	}
	for _, key := range []string{"expect", "repeat", "each", "truncate", "cpu", "name"} {
		n.Drop(key)
	}
	if n.Get("prog") == nil {
		n.Put("prog", grammar.Word(a.Program))
	}
	place(n, a)
	return n
}

// objectFrom is the path of an object's file from a directory.
func objectFrom(dir, object string) (string, error) {
	from, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if object, err = filepath.Abs(object); err != nil {
		return "", err
	}
	if near, err := filepath.Rel(from, object); err == nil {
		object = near
	}
	return filepath.ToSlash(object), nil
}
