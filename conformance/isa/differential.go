package isa

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bpfrun/bpfrun/conformance/isa/generate"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/jit"
)

// DifferentialConfig configures [Differential].
type DifferentialConfig struct {
	Seed, First, Count uint64 // Count programs of the generator with that seed, from index First
	Generate           generate.Config
	Workers            int // number of goroutines; 0 means one per CPU
	// Modes lists the modes to run every program in. If it is nil, each program runs in one of
	// NativeModes.
	Modes []Mode
	// Mutate changes fields of instructions. Most mutants do what no verifier accepts, and must
	// fault at the same instruction on all runners.
	Mutate bool
	// Other creates a third runner for each worker, such as the running kernel; it may refuse
	// programs. Nil means none.
	Other func() (OtherRunner, error)
	// Progress is called periodically with the number of finished programs.
	Progress func(done uint64)
	// MaxReports limits the number of disagreements that are described; 0 means 10. All
	// disagreements are counted.
	MaxReports int
}

// OtherRunner is a Runner that holds resources.
type OtherRunner interface {
	Runner
	io.Closer
}

// Rejected is the error of a runner that refuses a program. It is not a disagreement.
type Rejected struct{ Why string }

// Error returns the reason.
func (e *Rejected) Error() string { return "rejected: " + e.Why }

// Disagreement describes a program whose outcomes differ between runners.
type Disagreement struct {
	Index uint64
	Form  string
	Text  string // the runners, their differences, and the program
}

// DifferentialReport is the result of [Differential].
type DifferentialReport struct {
	Programs, Runs uint64
	Insns          uint64 // executed by the reference
	Rejected       uint64 // programs that the third runner refused
	Disagreeing    uint64 // programs with different outcomes
	Disagreements  []Disagreement
	// Reasons counts the third runner's refusals by reason.
	Reasons map[string]uint64
}

// Summary returns the figures in one line.
func (r *DifferentialReport) Summary() string {
	s := fmt.Sprintf("%d programs, %d runs, %d instructions, %d disagreements", r.Programs, r.Runs, r.Insns, r.Disagreeing)
	if r.Rejected > 0 {
		s += fmt.Sprintf("; %d programs refused", r.Rejected)
	}
	return s
}

// turns lists the indices in NativeModes that programs are distributed over; most are default
// modes.
var turns = [16]int{0, 5, 0, 8, 0, 6, 1, 8, 0, 5, 2, 9, 3, 7, 4, 10}

// modeOf returns the index of the mode to run a program in. It does not correlate with the kinds of
// programs that the generator makes.
func modeOf(index uint64) int {
	if m := turns[index*0x9e3779b97f4a7c15>>60]; m < len(Modes) || jit.Supported() {
		return m
	}
	return 0
}

