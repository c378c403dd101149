package scenario

import (
	"context"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// Staged is the input for a run.
type Staged struct {
	Prog  string
	Input machine.Input
	// Fields are set in the context before the first instruction, for contexts of the user ABI.
	Fields map[string]uint64
	// Others are programs that begin on other CPUs, in a run of several; Turns are the order in
	// which they execute.
	Others []Staged
	Turns  []StagedTurn
}

// StagedTurn is how many instructions the run on a CPU executes before another one does.
type StagedTurn struct {
	CPU   int
	Insns uint64
}

// File returns the runner's file.
func (r *Runner) File() *File { return r.file }

// Stage brings the machine to the start of a run, for a caller that executes the run itself: it
// executes the preceding runs of a sequence and advances time as the run requires. It returns an
// error if the run is impossible on this target.
func (r *Runner) Stage(ctx context.Context, run *Run) (*Staged, error) {
	r.m.Observe(nil) // what the caller executes is judged by nobody
	r.Reset()
	units := r.file.Units(func(x *Run) bool { return x == run })
	if len(units) == 0 {
		return nil, fmt.Errorf("%s: the file has no such run", run.Name)
	}
	if run.Chain != nil {
		return nil, &grammar.Error{Pos: run.ChainNode.Pos, Text: "a chain cannot be stepped through: choose one of its programs, which then gets the context as it is before the first (" + strings.Join(run.Chain, ", ") + ")"}
	}
	if run.Functions != nil {
		return nil, &grammar.Error{Pos: run.Functions.Node.Pos, Text: "a run of several functions cannot be stepped through: choose one with function: NAME"}
	}
	if run.Race != nil {
		return r.stageRace(ctx, run)
	}
	for _, s := range units[0].steps {
		if s.run == run {
			break
		}
		if _, err := r.One(ctx, s.run); err != nil {
			return nil, err
		}
	}
	p := r.input[run]
	if p.cannot != nil {
		return nil, &grammar.Error{Pos: run.Pos, Text: p.cannot.Error(), Err: p.cannot}
	}
	if run.After > 0 {
		if _, err := r.m.Settle(ctx, run.After); err != nil {
			return nil, err
		}
	}
	in := p.in
	in.Settle = run.Settle
	return &Staged{Prog: run.Prog, Input: in, Fields: p.fields}, nil
}
