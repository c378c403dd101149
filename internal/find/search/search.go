package search

import (
	"context"
	"math"
	"slices"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/loader"
)

// What a search may cost if its options do not say it: less than 50 ms of processor time where it
// was measured.
const (
	DefaultRuns  = 256
	DefaultInsns = 150_000
)

// Options bound a search. Zero values mean the defaults.
type Options struct {
	// Runs is the largest number of runs (DefaultRuns).
	Runs int
	// Insns is the number of instructions of all runs together (DefaultInsns). A program whose
	// plain run takes more than a fourth of them is not run again.
	Insns uint64
	// Keep reports whether an input stays as it is; nil changes all.
	Keep func(Override) bool
	// Constants changes variables of .rodata that user space sets, too: those that the source has
	// as volatile. Programs are not verified with them.
	Constants bool
	// Like returns the value that a new element of a map begins with; nil, or a nil function, for
	// zeros.
	Like func(*loader.Map) []byte
	// Late tries the last comparisons of a run first, so that what is decided early stays while later
	// ones change.
	Late bool
	// Others is how many runs besides the one that got furthest are kept.
	Others int

	restore func() // brings the constants back, nil if they stay
}

// Other is a run that reached something which no run before it reached.
type Other struct {
	Changed []Override
	Packet  []byte // nil for the given one
	Reached Sites
}

// Found is the run that got furthest.
type Found struct {
	*machine.Result
	// Changed are the inputs that differ from those that were given; none if no change got further.
	Changed []Override
	// Packet is the frame that the program ran on, if that was changed.
	Packet []byte
	// Stop is the branch that kept the run from most of what it did not execute; nil if there is
	// none, or if the program was not traced.
	Stop *Stop
	// Others are the runs that reached something new, the plain one first, as far as the options
	// want them.
	Others []Other
	// Reached is how many of the program's instructions the run executed: unlike its coverage, this
	// does not count what earlier runs on the machine did.
	Reached int
	// Reachable is how many there are: all of them if constants change.
	Reachable int
	// Plain is the coverage of the run with the given input.
	Plain machine.Coverage
	// Runs is how many runs were made, Work the instructions of all of them, with what a run costs
	// besides.
	Runs int
	Work uint64
}

// maxBranches limits the comparisons of one run that are tried.
const maxBranches = 512

// candidate is a run to make.
type candidate struct {
	changes []Override
	other   Site // what it is to reach
}

// Furthest runs a program with the given input, then with changed inputs, and returns the run that
// executed the most of the program's instructions. The machine is left as that run leaves it. Equal
// machines and inputs give equal results.
func Furthest(ctx context.Context, m *machine.Machine, name string, in machine.Input, opt Options) (*Found, error) {
	if opt.Runs == 0 {
		opt.Runs = DefaultRuns
	}
	if opt.Insns == 0 {
		opt.Insns = DefaultInsns
	}
	start := m.Snapshot()
	res, err := m.Run(ctx, name, in)
	found := &Found{Result: res, Runs: 1, Work: runCost}
	if res != nil {
		found.Work += res.Insns
	}
	if err != nil || !res.Ran {
		return found, err
	}
	found.Plain, found.Reached, found.Reachable = res.Coverage, res.Coverage.Executed, res.Coverage.Reachable
	if lp, ok := m.Linked().Program(name); ok && opt.Constants {
		found.Reachable = len(lp.Insns)
	}
	if res.Fault != nil || res.Insns > opt.Insns/4 || endian.IsBig(m.Memory().ByteOrder()) || found.Reached >= found.Reachable {
		return found, nil
	}
	m.Restore(start)
	if opt.Constants {
		restore := Constants(m)
		defer restore()
		opt.restore = restore
	}
	s := &searching{m: m, name: name, in: in, opt: opt, reachable: found.Reachable}
	best, err := s.search(ctx)
	found.Others = s.others
	found.Runs += s.runs
	found.Work += s.insns
	if err != nil {
		return nil, err
	}
	m.Restore(start) // a loop keeps what its runs covered
	again, reached, err := s.final(ctx, best)
	if err != nil {
		return nil, err
	}
	if len(best) > 0 && (again == nil || again.Fault != nil || reached <= s.plain) {
		m.Restore(start) // the whole run is not what the search saw
		best = nil
		again, reached, err = s.final(ctx, nil)
	}
	found.Reached = reached
	if again != nil {
		again.Findings = besides(again.Findings, res.Findings)
		again.Warnings = append(again.Warnings, s.lints...)
	}
	found.Result, found.Changed, found.Stop = again, best, s.stop
	if s.changesPacket(best) {
		found.Packet = framed(s.frame, s.lead, best)
	}
	return found, err
}

