// Package generate makes random valid BPF programs for comparing implementations of the instruction set.
//
// A program works on the environment of kernel vectors (FORMATS: one array map with one value of 256 bytes): it loads r0 to r8
// and an image of its stack from the value, computes, and stores registers and stack back, so that a result of all 64 bits and
// all memory is visible. Programs are written so that the kernel's verifier accepts them: pointers are bounded, loops
// are counted, what a call clobbers is set again, and no result depends on an address.
//
// Half of the programs are about one instruction ("form") or one sequence of instructions that interpreters fuse ("sequence"), with
// operands from the boundaries and many equal ones; the others mix everything: arithmetic, sequences, loads and stores through fixed and computed addresses, the
// stack, atomics, branches, loops, may_goto, calls, callbacks, packet loads. A fourth kind, which is made on demand, are loops that walk over
// memory, with pointers and indices that move: what a native compiler optimises. A fifth one has such loops in functions that
// call themselves, which no kernel takes.
//
// A program is determined by seed and index alone. It knows nothing of how programs are run. Start at [New] and Generator.Case.
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
	valueRegs    = 0   // r0 to r8
	valueMark    = 72  // marks what was reached
	valueStack   = 80  // image of the 64 bytes below r10
	valueScratch = 144 // memory under test
	scratchSize  = ValueSize - valueScratch
	stackImage   = 64
)

// Config describes what programs may contain.
type Config struct {
	// Kernel restricts programs to what BPF_PROG_LOAD takes without BTF: no callbacks, no arenas.
	Kernel bool
	// Version is the kernel the programs are for, 0 for the newest: later instructions are left out.
	Version decode.Version
	// Runs is the number of inputs of a program, 0 for 4.
	Runs int
	// Only restricts the programs to one kind. Empty is all kinds.
	Only string
	// Small makes shorter mixed programs and inputs that compress well.
	Small bool
}

// Kinds of programs.
const (
	Form     = "form"     // about one instruction
	Sequence = "sequence" // about a sequence that interpreters fuse
	Random   = "random"   // everything mixed
	Walk     = "walk"     // loops that walk over memory, only where Config.Only asks for them

	// Recursion are functions with such loops that call themselves, only where Config.Only asks for them: no kernel takes such programs,
	// and many end in a fault.
	Recursion = "recursion"
)

// Case is a program with inputs.
type Case struct {
	Seed, Index uint64
	Cat         string // kind of program
	Form        string // name of the instruction or instructions it is about
	Insns       []decode.Insn
	Packet      []byte // nil for programs that load no packet
	Inputs      [][ValueSize]byte

	only string // Config.Only of the generator
}

// Name identifies the program: seed and index in a generator of the same configuration.
func (c *Case) Name() string {
	if c.only != "" {
		return fmt.Sprintf("g%d-%s-%d", c.Seed, c.only, c.Index)
	}
	return fmt.Sprintf("g%d-%d", c.Seed, c.Index)
}

// Generator makes programs. It is immutable and may be used by several goroutines.
type Generator struct {
	seed  uint64
	cfg   Config
	forms []decode.Op
	alu   []decode.Op // arithmetic on scalars, all forms
	jumps []decode.Op // conditional jumps
}

// New makes a generator.
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

// Forms returns the instructions the generator covers.
func (g *Generator) Forms() []decode.Op { return append([]decode.Op(nil), g.forms...) }

// Missing explains why an instruction is never generated, "" for those that are.
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

// kind returns the kind of a program and its number among those of the kind.
func (g *Generator) kind(index uint64) (string, uint64) {
	switch {
	case g.cfg.Only != "":
		return g.cfg.Only, index
	case index%2 == 1:
		return Random, index / 2
	case index%6 == 4:
		return Sequence, index / 6
	}
	// 0 and 2 of every 6.
	return Form, index/6*2 + index%6/2
}

// Case makes the program with that index.
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
		seq := sequences[n%uint64(len(sequences))]
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
