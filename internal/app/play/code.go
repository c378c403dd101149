package play

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/loader"
)

// Limits of what is shown of code.
const (
	maxNative = 20_000   // slots of a program with native code
	maxTyped  = 64 << 10 // bytes of assembly text
)

// Code is the answer to code.
type Code struct {
	*report.DisasmDocument
	// Executed lists the instructions that each program's run executed, by slot; programs that did
	// not run are missing.
	Executed map[string][]int `json:"executed"`
	// Dead lists those that nothing can reach on the kernel.
	Dead map[string][]int `json:"dead"`
	// Branches are the conditional jumps that ran, with the sides that were taken.
	Branches map[string][]Branch `json:"branches"`
}

// Branch is a conditional jump that ran.
type Branch struct {
	PC    int  `json:"pc"`
	Taken bool `json:"taken"` // it jumped
	Fell  bool `json:"fell"`  // it did not
}

func (p *Player) code(ctx context.Context, m *Message) (any, error) {
	o, l, k, err := p.linked(m, loader.LoadOptions{Optional: true})
	if err != nil {
		return nil, err
	}
	opt, err := p.options(o, m)
	if err != nil {
		return nil, err
	}
	c := Code{DisasmDocument: report.NewLinkedDisasmDocument(l, k.Source, nil), Executed: map[string][]int{}, Dead: map[string][]int{}, Branches: map[string][]Branch{}}
	opt.Machine.Ways = true
	opt.Ran = func(mm *machine.Machine, program string) { c.add(mm, program) }
	_, err = pass.Run(ctx, l, k.Source, opt)
	return c, err
}

// add adds what a machine has executed of a program so far.
func (c *Code) add(m *machine.Machine, program string) {
	ran, dead, branches := []int{}, []int{}, []Branch{}
	for pc, insn := range m.Covered(program) {
		switch {
		case insn.Executed:
			ran = append(ran, pc)
		case !insn.Reachable:
			dead = append(dead, pc)
		}
		if insn.Taken || insn.Fell {
			branches = append(branches, Branch{pc, insn.Taken, insn.Fell})
		}
	}
	c.Dead[program] = dead
	if len(ran) > 0 {
		c.Executed[program], c.Branches[program] = ran, branches
	}
}

// native compiles a program for a processor, which need not be that of this machine: nothing of it
// is executed.
func (p *Player) native(_ context.Context, m *Message) (any, error) {
	if !slices.Contains(jit.Processors(), m.Processor) {
		return nil, &UnknownError{What: "processor", Name: m.Processor, Hint: "there is native code for " + strings.Join(jit.Processors(), " and ")}
	}
	o, l, _, err := p.linked(m, loader.LoadOptions{Optional: true})
	if err != nil {
		return nil, err
	}
	lp, ok := l.Program(m.Program)
	switch {
	case !ok:
		return nil, unknownProgram(m)
	case len(lp.Insns) > maxNative:
		return nil, &LimitError{What: "instructions of a program with native code", Got: len(lp.Insns), Most: maxNative}
	case report.ByteOrderName(l.Object.ByteOrder) == "big":
		return nil, errors.New("there is no native code for big-endian programs: the interpreter runs them")
	}
	cfg := p.machine(o)
	cfg.Engine = machine.EngineInterpreter
	mm, err := machine.New(l, cfg)
	if err != nil {
		mm = nil // the program is compiled without addresses
	} else {
		defer mm.Close()
	}
	return report.NewNativeDocument(m.Processor, mm, lp)
}

func unknownProgram(m *Message) error {
	return &UnknownError{What: "program", Name: m.Program, Hint: "choose one of the object's"}
}

// Assembled is the answer to assemble: an object file.
type Assembled struct {
	Data []byte `json:"data"`
}

func (p *Player) assemble(_ context.Context, m *Message) (any, error) {
	if err := checkName(m.Name); err != nil {
		return nil, err
	}
	if len(m.Text) > maxTyped {
		return nil, &LimitError{What: "bytes of assembly text", Got: len(m.Text), Most: maxTyped}
	}
	t, _, err := p.target(m.Kernel)
	if err != nil {
		return nil, err
	}
	data, err := assembly.Object(m.Name, m.Text, t.BTF)
	return Assembled{data}, err
}

// Layout is the answer to layout.
type Layout struct {
	*report.BTFLayoutDocument
	// Own means that the first column is the object's own type, and Why why not.
	Own bool   `json:"own"`
	Why string `json:"why,omitempty"`
	// Without are the kernels that do not have the type.
	Without []string `json:"without"`
}

func (p *Player) layout(_ context.Context, m *Message) (any, error) {
	chosen, err := p.chosen(m)
	if err != nil {
		return nil, err
	}
	if err := checkName(m.Type); err != nil {
		return nil, err
	}
	var on []report.BTFOn
	out := Layout{Without: []string{}}
	var last error
	add := func(name string, s *btf.Spec) error {
		ids, field, err := s.Lookup(m.Type)
		switch {
		case err == nil && field != "":
			return fmt.Errorf("%s is a field: want the name of a struct or union", m.Type)
		case err != nil || len(ids) == 0:
			last = err
			out.Without = append(out.Without, name)
			return nil
		}
		on = append(on, report.BTFOn{Kernel: name, Spec: s, ID: ids[0]})
		return nil
	}
	for _, k := range chosen {
		t, _, err := p.target(k.Name)
		if err != nil {
			return nil, err
		}
		if err := add(k.Name, t.BTF); err != nil {
			return nil, err
		}
	}
	if len(on) == 0 {
		if last == nil {
			last = &UnknownError{What: "type", Name: m.Type, Hint: "no chosen kernel has it"}
		}
		return nil, last
	}
	if m.Object != "" {
		if on, err = p.own(m, on, &out); err != nil {
			return nil, err
		}
	}
	out.BTFLayoutDocument, _, err = report.NewBTFLayoutDocument(m.Type, on...)
	return out, err
}

// own puts the object's own type, which the compiler knew, before those of kernels.
func (p *Player) own(m *Message, on []report.BTFOn, out *Layout) ([]report.BTFOn, error) {
	o, err := p.object(m.Object)
	if err != nil {
		return nil, err
	}
	if o.BTF == nil {
		out.Why = "the object has no types"
		return on, nil
	}
	ids, field, err := o.BTF.Lookup(m.Type)
	if err != nil || field != "" {
		out.Why = "the object does not define " + m.Type
		return on, nil
	}
	out.Own = true
	return append([]report.BTFOn{{Kernel: o.Name, Spec: o.BTF, ID: ids[0]}}, on...), nil
}
