package search

import (
	"context"
	"maps"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
)

// Options bound a search. Zero values mean the defaults.
type Options struct {
	// Runs is the largest number of runs (64).
	Runs int
	// Insns is the number of instructions above which a run is not traced (100,000): its search ends with the plain run.
	Insns uint64
}

// Found is the run that got furthest.
type Found struct {
	*machine.Result
	// Changed are the inputs that differ from those that were given; none if no change got further.
	Changed []Override
	// Runs is how many runs were made.
	Runs int
}

// maxBranches limits the comparisons of one run that are tried.
const maxBranches = 512

// candidate is a run to make.
type candidate struct {
	changes []Override
	other   place // what it is to reach
}

// Furthest runs a program with the given input, then with changed inputs, and returns the run that executed the most of the
// program's instructions. The machine is left as that run leaves it. Equal machines and inputs give equal results.
func Furthest(ctx context.Context, m *machine.Machine, name string, in machine.Input, opt Options) (*Found, error) {
	const runs, insns = 64, 100_000
	if opt.Runs == 0 {
		opt.Runs = runs
	}
	if opt.Insns == 0 {
		opt.Insns = insns
	}
	start := m.Snapshot()
	res, err := m.Run(ctx, name, in)
	best := &Found{Result: res, Runs: 1}
	if err != nil || !res.Ran || res.Fault != nil || res.Insns > opt.Insns || endian.IsBig(m.Memory().ByteOrder()) || complete(res) {
		return best, err
	}
	s := &searching{m: m, name: name, in: in, start: start, seen: map[place]bool{}}
	queue := []candidate{{}}
	for len(queue) > 0 && best.Runs < opt.Runs {
		c := queue[0]
		queue = queue[1:]
		if s.seen[c.other] {
			continue
		}
		res, t, err := s.run(ctx, c.changes)
		if err != nil {
			return nil, err
		}
		best.Runs++
		if res == nil || res.Fault != nil || !res.Ran {
			continue
		}
		if res.Coverage.Executed > best.Coverage.Executed {
			best.Result, best.Changed = res, c.changes
		}
		before := len(s.seen)
		maps.Copy(s.seen, t.reached)
		if len(s.seen) > before {
			queue = append(s.next(t, c.changes), queue...)
		}
		if complete(res) {
			break
		}
	}
	// Leave the machine as the run that is reported does.
	if best.Result, _, err = s.run(ctx, best.Changed); err == nil && len(best.Changed) == 0 {
		m.Restore(start)
		best.Result, err = m.Run(ctx, name, in)
	}
	return best, err
}

// complete reports whether a run executed everything.
func complete(res *machine.Result) bool { return res.Coverage.Executed >= res.Coverage.Reachable }

// searching is the state of one search.
type searching struct {
	m     *machine.Machine
	name  string
	in    machine.Input
	start *machine.Snapshot
	seen  map[place]bool // instructions that any run executed
}

// run makes one run. The result is nil if the changed input cannot be given.
func (s *searching) run(ctx context.Context, changes []Override) (*machine.Result, *trace, error) {
	s.m.Restore(s.start)
	in := s.in
	in.Overrides = maps.Clone(in.Overrides)
	for _, o := range changes {
		if o.Kind == Result {
			if in.Overrides == nil {
				in.Overrides = map[string]machine.Override{}
			}
			in.Overrides[o.Helper] = machine.Override{Returns: []uint64{o.Value}}
		}
	}
	t := newTrace(s.m, changes)
	in.Trace = t
	res, err := s.m.Run(ctx, s.name, in)
	if err != nil && ctx.Err() == nil && len(changes) > 0 {
		return nil, t, nil //nolint:nilerr // such an input does not exist
	}
	return res, t, err
}

// next lists the runs that take the other sides of a run's comparisons.
func (s *searching) next(t *trace, changes []Override) []candidate {
	var out []candidate
	tried := map[place]int{}
	for _, b := range t.branches[:min(len(t.branches), maxBranches)] {
		if s.seen[b.other] || tried[b.other] > 1 {
			continue
		}
		for i, v := range b.from {
			if v == nil || s.fixed(v.from) {
				continue
			}
			x, ok := v.solve(b.op, b.sides[1-i], i == 1, b.want)
			if v.from.kind == Element {
				x, ok = 0, true // any element is not NULL
			}
			if ok {
				tried[b.other]++
				out = append(out, candidate{with(changes, v.from.override(s.m, x)), b.other})
			}
		}
	}
	return out
}

// fixed reports whether an input is one that the kernel takes for constant when it verifies the program: a variable of .rodata or
// a kernel's configuration.
func (s *searching) fixed(from *source) bool {
	if from.kind != Memory {
		return false
	}
	def, _ := variablesAt(s.m, from.addr)
	return def != nil && (def.DataKind == loader.DataRodata || def.DataKind == loader.DataKconfig)
}

// variablesAt returns the section of variables that an address is in, and the offset there.
func variablesAt(m *machine.Machine, addr uint64) (def *loader.Map, off uint64) {
	r := m.Memory().Find(addr)
	if r == nil {
		return nil, 0
	}
	for _, def := range m.Linked().Maps {
		if def.DataKind == loader.DataNone || def.DataKind == loader.DataArena {
			continue
		}
		if mp, ok := m.Map(def); ok {
			if first, e := mp.Lookup(0, make([]byte, 4)); e == 0 && m.Memory().Find(first) == r {
				return def, addr - first
			}
		}
	}
	return nil, 0
}
