// Package sound runs what verifiers accept: a program that a kernel's verifier, or package verifier, accepts must not fault in the
// simulated machine, whatever its input. Every contradiction is an error of the verifier or of the machine.
//
// What no verifier checks does not count: the instruction budget, faults that kernels handle themselves.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package sound

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// budget is the instructions a run may execute.
const budget = 1 << 20

// Contradiction is an accepted program that faults, or that the engines run differently.
type Contradiction struct {
	Program string
	Input   int // number of the input
	What    string
}

// Error names the program and what happened.
func (c *Contradiction) Error() string {
	return fmt.Sprintf("%s: input %d: %s", c.Program, c.Input, c.What)
}

// ErrNotRun means that the machine does not simulate something the program needs.
var ErrNotRun = errors.New("not simulated")

// Run runs an accepted generated program with inputs determined by seed, on both engines. The error is a *Contradiction, ErrNotRun,
// or one of setting up.
func Run(ctx context.Context, l *verdicts.Line, target *loader.Target, seed uint64, inputs int) error {
	obj, err := Object(l)
	if err != nil {
		return err
	}
	linked, err := obj.Load(target, loader.LoadOptions{})
	if err != nil {
		return err
	}
	return RunLinked(ctx, linked, "main", l.Program, seed, inputs)
}

// RunLinked does so with a program of an object; title names it in a Contradiction. Elements of maps, packets, random numbers and
// whatever else the machine derives from its seed are other ones for each input.
func RunLinked(ctx context.Context, linked *loader.Linked, program, title string, seed uint64, inputs int) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range inputs {
		if err := runOnce(ctx, linked, program, title, rng, i); err != nil {
			return err
		}
	}
	return nil
}

func runOnce(ctx context.Context, linked *loader.Linked, program, title string, rng *rand.Rand, input int) error {
	different := ""
	m, err := machine.New(linked, machine.Config{
		Seed: rng.Uint64(), MaxInsns: budget, Engine: machine.EngineBoth, OnDifference: func(text string) { different = text },
		Random: []uint64{edge(rng), edge(rng), edge(rng), edge(rng)},
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	defer m.Close()
	if err := fill(m, linked, rng); err != nil {
		return err
	}
	packet := make([]byte, 14+rng.IntN(64))
	for i := range packet {
		packet[i] = byte(edge(rng))
	}
	in := machine.Input{Packet: packet}
	lp, ok := linked.Program(program)
	if !ok {
		return fmt.Errorf("no program %s", program)
	}
	if lp.Type == uapi.ProgTypeSyscall {
		in.Context = make([]byte, syscallContext)
		for i := range in.Context {
			in.Context[i] = byte(edge(rng))
		}
	}
	res, err := m.Run(ctx, program, in)
	switch {
	case err != nil:
		return err
	case !res.Ran:
		return fmt.Errorf("%w: %s: %w", ErrNotRun, res.Status, m.ProgramError(program))
	case different != "":
		return &Contradiction{title, input, "the engines differ: " + different}
	case res.Fault != nil && res.Fault.Kind == vm.NotSimulated:
		return fmt.Errorf("%w: %w", ErrNotRun, res.Fault)
	case res.Fault != nil && !unchecked(lp, res.Fault):
		return &Contradiction{title, input, fmt.Sprintf("instruction %d (%s): %v", res.Fault.Insn, res.Fault.Text, res.Fault.Fault)}
	}
	return nil
}

// syscallContext is the size in bytes of the contexts that syscall programs get: user space has to pass what a program reads.
const syscallContext = 1 << 10

// unchecked reports faults of what no verifier checks: the budget, and what the kernel compares when a program is attached, the
// arguments of a raw tracepoint (bpf_probe_register) and the sizes of the map that an iterator visits (bpf_iter_attach_map).
func unchecked(lp *loader.LinkedProgram, f *machine.Fault) bool {
	if f.Kind == vm.BudgetExceeded || f.Kind == vm.TimedOut {
		return true
	}
	if f.Mem == nil || f.Mem.Kind != mem.OutOfBounds || f.Mem.Region == nil {
		return false
	}
	switch lp.Type {
	case uapi.ProgTypeRawTracepoint, uapi.ProgTypeRawTracepointWritable:
		return f.Mem.Region.Kind == mem.Context
	case uapi.ProgTypeTracing:
		if lp.AttachTo == "bpf_map_elem" || lp.AttachTo == "bpf_sk_storage_map" {
			return f.Mem.Region.Kind == mem.MapValue || f.Mem.Region.Kind == mem.Scratch
		}
	}
	return false
}

// fill gives maps elements: numbers near the edges.
func fill(m *machine.Machine, linked *loader.Linked, rng *rand.Rand) error {
	for _, def := range linked.Maps {
		live, ok := m.Map(def)
		if !ok || def.DataKind != loader.DataNone || def.KeySize == 0 || def.ValueSize == 0 {
			continue
		}
		for k := range min(def.MaxEntries, 4) {
			key := make([]byte, def.KeySize)
			key[0] = byte(k)
			value := make([]byte, def.ValueSize)
			for i := range value {
				value[i] = byte(edge(rng))
			}
			_ = maps.UserUpdate(live, key, value, 0) // some types have no elements to set
		}
	}
	return nil
}

// edge returns a number that checks are often wrong about.
func edge(rng *rand.Rand) uint64 {
	edges := []uint64{0, 1, 7, 8, 31, 32, 47, 48, 63, 64, 127, 128, 255, 1 << 31, 1<<31 - 1, 1<<32 - 1, 1 << 32, 1 << 63, 1<<63 - 1, ^uint64(0)}
	if rng.IntN(2) == 0 {
		return edges[rng.IntN(len(edges))]
	}
	return rng.Uint64() >> rng.IntN(64)
}
