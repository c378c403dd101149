package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/app/testrun"
	"github.com/bpfrun/bpfrun/internal/intest"
)

// testFlags are the flags of test.
type testFlags struct {
	cover    coverFlags
	reports  reportFiles
	run      string
	list     bool
	failFast bool
	shard    string
	seeds    int
	profile  bool
}

// maxSeeds limits --seeds.
const maxSeeds = 100_000

// parse checks the flags and returns the selection of tests.
func (f *testFlags) parse() (*testrun.Pick, error) {
	p := &testrun.Pick{Shards: 1, Shard: 1}
	if f.run != "" {
		re, err := regexp.Compile(f.run)
		if err != nil {
			return nil, usagef("--run %q: %v", f.run, err)
		}
		p.Name = re
	}
	if f.seeds < 1 || f.seeds > maxSeeds {
		return nil, usagef("--seeds %d: want 1 to %d", f.seeds, maxSeeds)
	}
	if f.shard != "" {
		i, n, ok := strings.Cut(f.shard, "/")
		var err1, err2 error
		p.Shard, err1 = strconv.Atoi(i)
		p.Shards, err2 = strconv.Atoi(n)
		if !ok || err1 != nil || err2 != nil || p.Shard < 1 || p.Shard > p.Shards {
			return nil, usagef("--shard %q: want I/N such as 2/4, I from 1 to N", f.shard)
		}
	}
	return p, nil
}

// nothing returns the outcome if no test is selected: an error for --run, but not for an empty
// shard.
func (f *testFlags) nothing() error {
	if f.run == "" || f.shard != "" {
		return nil
	}
	return usagef("--run %q: no test matches (--list shows all tests)", f.run)
}

// listTests prints the selected tests.
func (c *testCommand) listTests(files []testrun.Chosen) error {
	list := &report.TestList{Schema: report.Schema, Files: []report.ListedFile{}}
	for _, f := range files {
		if f.Scenario != nil {
			list.AddScenario(f.Scenario, f.Units)
			continue
		}
		if f.Err != nil {
			return f.Err
		}
		all, err := intest.Discover(f.Object)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		var tests []*intest.Test
		for _, t := range all {
			if f.Tests(t.Name) {
				tests = append(tests, t)
			}
		}
		list.AddTests(f.Path, tests)
	}
	if c.json {
		return report.WriteJSON(c.stdout, list)
	}
	return report.WriteTestList(c.stdout, list)
}