// Differential runs generated programs on the engines of package vm, on the reference evaluator and
// on the third runner, if any, and compares the outcomes. It returns an error if programs cannot be
// run or if ctx is done; the report then covers the finished programs.
func Differential(ctx context.Context, cfg DifferentialConfig) (*DifferentialReport, error) {
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.MaxReports == 0 {
		cfg.MaxReports = 10
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := &differential{cfg: cfg, gen: generate.New(cfg.Seed, cfg.Generate)}
	d.report.Reasons = map[string]uint64{}
	var wg sync.WaitGroup
	for range cfg.Workers {
		wg.Go(func() {
			if err := d.work(ctx); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return &d.report, context.Cause(ctx)
}

type differential struct {
	cfg  DifferentialConfig
	gen  *generate.Generator
	next atomic.Uint64

	mu     sync.Mutex
	report DifferentialReport
}

// generatedLimit is the instruction limit of a run, far above what generated programs execute.
const generatedLimit = 1 << 20

// chunk is the number of programs that a worker claims at a time.
const chunk = 64

func (d *differential) work(ctx context.Context) error {
	v, err := newVoices(d.cfg.Modes, d.cfg.Other)
	if err != nil {
		return err
	}
	defer v.close()
	for ctx.Err() == nil {
		from := d.next.Add(chunk) - chunk
		if from >= d.cfg.Count {
			return nil
		}
		n := min(chunk, d.cfg.Count-from)
		for i := range n {
			if err := d.one(v, d.cfg.First+from+i); err != nil {
				return err
			}
		}
		if d.cfg.Progress != nil {
			d.mu.Lock()
			done := d.report.Programs
			d.mu.Unlock()
			d.cfg.Progress(done)
		}
	}
	return nil
}

// voices holds the runners of one worker.
type voices struct {
	interp    []*Interpreter // by mode
	reference *Reference
	other     OtherRunner
}

func newVoices(modes []Mode, other func() (OtherRunner, error)) (*voices, error) {
	v := &voices{}
	if modes == nil {
		modes = NativeModes()
	}
	var layout Layout
	for i, mode := range modes {
		it, err := NewInterpreter(mode)
		if err != nil {
			v.close()
			return nil, err
		}
		it.Limit = generatedLimit
		v.interp = append(v.interp, it)
		l, err := it.Layout()
		if err == nil && i > 0 && l != layout {
			err = fmt.Errorf("isa: interpreters place memory differently: %+v, %+v", layout, l)
		}
		if err != nil {
			v.close()
			return nil, err
		}
		layout = l
	}
	v.reference = NewReference(layout)
	v.reference.SetLimit(generatedLimit)
	if other != nil {
		var err error
		if v.other, err = other(); err != nil {
			v.close()
			return nil, err
		}
	}
	return v, nil
}

func (v *voices) close() {
	for _, it := range v.interp {
		it.Close()
	}
	if v.other != nil {
		v.other.Close()
	}
}

// one runs and compares one program.
func (d *differential) one(v *voices, index uint64) error {
	c := d.gen.Case(index)
	p := &Program{Name: c.Name(), Insns: c.Insns, Packet: c.Packet}
	on := v.interp
	if d.cfg.Modes == nil {
		on = on[modeOf(index):][:1]
	}
	runs, insns, what := uint64(0), uint64(0), ""
	rejected := ""
	var err error
	if d.cfg.Mutate {
		if mutate(c); !fuzzable(p.Insns) {
			rejected = "the checks at load refuse what mutation made"
			on = nil
		}
	} else {
		err = decode.Check(p.Insns, decode.CheckConfig{Kernel: d.cfg.Generate.Version})
		if c.Cat == generate.Recursion {
			err = anyDepth(err)
		}
	}
	if err != nil {
		what = "the generator made an invalid program: " + err.Error()
	} else if on != nil {
		for _, it := range on {
			if err := it.Load(p); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
		}
		if err := v.reference.Load(p); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		other := v.other
		if other != nil {
			if err := other.Load(p); err != nil {
				r, ok := err.(*Rejected)
				if !ok {
					return fmt.Errorf("%s: %w", p.Name, err)
				}
				rejected, other = r.Why, nil
			}
		}
		for i := range c.Inputs {
			in := Value(c.Inputs[i])
			runs++
			want := v.reference.Run(&in)
			insns += v.reference.Insns()
			if want.Fault != "" && !d.cfg.Mutate && c.Cat != generate.Recursion {
				what = fmt.Sprintf("run %d: the reference says %s", i, want.end())
				break
			}
			if what = compareOn(on, i, &in, &want, v.reference.Insns()); what != "" {
				break
			}
			if other != nil {
				want.Ret = uint64(uint32(want.Ret))
				got := other.Run(&in)
				if what = describe(i, &in, other.Name(), &want, &got); what != "" {
					break
				}
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.report.Programs++
	d.report.Runs += runs
	d.report.Insns += insns
	if rejected != "" {
		d.report.Rejected++
		d.report.Reasons[rejected]++
	}
	if what == "" {
		return nil
	}
	d.report.Disagreeing++
	if len(d.report.Disagreements) < d.cfg.MaxReports {
		d.report.Disagreements = append(d.report.Disagreements, Disagreement{
			Index: index, Form: c.Form,
			Text: fmt.Sprintf("%s (%s %s) %s\n%s", p.Name, c.Cat, c.Form, what, Listing(p.Insns)),
		})
	}
	return nil
}

// compareOn runs a loaded program on interpreters and describes the first difference from want; ""
// means that there is none.
func compareOn(on []*Interpreter, run int, in *Value, want *Outcome, insns uint64) string {
	for _, it := range on {
		got := it.Run(in)
		if what := describe(run, in, it.Name(), want, &got); what != "" {
			return what
		}
		if want.Fault == "" && it.Insns() != insns {
			return fmt.Sprintf("run %d: %d instructions, the interpreter (%s) counts %d", run, insns, it.Name(), it.Insns())
		}
		if want.Fault != "" && it.Insns() != on[0].Insns() {
			return fmt.Sprintf("run %d: at the fault %s counts %d instructions, %s %d", run, on[0].Name(), on[0].Insns(), it.Name(), it.Insns())
		}
	}
	return ""
}

func describe(run int, in *Value, name string, want, got *Outcome) string {
	d := Diff(want, got)
	if d == "" {
		return ""
	}
	return fmt.Sprintf("run %d: %s differs from the reference: %s\ninput %s", run, name, d, in)
}

// Listing returns a disassembly of a program with slot numbers.
func Listing(insns []decode.Insn) string {
	var b strings.Builder
	for pc := 0; pc < len(insns); pc += decode.TextLen(insns, pc) {
		fmt.Fprintf(&b, "%4d: %s\n", pc, decode.Disassemble(insns, pc, nil))
	}
	return b.String()
}