// besides adds to the findings of a run those of the plain run in other places: a run that gets
// further must not hide them.
func besides(findings, plain []finding.Finding) []finding.Finding {
	for _, f := range plain {
		if !slices.ContainsFunc(findings, func(o finding.Finding) bool {
			return o.Kind == f.Kind && o.Program == f.Program && (o.Insn == f.Insn || f.Source != "" && o.Source == f.Source)
		}) {
			findings = append(findings, f)
		}
	}
	return findings
}

// searching is the state of one search.
type searching struct {
	m         *machine.Machine
	name      string
	in        machine.Input
	opt       Options
	loop      *machine.Loop
	frame     []byte // the given packet
	lead      int
	seen      Sites // instructions that any run executed
	reachable int
	runs      int
	insns     uint64
	lints     []string // of comparisons in the wrong byte order
	stop      *Stop    // of the last final run
	others    []Other
	plain     int // what the run with the given input reached
}

// search makes the runs and returns the changes of the one that got furthest. It leaves the machine
// as it found it.
func (s *searching) search(ctx context.Context) (best []Override, err error) {
	if s.loop, _, err = s.m.Loop(s.name, s.in); s.loop == nil {
		return nil, err
	}
	defer s.loop.Close()
	s.frame = append(s.frame, s.loop.Context().FrameIn()...)
	most := -1
	queue := []candidate{{}}
	for len(queue) > 0 && s.runs < s.opt.Runs && s.insns < s.opt.Insns {
		c := queue[0]
		queue = queue[1:]
		if s.seen.Has(c.other) {
			continue
		}
		t, ok, err := s.run(ctx, c.changes)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		n := t.Reached.Len(s.loop.Program())
		if most < 0 && len(c.changes) == 0 {
			s.plain = n
		}
		if n > most { // those of programs that it calls are not what it is judged by
			most, best = n, c.changes
		}
		s.lint(t)
		if s.seen.Merge(&t.Reached) {
			if len(s.others) < s.opt.Others {
				s.others = append(s.others, s.other(c.changes, t))
			}
			more := s.next(t, c.changes)
			if s.opt.Late {
				slices.Reverse(more)
			}
			queue = append(more, queue...)
		}
		if most >= s.reachable {
			break
		}
	}
	return best, nil
}

// other is a run to keep.
func (s *searching) other(changes []Override, t *Trace) Other {
	o := Other{Changed: changes, Reached: t.Reached}
	if s.changesPacket(changes) {
		o.Packet = framed(s.frame, s.lead, changes)
	}
	return o
}

// run makes one run of the loop; ok is false if the changed input cannot be given, or if the
// program faults.
func (s *searching) run(ctx context.Context, changes []Override) (t *Trace, ok bool, err error) {
	s.runs++
	s.loop.Rewind()
	s.constant()
	if len(s.frame) > 0 && s.changesPacket(changes) {
		if s.loop.SetPacket(framed(s.frame, s.lead, changes)) != nil {
			return nil, false, nil
		}
	}
	s.loop.SetOverrides(overriding(s.in.Overrides, changes))
	t = NewTrace(s.m, s.loop.Context(), changes)
	t.constants, t.like = s.opt.Constants, s.opt.Like
	s.lead = t.lead
	s.loop.Trace(t)
	out, err := s.loop.Run(ctx)
	s.insns += uint64(t.Insns) + runCost
	if err != nil {
		return nil, false, err
	}
	return t, out.Fault == nil, nil
}

// constant brings the constants back that an earlier run changed.
func (s *searching) constant() {
	if s.opt.restore != nil {
		s.opt.restore()
	}
}

// runCost is what a run costs besides its instructions, in instructions.
const runCost = 200

func (s *searching) changesPacket(changes []Override) bool {
	for _, o := range changes {
		if inPacket(o) {
			return true
		}
	}
	return false
}

