package scenario

import (
	"context"
	"errors"
	"time"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/vm"
)

// Result is the outcome of one run and its comparison with the expectations.
type Result struct {
	Run *Run
	// Result is the result of the program's last execution, with the events and trace lines of all
	// executions and of the time after them.
	*machine.Result
	Expectations []grammar.Expectation
	// Skipped means that nothing ran because the target lacks the program's hook. Err explains why,
	// or why the hook is unknown.
	Skipped bool
	Err     error
	// Validation counts the run's reads of kernel memory.
	Validation machine.Validation
	Took       time.Duration
	// Verdicts counts the packets of a capture by return value.
	Verdicts map[int32]int
	// Truncated counts the runs on truncated packets by return value.
	Truncated map[int32]int
	// Chain is what the programs of a chain decided; nil for other runs.
	Chain *machine.Chained
	// Functions are what the program did for each of several functions; nil for other runs.
	Functions []FunctionResult
	// Simulation is what a subsystem did with the programs; nil for runs of one program.
	Simulation drive.Simulation
}

// Passed reports whether all expectations hold.
func (r *Result) Passed() bool { return len(r.Failed()) == 0 }

// Failed returns the expectations that do not hold.
func (r *Result) Failed() []grammar.Expectation {
	var out []grammar.Expectation
	for _, e := range r.Expectations {
		if !e.OK {
			out = append(out, e)
		}
	}
	return out
}

// All executes every run of the file: those of the sequence in order on one machine, all others on
// a fresh one. It calls done, if not nil, after each run, while the machine is in the state after
// that run. The error is that of ctx, or of a run that could not be prepared.
func (r *Runner) All(ctx context.Context, done func(*Result)) ([]*Result, error) {
	return r.Units(ctx, r.file.Units(nil), done)
}

// Units executes some units of the file, like [Runner.All].
func (r *Runner) Units(ctx context.Context, units []Unit, done func(*Result)) ([]*Result, error) {
	var out []*Result
	for _, u := range units {
		r.Reset()
		for _, s := range u.steps {
			if err := ctx.Err(); err != nil {
				return out, err
			}
			res, err := r.One(ctx, s.run)
			if err != nil {
				return out, err
			}
			if !s.wanted {
				continue
			}
			out = append(out, res)
			if done != nil {
				done(res)
			}
		}
	}
	return out, nil
}

// Unit is what shares one machine from its initial state: a single run, or the sequence.
type Unit struct{ steps []step }

type step struct {
	run    *Run
	wanted bool // otherwise it runs only because later ones need it
}

// Runs returns the selected runs of the unit.
func (u Unit) Runs() []*Run {
	var out []*Run
	for _, s := range u.steps {
		if s.wanted {
			out = append(out, s.run)
		}
	}
	return out
}

// Units returns the units of a file in order, with the sequence at the position of its first run.
// pick selects runs; nil selects all. Runs of the sequence before a selected one are part of the
// unit, those after the last selected one are not.
func (f *File) Units(pick func(*Run) bool) []Unit {
	in := map[*Run]bool{}
	for _, run := range f.Sequence {
		in[run] = true
	}
	var out []Unit
	placed := false
	for _, run := range f.Runs {
		switch {
		case in[run] && !placed:
			placed = true
			if u := unitOf(f.Sequence, pick); len(u.steps) > 0 {
				out = append(out, u)
			}
		case !in[run] && (pick == nil || pick(run)):
			out = append(out, Unit{[]step{{run, true}}})
		}
	}
	return out
}

func unitOf(runs []*Run, pick func(*Run) bool) Unit {
	var u Unit
	last := 0
	for _, run := range runs {
		wanted := pick == nil || pick(run)
		u.steps = append(u.steps, step{run, wanted})
		if wanted {
			last = len(u.steps)
		}
	}
	u.steps = u.steps[:last]
	return u
}

// Reset restores the machine to the state before the first run.
func (r *Runner) Reset() {
	r.m.Restore(r.base)
	r.inv.reset()
}

