package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/intest"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/scenario"
)

// testFlags are the flags of test.
type testFlags struct {
	cover    coverFlags
	output   []string
	run      string
	list     bool
	failFast bool
	shard    string
	seeds    int
	verify   bool
}

// maxSeeds bounds --seeds.
const maxSeeds = 100_000

// parse checks the flags and returns which tests they mean.
func (f *testFlags) parse() (*testPick, error) {
	p := &testPick{shards: 1, shard: 1}
	if f.run != "" {
		re, err := regexp.Compile(f.run)
		if err != nil {
			return nil, usagef("--run %q: %v", f.run, err)
		}
		p.name = re
	}
	if f.seeds < 1 || f.seeds > maxSeeds {
		return nil, usagef("--seeds %d: want 1 to %d", f.seeds, maxSeeds)
	}
	if f.shard != "" {
		i, n, ok := strings.Cut(f.shard, "/")
		var err1, err2 error
		p.shard, err1 = strconv.Atoi(i)
		p.shards, err2 = strconv.Atoi(n)
		if !ok || err1 != nil || err2 != nil || p.shard < 1 || p.shard > p.shards {
			return nil, usagef("--shard %q: want I/N such as 2/4, I from 1 to N", f.shard)
		}
	}
	return p, nil
}

// nothing is the outcome when no test was chosen: a mistake of --run, but an empty part of few tests is none.
func (f *testFlags) nothing() error {
	if f.run == "" || f.shard != "" {
		return nil
	}
	return usagef("--run %q: no test has such a name (--list shows them)", f.run)
}

// testPick chooses tests.
type testPick struct {
	name          *regexp.Regexp // nil: all
	shard, shards int            // from 1
	next          int            // number of the next unit
}

func (p *testPick) named(name string) bool { return p.name == nil || p.name.MatchString(name) }

// mine counts a unit of tests and reports whether it belongs to the shard.
func (p *testPick) mine() bool {
	p.next++
	return (p.next-1)%p.shards == p.shard-1
}

// chosenFile is a scenario file with the units of it that were chosen, or an object with the tests of it.
type chosenFile struct {
	scenarioFile
	units []scenario.Unit
	tests func(name string) bool
}

// choose picks units of scenario files and objects, whose tests share maps and so stay together. An object that cannot be used stays,
// since what is in it is not known.
func (p *testPick) choose(files, objects []scenarioFile) []chosenFile {
	var out []chosenFile
	for _, f := range files {
		var units []scenario.Unit
		for _, u := range f.Units(func(r *scenario.Run) bool { return p.named(r.Name) }) {
			if p.mine() {
				units = append(units, u)
			}
		}
		// A file without runs is still checked.
		if len(units) > 0 || len(f.Runs) == 0 && p.name == nil && p.mine() {
			out = append(out, chosenFile{scenarioFile: f, units: units})
		}
	}
	for _, f := range objects {
		if f.err == nil && p.name != nil {
			tests, err := intest.Discover(f.object)
			any := false
			for _, t := range tests {
				any = any || p.named(t.Name)
			}
			if err == nil && !any {
				continue
			}
		}
		if p.mine() {
			out = append(out, chosenFile{scenarioFile: f, tests: p.named})
		}
	}
	return out
}

// listTests prints what was chosen.
func (c *testCommand) listTests(files []chosenFile) error {
	list := &report.TestList{Schema: report.Schema, Files: []report.ListedFile{}}
	for _, f := range files {
		if f.File != nil {
			list.AddScenario(f.File, f.units)
			continue
		}
		if f.err != nil {
			return f.err
		}
		all, err := intest.Discover(f.object)
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		var tests []*intest.Test
		for _, t := range all {
			if f.tests(t.Name) {
				tests = append(tests, t)
			}
		}
		list.AddTests(f.path, tests)
	}
	if c.json {
		return report.WriteJSON(c.stdout, list)
	}
	return report.WriteTestList(c.stdout, list)
}
