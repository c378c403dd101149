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
	return b.String(), nil
}

// races are those of the file, in its order.
func (s *raceScene) races() []*scenario.Run {
	return slices.DeleteFunc(slices.Clone(s.file.Runs), func(r *scenario.Run) bool { return r.Race == nil })
}

// actorNode writes an actor: the run that it is, or its program.
func actorNode(root *grammar.Node, a *report.RaceActor) *grammar.Node {
	name := a.Name
	if at := strings.LastIndexByte(name, '#'); at > 0 { // the number among actors of one name
		if _, err := strconv.Atoi(name[at+1:]); err == nil {
			name = name[:at]
		}
	}
	n := &grammar.Node{Kind: grammar.Mapping}
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
	if name != a.Program && a.Callback == "" {
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
