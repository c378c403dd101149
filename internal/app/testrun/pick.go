package testrun

import (
	"regexp"

	"github.com/bpfrun/bpfrun/internal/intest"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/loader"
)

// Input is a scenario file with its object, or an object with tests inside.
type Input struct {
	Scenario *scenario.File // nil for an object's own tests
	Object   *loader.Object
	Path     string
	Err      error // why the tests inside the object cannot be run
}

// Chosen is an input with its selected tests.
type Chosen struct {
	Input
	Units []scenario.Unit
	Tests func(name string) bool // selects tests inside an object
}

// Pick selects tests.
type Pick struct {
	Name          *regexp.Regexp // nil: all
	Shard, Shards int            // part Shard of Shards, from 1

	next int // number of the next unit
}

func (p *Pick) named(name string) bool { return p.Name == nil || p.Name.MatchString(name) }

// mine counts one unit of tests and reports whether it belongs to the shard.
func (p *Pick) mine() bool {
	p.next++
	return (p.next-1)%p.Shards == p.Shard-1
}

// Choose selects units of scenario files, and objects. The tests of an object stay together, since
// they share maps. An object that cannot be used is kept, since its tests are unknown.
func (p *Pick) Choose(files, objects []Input) []Chosen {
	var out []Chosen
	for _, f := range files {
		var units []scenario.Unit
		for _, u := range f.Scenario.Units(func(r *scenario.Run) bool { return p.named(r.Name) }) {
			if p.mine() {
				units = append(units, u)
			}
		}
		// A file without runs is still checked.
		if len(units) > 0 || len(f.Scenario.Runs) == 0 && p.Name == nil && p.mine() {
			out = append(out, Chosen{Input: f, Units: units})
		}
	}
	for _, f := range objects {
		if f.Err == nil && p.Name != nil {
			tests, err := intest.Discover(f.Object)
			any := false
			for _, t := range tests {
				any = any || p.named(t.Name)
			}
			if err == nil && !any {
				continue
			}
		}
		if p.mine() {
			out = append(out, Chosen{Input: f, Tests: p.named})
		}
	}
	return out
}