// One executes one run on the machine in its current state.
func (r *Runner) One(ctx context.Context, run *Run) (*Result, error) {
	start := time.Now()
	p := r.input[run]
	res := &Result{Run: run}
	var other *NotMeantError
	if errors.As(p.cannot, &other) {
		res.Result, res.Skipped, res.Err = &machine.Result{Program: run.Prog, Status: machine.StatusDisabled}, true, p.cannot
		return res, nil
	}
	r.inv.begin()
	var events []machine.Event
	var trace []string
	var late *machine.Fault // of a callback while time advanced
	collect := func(m *machine.Result) {
		events, trace = append(events, m.Events...), append(trace, m.Trace...)
	}
	settle := func(d time.Duration) error {
		m, err := r.m.Settle(ctx, d)
		if err != nil {
			return err
		}
		collect(m)
		if late == nil {
			late = m.Fault
		}
		return nil
	}
	if run.After > 0 {
		if err := settle(run.After); err != nil {
			return nil, err
		}
	}
	if run.Race != nil {
		return res, r.raced(ctx, run, res, start)
	}
	faults, err := r.cut(ctx, run, p, res)
	if err != nil {
		return nil, err
	}
	for i := range run.Repeat {
		var err error
		once := *p
		if i == run.Repeat-1 {
			once.in.Settle = run.Settle // callbacks that fall due belong to the run
		}
		switch {
		case run.Simulated != nil:
			err = r.simulate(ctx, run, res)
		case run.PcapNode != nil:
			res.Result, res.Verdicts, err = r.replay(ctx, run, p)
		case run.Chain != nil:
			res.Result, res.Chain, err = r.runChain(ctx, run, p)
		case run.Functions != nil:
			res.Result, res.Functions, err = r.runFunctions(ctx, run)
		default:
			res.Result, err = r.execute(ctx, run, &once)
		}
		if err != nil {
			return nil, err
		}
		collect(res.Result)
		if res.Fault != nil || !res.Ran {
			break
		}
	}
	if run.Settle > 0 && (run.PcapNode != nil || run.Chain != nil || run.Functions != nil || res.Fault != nil || !res.Ran) {
		if err := settle(run.Settle); err != nil {
			return nil, err
		}
	}
	res.Events, res.Trace = events, trace
	for _, traced := range res.Traced {
		if late == nil {
			late = traced.Fault
		}
	}
	if late != nil && res.Fault == nil && res.Ran {
		res.Fault, res.Status = late, machine.StatusFault
	}
	if !res.Ran {
		if res.Err == nil {
			res.Err = r.m.ProgramError(res.Program)
		}
		if res.Err == nil {
			res.Err = p.cannot
		}
		res.Skipped = res.Status == machine.StatusAbsent && run.Expect.Status == nil
	}
	if res.Status == machine.StatusUnknownHook {
		res.Err = r.m.ProgramError(res.Program)
	}
	res.Validation = r.m.Validate(res.Result)
	j := &judge{r: r, run: run, res: res.Result, validation: &res.Validation, verdicts: res.Verdicts, chained: res.Chain, each: res.Functions, simulated: res.Simulation, why: res.Err}
	if !res.Skipped {
		if err := j.all(); err != nil {
			return nil, err
		}
		if run.TruncateNode != nil && res.Ran {
			if err := j.truncated(faults, res.Truncated); err != nil {
				return nil, err
			}
		}
	}
	res.Expectations, res.Took = j.Found, time.Since(start)
	return res, nil
}

// slice is the number of instructions between two checks of the context.
const slice = 4 << 20

// execute executes the program once.
func (r *Runner) execute(ctx context.Context, run *Run, p *prepared) (*machine.Result, error) {
	if len(p.fields) == 0 {
		res, err := r.m.Run(ctx, run.Prog, p.in)
		if err != nil {
			return nil, run.failed(err)
		}
		return res, nil
	}
	s, res, err := r.m.Begin(run.Prog, p.in)
	if s == nil {
		if err != nil {
			err = run.failed(err)
		}
		return res, err
	}
	defer s.Leave()
	if err := p.setFields(run, s); err != nil {
		return nil, err
	}
	if p.in.Trace != nil {
		if err := s.Execute(ctx, p.in.Trace); err != nil {
			return nil, err
		}
		return s.Finish(), nil
	}
	for s.Run(slice) == vm.Budget {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return s.Finish(), nil
}

// setFields sets the fields of the context that the run gives.
func (p *prepared) setFields(run *Run, s *machine.Session) error {
	for name, v := range p.fields {
		if !s.Context().SetField(name, v) {
			return &grammar.Error{Pos: run.Pos, Text: "args: field " + name + " of the context cannot be set"}
		}
	}
	return nil
}

func (run *Run) failed(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var value *object.ValueError
	if errors.As(err, &value) {
		return run.wrapArg(err)
	}
	return &grammar.Error{Pos: run.Pos, Text: err.Error(), Err: err}
}
