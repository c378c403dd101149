package scenario

import (
	"context"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
)

// RaceCalls are the calls of programs that a simulation makes, for others to meet them.
type RaceCalls struct {
	// Name is that of the run.
	Name string
	// Simulate runs it and tells of the calls. The error is theirs, or says why the simulation did
	// not come to its end.
	Simulate func(ctx context.Context, calls drive.Calls) error
}

// RaceCalls lists the runs of subsystems that tell of what they call. They leave the machine as
// they do: restore its state.
func (r *Runner) RaceCalls() []RaceCalls {
	var out []RaceCalls
	for _, run := range r.file.Runs {
		if run.Simulated == nil || !run.Simulated.Form.Calls {
			continue
		}
		if p := r.input[run]; p == nil || p.cannot != nil {
			continue
		}
		if _, cannot := r.cannotRun(run); cannot {
			continue
		}
		out = append(out, RaceCalls{run.Name, func(ctx context.Context, calls drive.Calls) error {
			s := r.Setting(run)
			s.Calls = calls
			res, err := run.Simulated.Simulate(ctx, s)
			if err != nil {
				return err
			}
			return res.Err
		}})
	}
	return out
}

// NotWrittenError means that a file cannot say how a program runs.
type NotWrittenError struct{ Program, What string }

// Error names what it has.
func (e *NotWrittenError) Error() string {
	return fmt.Sprintf("%s has %s, which a file does not say", e.Program, e.What)
}

// WriteInput writes a program with an input of a simulation as an actor of a race. A task that is no
// object of the file is left out: one of another CPU is made for each race.
func (r *Runner) WriteInput(program string, in machine.Input) (*grammar.Node, error) {
	n := &grammar.Node{Kind: grammar.Mapping}
	n.Put("prog", grammar.Word(program))
	switch {
	case in.Net.Message != nil:
		n.Child("context").Put("message", grammar.HexBytes(in.Net.Message))
	case in.Packet != nil:
		n.Put("packet", grammar.Quote(grammar.HexDigits(in.Packet)))
	}
	if o := in.Net.Socket; o != nil {
		name := r.nameOf(o)
		if name == "" {
			return nil, &NotWrittenError{program, "a socket that is no object of the file"}
		}
		n.Child("context").Put("sk", grammar.Word("$"+name))
	}
	if len(in.Net.Frags) > 0 {
		frags := &grammar.Node{Kind: grammar.Sequence}
		for _, b := range in.Net.Frags {
			frags.Items = append(frags.Items, grammar.Quote(grammar.HexDigits(b)))
		}
		n.Child("context").Put("frags", frags)
	}
	if name := r.nameOf(in.Current); name != "" {
		n.Put("current", grammar.Word("$"+name))
	}
	return n, nil
}

// nameOf returns the name of an object of the file, "" for others.
func (r *Runner) nameOf(o *object.Object) string {
	for _, name := range r.b.names {
		if o != nil && r.b.objects[name] == o {
			return name
		}
	}
	return ""
}
