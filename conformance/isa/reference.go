package isa

import (
	"fmt"

	"github.com/bpfrun/bpfrun/conformance/isa/reference"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/vm"
)

// Runner runs programs in the environment of kernel vectors. Implementations are [Interpreter],
// [Reference] and the running kernel.
type Runner interface {
	Name() string
	// Load sets the program that Run runs.
	Load(p *Program) error
	// Run runs the loaded program with in as the value of the map.
	Run(in *Value) Outcome
}

// Addresses of the arena, for address casts; programs cannot access it.
const (
	arenaKernel = 0xffffc90000000000
	arenaUser   = 0x00007f4200000000
)

// Layout contains the addresses that an Interpreter assigned to the memory that programs can point
// to.
type Layout struct {
	Map, Value, Context uint64
	ContextSize         uint64
	Stacks              [vm.MaxFrames]uint64
	Text                uint64
	Big                 bool // a big-endian machine
}

// recursion is a function that calls itself.
var recursion = []decode.Insn{decode.OpCallLocal.Encode(0, 0, 0, -1), decode.OpExit.Encode(0, 0, 0, 0)}

// Layout returns the addresses that programs see.
func (it *Interpreter) Layout() (Layout, error) {
	l := Layout{Map: it.handle.Base, Value: it.value.Base, Context: it.ctx.Base, ContextSize: it.ctx.Size, Big: it.Mode.Big}
	img, err := vm.Lower(vm.LowerConfig{Name: "recursion", Insns: recursion})
	if err != nil {
		return l, err
	}
	l.Text = img.FuncAddr(0)
	// The stack of a frame is allocated on first use, so use all frames.
	it.thread.Start(img)
	it.thread.Run(it.Limit)
	frames := it.thread.Frames()
	if len(frames) != vm.MaxFrames {
		return l, fmt.Errorf("isa: %d frames after endless recursion: %w", len(frames), it.thread.Fault())
	}
	it.stacks = it.stacks[:0]
	for i, f := range frames {
		it.stacks = append(it.stacks, f.Stack)
		l.Stacks[len(frames)-1-i] = f.Stack.Base
	}
	return l, nil
}

// Reference runs programs on the reference evaluator.
type Reference struct {
	m     reference.Machine
	value Value
}

// NewReference creates a reference evaluator with the addresses of l, so that programs that read
// addresses have the same results on both.
func NewReference(l Layout) *Reference {
	r := &Reference{}
	r.m = reference.Machine{
		Big: l.Big, MapAddr: l.Map, TextBase: l.Text, NetworkHeader: NetworkHeader,
		Value:       reference.Segment{Addr: l.Value, Bytes: r.value[:]},
		Context:     reference.Segment{Addr: l.Context, Bytes: make([]byte, l.ContextSize)},
		Stacks:      l.Stacks,
		ArenaKernel: arenaKernel, ArenaUser: arenaUser,
		Limit: DefaultLimit,
	}
	return r
}

// Name returns "reference".
func (r *Reference) Name() string { return "reference" }

// Load sets the program that Run runs.
func (r *Reference) Load(p *Program) error {
	r.m.Insns, r.m.Packet = p.Insns, p.packet()
	return nil
}

// Run runs the loaded program with in as the value of the map.
func (r *Reference) Run(in *Value) Outcome {
	r.value = *in
	clear(r.m.Context.Bytes)
	ret, f := r.m.Run()
	o := Outcome{Ret: ret, Value: r.value}
	if f != nil {
		o.Ret, o.Fault, o.PC, o.Text = 0, f.Kind, f.PC, f.Text
	}
	return o
}

// SetLimit sets the maximum number of instructions of a run.
func (r *Reference) SetLimit(n uint64) { r.m.Limit = n }

// SetTrace makes the evaluator call f before each instruction, with all registers; nil turns
// tracing off.
func (r *Reference) SetTrace(f func(pc int, regs *[11]uint64)) { r.m.Trace = f }

// Insns returns the number of instructions that the last run executed.
func (r *Reference) Insns() uint64 { return r.m.Executed() }
