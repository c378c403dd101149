package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/races"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/find/race"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// keepFindings writes a scenario for each finding with an order, and checks that the order fails
// there too.
func (c *raceCommand) keepFindings(ctx context.Context, object string, m *machine.Machine, doc *report.RaceDocument) error {
	if c.keep == "" {
		return nil
	}
	made, numbers := false, map[string]int{}
	for i := range doc.Findings {
		f := &doc.Findings[i]
		if len(f.Order) == 0 || f.Benign || f.Simulation != "" && !c.writable(i) {
			continue
		}
		if !made {
			if err := os.MkdirAll(c.keep, 0o777); err != nil {
				return usageError{fmt.Errorf("--keep: %w", err)}
			}
			made = true
		}
		numbers[f.Kind]++
		path := filepath.Join(c.keep, fmt.Sprintf("%s-%d.yaml", f.Kind, numbers[f.Kind]))
		text, err := c.scenarioOf(object, f, i)
		var not *scenario.NotWrittenError
		switch {
		case errors.As(err, &not):
			c.warn("%s: %s has no scenario: %v", f.Race, f.Message, err)
			continue
		case err != nil:
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return usageError{fmt.Errorf("--keep: %w", err)}
		}
		if err := c.repeats(ctx, path, m.Linked()); err != nil {
			c.warn("%s does not repeat its finding: %v", path, err)
			continue
		}
		f.Scenario = filepath.ToSlash(path)
	}
	return nil
}

// writable reports whether a file can say what led to a finding in a simulation, the nth of the
// document: not if its operations act on the state of the simulation.
func (c *raceCommand) writable(nth int) bool {
	return c.with != nil && !slices.ContainsFunc(c.simulated[nth].Actors, func(a race.Actor) bool { return a.Within != nil })
}

// scenarioOf writes a finding, the nth of the document, as a scenario file.
func (c *raceCommand) scenarioOf(object string, f *report.RaceFinding, nth int) (string, error) {
	object, err := objectFrom(c.keep, object)
	if err != nil {
		return "", err
	}
	if c.with != nil && f.Simulation != "" {
		return c.with.writtenCalls(object, f, c.simulated[nth])
	}
	if c.with != nil {
		return c.with.written(object, f)
	}
	var b strings.Builder
	visible.Fprintf(&b, "# %s: %s\n", f.Kind, f.Message)
	visible.Fprintf(&b, "object: %s\n", quoted(object))
	if c.sim.noVerify {
		b.WriteString("verify: false\n")
	}
	visible.Fprintf(&b, "kernel: {values: default, seed: %d, cpus: %d}\n", c.sim.seed, c.sim.cpus)
	visible.Fprintf(&b, "race:\n- name: %s\n", quoted(f.Race))
	if f.AfterRuns {
		var before []string
		for _, a := range f.Actors {
			if p := quoted(a.Program); len(before) == 0 || before[len(before)-1] != p {
				before = append(before, p)
			}
		}
		visible.Fprintf(&b, "  before: [%s]\n", strings.Join(before, ", "))
	}
	b.WriteString("  actors:\n")
	for _, a := range f.Actors {
		visible.Fprintf(&b, "  - {prog: %s, ", quoted(a.Program))
		if a.Callback != "" {
			visible.Fprintf(&b, "callback: %s, ", quoted(a.Function))
		}
		if a.Over != "" {
			visible.Fprintf(&b, "over: %s, enters: %s}\n", quoted(a.Over), a.Enters)
			continue
		}
		visible.Fprintf(&b, "cpu: %d}\n", a.CPU)
	}
	var turns []string
	for _, t := range f.Order {
		turns = append(turns, quoted(fmt.Sprintf("%s %d", t.Actor, t.Insns)))
	}
	visible.Fprintf(&b, "  schedule: [%s]\n", strings.Join(turns, ", "))
	return b.String(), nil
}

// quoted quotes a word of YAML where that is needed.
func quoted(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./- ") == "" && s != "" && !strings.HasPrefix(s, "-") {
		return s
	}
	text, _ := json.Marshal(s) // a string has an encoding
	return string(text)
}

// repeats runs a scenario that was written and returns an error unless it fails as the finding
// does.
func (c *raceCommand) repeats(ctx context.Context, path string, linked *loader.Linked) error {
	f, err := scenario.ParseFile(path)
	if err != nil {
		return err
	}
	load, err := c.objects.loadOptions()
	if err != nil {
		return err
	}
	cfg, err := c.sim.config(false)
	if err != nil {
		return err
	}
	cfg = races.Limited(cfg)
	r, err := scenario.Open(f, linked.Object, linked.Target, scenario.Options{Config: cfg, Load: load})
	if err != nil {
		return err
	}
	defer r.Close()
	results, err := r.All(ctx, nil)
	if err != nil {
		return err
	}
	for _, res := range results {
		if !res.Passed() {
			return nil
		}
	}
	return errPasses
}

var errPasses = errors.New("the order passes there")