// next lists the runs that take the other sides of a run's comparisons.
func (s *searching) next(t *Trace, changes []Override) []candidate {
	var out []candidate
	tried := map[Site]int{}
	for i := range t.Branches[:min(len(t.Branches), maxBranches)] {
		b := &t.Branches[i]
		if s.seen.Has(b.Other) || tried[b.Other] > 1 {
			continue
		}
		for _, o := range t.Flip(b) {
			if s.opt.Keep == nil || !s.opt.Keep(o) {
				tried[b.Other]++
				out = append(out, candidate{with(changes, o), b.Other})
			}
		}
	}
	return out
}

// Flip returns changes of single inputs that make a comparison come out the other way, as far as
// they can be computed: at most one for each side.
func (t *Trace) Flip(b *Branch) []Override {
	var out []Override
	for i, v := range b.From {
		if v == nil {
			continue
		}
		x, ok := uint64(0), v.From.Kind == Element // any element is not NULL
		if !ok {
			x, ok = v.Solve(b.Op, b.Sides[1-i], i == 1, !b.Taken)
		}
		if ok && t.changeable(v, x) {
			out = append(out, t.Override(v.From, x))
		}
	}
	return out
}

// changeable reports whether the source of a value can have another one. What the kernel takes for
// constant when it verifies the program is no input unless the options say so. Pointers are not changed to numbers: arguments
// stay, those in kernel objects and in memory may be null.
func (t *Trace) changeable(v *Value, x uint64) bool {
	s := v.From
	switch s.Kind {
	case Length:
		return x > uint64(t.length) && x <= longest
	case Memory:
		s.Place = t.named(s)
		switch p := s.Place; p.Input {
		case Constant:
			return t.constants && p.settable
		case Unmapped:
			return false
		case Packet:
			return p.Off+s.Size <= t.length
		case ContextField:
			return x <= math.MaxUint64>>(64-8*s.Size)
		case Argument:
			return !p.ptr && !t.address(v)
		case Field, Global, Context, Unnamed:
			return x == 0 || !p.ptr && !t.address(v)
		}
	}
	return true
}

// address reports whether a source held an address of the machine.
func (t *Trace) address(v *Value) bool {
	_, ok := t.m.NameAddr(v.Was)
	return ok && v.From.Size == t.m.Memory().PointerSize()
}

// final makes the run that is reported, with everything that a run records, and counts the
// instructions that it reached. The result is nil if the input cannot be given.
func (s *searching) final(ctx context.Context, changes []Override) (*machine.Result, int, error) {
	s.constant()
	in := s.in
	in.Overrides = overriding(in.Overrides, changes)
	if s.changesPacket(changes) {
		in.Packet = framed(s.frame, s.lead, changes)
	}
	// What exists is changed before the run, so that the run is not taken for what changed it.
	var rest []Override
	for _, o := range changes {
		if o.Kind == Element || o.Kind == Memory && !inPacket(o) && (o.Place.Input == ContextField || !poke(s.m, o)) {
			rest = append(rest, o)
		}
	}
	run, res, err := s.m.Begin(s.name, in)
	if run == nil {
		if ctx.Err() == nil {
			err = nil // such an input does not exist
		}
		return res, 0, err
	}
	defer run.Leave()
	t := NewTrace(s.m, run.Context(), rest)
	if err := run.Execute(ctx, t); err != nil {
		return nil, 0, err
	}
	s.stop = nil
	if stop, ok := t.Stopped(); ok {
		s.stop = &stop
	}
	res = run.Finish()
	s.inserted(res, changes)
	if !consistent(changes) {
		res.Findings = slices.DeleteFunc(res.Findings, func(f finding.Finding) bool { return f.Kind == finding.Packet })
	}
	lp, _ := s.m.Linked().Program(s.name)
	return res, t.Reached.Len(lp), nil
}

// consistent reports whether changes leave packets and state as events make them: a packet that the
// search made up, or that is rewritten by the contents of a map that no event wrote, may be wrong.
func consistent(changes []Override) bool {
	for _, o := range changes {
		if o.Place.Input != ContextField && o.Place.Input != Argument {
			return false
		}
	}
	return true
}
