// Package generate generates random valid BPF programs to compare implementations of the
// instruction set.
//
// Programs run in the environment of kernel vectors: an array map with one value of 256 bytes. A
// program loads r0 to r8 and an image of its stack from the value, computes, and stores registers
// and stack back, so that all 64 bits of every result and all memory are visible. The kernel's
// verifier accepts the programs: pointers are bounded, loops are counted, registers that a call
// clobbers are set again, and no result depends on an address.
//
// Half of the programs test one instruction (kind "form") or one sequence of instructions that
// interpreters fuse ("sequence"), with many equal operands and boundary values. The other half
// ("random") mixes everything: arithmetic, sequences, loads and stores at constant and computed
// addresses, the stack, atomics, branches, loops, may_goto, calls, callbacks, packet loads. Two
// more kinds are generated on demand: loops that walk over memory with moving pointers and indices,
// as native compilers optimise them ("walk"), and such loops in recursive functions, which no
// kernel accepts ("recursion").
//
// Configuration, seed and index determine a program. The package does not know how programs are
// run. Start at [New] and [Generator.Case].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package generate

import (
	"fmt"
	"math/rand/v2"

	"github.com/bpfrun/bpfrun/decode"
)

// ValueSize is the size of the map value, in bytes.
const ValueSize = 256

// Offsets in the map value.
const (
	valueRegs    = 0   // initial and final r0 to r8
	valueMark    = 72  // marks the code that was reached
	valueStack   = 80  // image of the 64 bytes below r10
	valueScratch = 144 // memory under test
	scratchSize  = ValueSize - valueScratch
	stackImage   = 64
)

// Config selects what programs contain.
type Config struct {
	// Kernel restricts programs to what BPF_PROG_LOAD accepts without BTF: no callbacks and no
	// arenas.
	Kernel bool
	// Version is the kernel that the programs must run on; instructions that it lacks are not used.
	// 0 means the newest.
	Version decode.Version
	// Runs is the number of inputs for each program; 0 means 4.
	Runs int
	// Only selects one kind of programs. Empty means Form, Sequence and Random.
	Only string
	// Small selects shorter mixed programs, and inputs that compress well.
	Small bool
}

// Kinds of programs.
const (
	Form     = "form"     // one instruction
	Sequence = "sequence" // one sequence that interpreters fuse
	Random   = "random"   // everything mixed
	Walk     = "walk"     // loops that walk over memory; only on demand (Config.Only)

	// Recursion is the kind of programs with such loops in recursive functions, only on demand
	// (Config.Only). No kernel accepts them, and many end in a fault.
	Recursion = "recursion"
)

// Case is a generated program with its inputs.
type Case struct {
	Seed, Index uint64
	Cat         string // kind of the program
	Form        string // name of the instruction or sequence under test
	Insns       []decode.Insn
	Packet      []byte // nil for programs without packet loads
	Inputs      [][ValueSize]byte

	only string // Config.Only of the generator
}

// Name returns a name that contains seed and index, which identify the program for a given
// configuration.
func (c *Case) Name() string {
	if c.only != "" {
		return fmt.Sprintf("g%d-%s-%d", c.Seed, c.only, c.Index)
	}
	return fmt.Sprintf("g%d-%d", c.Seed, c.Index)
}

// Generator generates programs. It is immutable and safe for concurrent use.
type Generator struct {
	seed  uint64
	cfg   Config
	forms []decode.Op
	alu   []decode.Op // all arithmetic on scalars
	jumps []decode.Op // all conditional jumps
}

// New creates a generator.
func New(seed uint64, cfg Config) *Generator {
	if cfg.Runs == 0 {
		cfg.Runs = 4
	}
	g := &Generator{seed: seed, cfg: cfg}
	for op := decode.OpInvalid + 1; op < decode.NumOps; op++ {
		if !g.has(op) {
			continue
		}
		g.forms = append(g.forms, op)
		switch op.Info().Form {
		case decode.FormALUImm, decode.FormALUReg, decode.FormNeg, decode.FormMovSX, decode.FormEnd:
			g.alu = append(g.alu, op)
		case decode.FormJumpImm, decode.FormJumpReg:
			g.jumps = append(g.jumps, op)
		}
	}
	return g
}

// Forms returns the instructions that the generator covers.
func (g *Generator) Forms() []decode.Op { return append([]decode.Op(nil), g.forms...) }

// Missing returns the reason why an instruction is never generated, or "" if it is generated.
func (g *Generator) Missing(op decode.Op) string {
	switch op {
	case decode.OpLdBTFID:
		return "the address of a kernel variable is different in every kernel"
	case decode.OpCallKfunc:
		return "kernel functions need BTF and differ by kernel"
	case decode.OpCallX:
		return "no kernel accepts it"
	case decode.OpGotoX:
		return "needs a second map, of jump targets"
	case decode.OpLdFunc:
		if g.cfg.Kernel {
			return "function pointers need BTF of the functions"
		}
	case decode.OpAddrSpaceCast:
		if g.cfg.Kernel {
			return "needs a second map, the arena"
		}
	}
	if g.cfg.Version != 0 && op.Info().Since > g.cfg.Version {
		return "the kernel is too old"
	}
	return ""
}

func (g *Generator) has(op decode.Op) bool { return g.Missing(op) == "" }

// kind returns the kind of a program and its number among the programs of that kind.
func (g *Generator) kind(index uint64) (string, uint64) {
	switch {
	case g.cfg.Only != "":
		return g.cfg.Only, index
	case index%2 == 1:
		return Random, index / 2
	case index%6 == 4:
		return Sequence, index / 6
	}
	// Indices 0 and 2 of every 6.
	return Form, index/6*2 + index%6/2
}

// Case generates the program with the given index.
func (g *Generator) Case(index uint64) *Case {
	p := &program{
		gen: g, rng: rand.New(rand.NewPCG(g.seed, index)),
		cs: &Case{Seed: g.seed, Index: index, only: g.cfg.Only}, current: -1,
	}
	p.pool()
	kind, n := g.kind(index)
	p.cs.Cat = kind
	switch kind {
	case Form:
		op := g.forms[n%uint64(len(g.forms))]
		p.cs.Form = op.String()
		p.form(op)
	case Sequence:
		all := sequences()
		seq := all[n%uint64(len(all))]
		p.cs.Form = sequenceName(seq)
		p.sequenceForm(seq)
	case Walk:
		p.walks()
	case Recursion:
		p.recursions()
	default:
		p.mixed()
	}
	p.cs.Insns = p.insns
	for range g.cfg.Runs {
		p.cs.Inputs = append(p.cs.Inputs, p.input())
	}
	return p.cs
}
