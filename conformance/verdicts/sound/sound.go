// Package sound runs programs that a verifier accepts. A program that a kernel's verifier, or
// package verifier, accepts must not fault in the simulated machine, whatever its input, and no
// register may have a value that the verifier excludes on that path. Every contradiction is a bug
// in the verifier or in the machine.
//
// Faults that no verifier prevents do not count, such as an exceeded instruction budget and faults
// that kernels handle themselves.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package sound

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// budget is the maximum number of instructions per run.
const budget = 1 << 20

// Contradiction describes an accepted program that faults, or whose results differ between the
// engines.
type Contradiction struct {
	Program string
	Input   int // index of the input
	What    string
}

// Error returns the program, the input and what happened.
func (c *Contradiction) Error() string {
	return fmt.Sprintf("%s: input %d: %s", c.Program, c.Input, c.What)
}

// ErrNotRun means that the machine does not simulate something that the program needs.
var ErrNotRun = errors.New("not simulated")

// Run runs an accepted generated program on both engines, with inputs derived from seed. The error
// is a [*Contradiction], wraps [ErrNotRun], or comes from the setup.
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

// RunLinked is like [Run] for a program of an object; title names it in a Contradiction. Each input
// has its own map elements, packet, random numbers and everything else that the machine derives
// from its seed.
func RunLinked(ctx context.Context, linked *loader.Linked, program, title string, seed uint64, inputs int) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range inputs {
		if err := runOnce(ctx, linked, program, title, rng, i, nil); err != nil {
			return err
		}
	}
	return nil
}

// runOnce runs the program on both engines, or, to record its path, on the interpreter.
func runOnce(ctx context.Context, linked *loader.Linked, program, title string, rng *rand.Rand, input int, to *path) error {
	different := ""
	cfg := machine.Config{
		Seed: rng.Uint64(), MaxInsns: budget, Engine: machine.EngineBoth, OnDifference: func(text string) { different = text },
		Random: []uint64{edge(rng), edge(rng), edge(rng), edge(rng)},
	}
	if to != nil {
		cfg.Engine = machine.EngineInterpreter
	}
	m, err := machine.New(linked, cfg)
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
	if to != nil {
		in.Trace = to
	}
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

// syscallContext is the size in bytes of the context passed to syscall programs: user space has to
// pass all the bytes that a program reads.
const syscallContext = 1 << 10

// unchecked reports whether a fault comes from something that no verifier checks: the instruction
// budget, and what the kernel checks only on attach, namely the number of arguments of a raw
// tracepoint (bpf_probe_register) and the sizes of the map that an iterator visits
// (bpf_iter_attach_map).
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

// fill adds elements to maps, with values from edge.
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
			_ = maps.UserUpdate(live, key, value, 0) // user space cannot set the elements of some types
		}
	}
	return nil
}

// edge returns a number for which checks are often wrong.
func edge(rng *rand.Rand) uint64 {
	edges := []uint64{0, 1, 7, 8, 31, 32, 47, 48, 63, 64, 127, 128, 255, 1 << 31, 1<<31 - 1, 1<<32 - 1, 1 << 32, 1 << 63, 1<<63 - 1, ^uint64(0)}
	if rng.IntN(2) == 0 {
		return edges[rng.IntN(len(edges))]
	}
	return rng.Uint64() >> rng.IntN(64)
}
