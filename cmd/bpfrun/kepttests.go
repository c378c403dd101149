package main

import (
	"crypto/sha256"
	"time"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/app/testrun"
	"github.com/bpfrun/bpfrun/internal/filecache"
	"github.com/bpfrun/bpfrun/internal/kept"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
)

// passed is what is kept of a file's tests on a kernel, all of which passed. Those that fail run
// again: what is shown of them depends on more.
type passed struct{ Cases []report.TestCase }

// keptTests are the results of earlier runs of the jobs of a command.
type keptTests struct {
	c       *testCommand
	store   *filecache.Dir
	results *kept.Results
	opt     scenario.Options
	keys    map[*testrun.Job]string
	said    int64
}

// knownTests gives jobs the results of earlier runs with the same input. It returns nil if nothing
// is kept: when coverage is collected two engines are compared, or documents say all that runs did,
// which needs the runs themselves.
func (c *testCommand) knownTests(jobs []*testrun.Job, opt scenario.Options) *keptTests {
	if c.documents() || opt.Cover != nil || opt.Engine == machine.EngineBoth {
		return nil
	}
	store := c.kernels.results()
	if store == nil {
		return nil
	}
	opt.OnDifference = nil // only for two engines
	k := &keptTests{c: c, store: store, results: keptResults(store), opt: opt, keys: map[*testrun.Job]string{}, said: c.said.Load()}
	for _, j := range jobs {
		key := k.key(j)
		k.keys[j] = key
		var p passed
		if k.results.Get(key, &p) {
			j.Known(p.Cases)
		}
	}
	return k
}

// key says all that the results of a job and how they are shown depend on; "" if that is not known.
func (k *keptTests) key(j *testrun.Job) string {
	kernel := k.c.kernels.sourceKey(btfSource{Source: j.Source}, time.Now())
	if kernel == "" || j.Object == nil || j.Input.Err != nil {
		return ""
	}
	object := sha256.New()
	j.Object.Hash(object)
	parts := []any{object.Sum(nil), kernel, j.Source.Name, j.Source.Path, j.Path, j.Seed, k.opt, k.c.sim.noVerify, k.c.sim.strict}
	if j.Scenario == nil {
		return k.results.Key("tests of an object", append(parts, k.c.run)...)
	}
	text, ok := j.Scenario.Digest()
	if !ok {
		return ""
	}
	var runs []int
	for _, u := range j.Units {
		for _, r := range u.Runs() {
			runs = append(runs, r.Line, r.Col)
		}
		runs = append(runs, 0)
	}
	var names []string // runs of one template are on one line
	for _, u := range j.Units {
		for _, r := range u.Runs() {
			names = append(names, r.Name)
		}
	}
	return k.results.Key("scenario", append(parts, j.Scenario.Object, text, runs, names)...)
}

// save keeps what passed. Nothing is kept when there was something to tell, which would not be told
// again, and nothing whose input changed meanwhile.
func (k *keptTests) save(jobs []*testrun.Job) {
	if k == nil || k.c.said.Load() != k.said {
		return
	}
	for _, j := range jobs {
		key := k.keys[j]
		if key == "" || !j.Passed() || k.key(j) != key {
			continue
		}
		k.results.Put(key, &passed{j.Suite.Cases}, &passed{})
	}
	k.store.Trim()
}
