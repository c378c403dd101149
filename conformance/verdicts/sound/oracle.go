package sound

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// maxSteps is the number of instructions of a run that are compared.
const maxSteps = 4096

// Compared counts what [Follow] compared.
type Compared struct {
	Runs, Steps, Registers int
	// Stopped are runs of which only the beginning was compared.
	Stopped int
}

// Follow runs a program like [RunLinked], and compares the registers of each run, instruction by
// instruction, with what the verifier of the target's release knows of them there. The run is the interpreter's;
// RunLinked with the same seed compares both engines for the same inputs.
func Follow(ctx context.Context, linked *loader.Linked, program, title string, seed uint64, inputs int, sum *Compared) error {
	lp, ok := linked.Program(program)
	if !ok {
		return fmt.Errorf("no program %s", program)
	}
	p, err := verifier.FromLinked(linked, lp)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range inputs {
		path := &path{program: lp}
		if err := runOnce(ctx, linked, program, title, rng, i, path); err != nil {
			return err
		}
		if len(path.steps) == 0 {
			continue
		}
		f, err := verifier.Follow(ctx, verifier.KernelOf(linked.Target), p, path.steps)
		if err != nil {
			return err
		}
		sum.Runs, sum.Steps, sum.Registers = sum.Runs+1, sum.Steps+f.Steps, sum.Registers+f.Registers
		if f.Stopped != "" {
			sum.Stopped++
		}
		if f.Violation != nil {
			return &Contradiction{title, i, f.Violation.Error()}
		}
	}
	return nil
}

// FollowGenerated is [Follow] for a generated program.
func FollowGenerated(ctx context.Context, l *verdicts.Line, target *loader.Target, seed uint64, inputs int, sum *Compared) error {
	obj, err := Object(l)
	if err != nil {
		return err
	}
	linked, err := obj.Load(target, loader.LoadOptions{})
	if err != nil {
		return err
	}
	return Follow(ctx, linked, "main", l.Program, seed, inputs, sum)
}

// path records a run.
type path struct {
	program *loader.LinkedProgram
	steps   []verifier.RunStep
	ended   bool
}

// Step implements [machine.Tracer].
func (p *path) Step(in *loader.LinkedProgram, pc, depth int, before, _ *[11]uint64) {
	if p.ended = p.ended || in != p.program || len(p.steps) == maxSteps; !p.ended {
		p.steps = append(p.steps, verifier.RunStep{Insn: pc, Depth: depth, Regs: *before})
	}
}
