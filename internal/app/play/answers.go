package play

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/matrix"
	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
)

// KernelList is the answer to kernels.
type KernelList struct {
	Kernels []KernelName `json:"kernels"`
}

// KernelName is a kernel of the list.
type KernelName struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	// Given means that a message gave it.
	Given bool `json:"given"`
}

func (p *Player) listKernels(context.Context, *Message) (any, error) {
	list := KernelList{Kernels: []KernelName{}}
	for _, k := range p.kernels {
		list.Kernels = append(list.Kernels, KernelName{k.Name, k.Source, k.given})
	}
	return list, nil
}

func (p *Player) giveKernel(_ context.Context, m *Message) (any, error) {
	k, err := p.addKernel(m.Name, m.Data)
	if err != nil {
		return nil, err
	}
	t, _, err := p.target(k.Name)
	if err != nil {
		return nil, err
	}
	return report.NewTarget(t, k.Source), nil
}

// Opened is the answer to open.
type Opened struct {
	// Object is the name of the object in other messages.
	Object string               `json:"object"`
	Info   *report.InfoDocument `json:"info"`
	// Packets are the programs that run on a packet.
	Packets []string `json:"packets"`
}

func (p *Player) openObject(_ context.Context, m *Message) (any, error) {
	o, err := p.open(m.Name, m.Data)
	if err != nil {
		return nil, err
	}
	out := Opened{Object: o.id, Info: report.NewInfoDocument(o.Object), Packets: []string{}}
	for _, prog := range o.Programs {
		if progtype.Of(prog.Type).Takes.Has(progtype.TakesPacket) {
			out.Packets = append(out.Packets, prog.Name)
		}
	}
	return out, nil
}

// linked links the object of a message for its kernel.
func (p *Player) linked(m *Message, opts loader.LoadOptions) (*object, *loader.Linked, Kernel, error) {
	o, err := p.object(m.Object)
	if err != nil {
		return nil, nil, Kernel{}, err
	}
	t, k, err := p.target(m.Kernel)
	if err != nil {
		return nil, nil, k, err
	}
	l, err := pass.Link(o.Object, t, opts)
	return o, l, k, err
}

// options returns how the programs of a message run. A message has no files, so a packet cannot be
// read from one.
func (p *Player) options(o *object, m *Message) (pass.Options, error) {
	opt := pass.Options{Machine: p.machine(), Unverified: m.Unverified}
	text := strings.TrimSpace(m.Packet)
	if text == "" {
		return opt, nil
	}
	if strings.Contains(text, "@") {
		return opt, errors.New("packet: want an expression or hex digits; a page cannot read files")
	}
	var err error
	if opt.Input.Packet, err = packet.Load(text, ""); err != nil {
		return opt, fmt.Errorf("packet: %w", err)
	}
	opt.Search.Plain = true
	for _, prog := range o.Programs {
		if !progtype.Of(prog.Type).Takes.Has(progtype.TakesPacket) {
			continue
		}
		if err := machine.CheckPacket(prog, len(opt.Input.Packet)); err != nil {
			return opt, fmt.Errorf("packet: program %s: %w", prog.Name, err)
		}
	}
	return opt, nil
}

func (p *Player) run(ctx context.Context, m *Message) (any, error) {
	o, l, k, err := p.linked(m, loader.LoadOptions{})
	if err != nil {
		return nil, err
	}
	opt, err := p.options(o, m)
	if err != nil {
		return nil, err
	}
	return pass.Run(ctx, l, k.Source, opt)
}

// Code is the answer to code.
type Code struct {
	*report.DisasmDocument
	// Executed lists the instructions that each program's run executed, by slot; programs that did
	// not run are missing.
	Executed map[string][]int `json:"executed"`
	// Dead lists those that nothing can reach on the kernel.
	Dead map[string][]int `json:"dead"`
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
	c := Code{DisasmDocument: report.NewLinkedDisasmDocument(l, k.Source, nil), Executed: map[string][]int{}, Dead: map[string][]int{}}
	opt.Ran = func(mm *machine.Machine, program string) { c.add(mm, program) }
	_, err = pass.Run(ctx, l, k.Source, opt)
	return c, err
}

// add adds what a machine has executed of a program so far.
func (c *Code) add(m *machine.Machine, program string) {
	ran, dead := []int{}, []int{}
	for pc, insn := range m.Covered(program) {
		switch {
		case insn.Executed:
			ran = append(ran, pc)
		case !insn.Reachable:
			dead = append(dead, pc)
		}
	}
	c.Dead[program] = dead
	if len(ran) > 0 {
		c.Executed[program] = ran
	}
}

func (p *Player) verify(ctx context.Context, m *Message) (any, error) {
	o, err := p.object(m.Object)
	if err != nil {
		return nil, err
	}
	t, k, err := p.target(m.Kernel)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, prog := range o.Programs {
		names = append(names, prog.Name)
	}
	return pass.Verify(ctx, o.Object, t, k.Source, names, pass.VerifyOptions{})
}

// chosen returns the kernels of a message, by default all, without repetitions.
func (p *Player) chosen(m *Message) ([]Kernel, error) {
	var out []Kernel
	if len(m.Kernels) == 0 {
		out = slices.Clone(p.kernels)
	}
	for _, name := range m.Kernels {
		k, err := p.kernel(name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, func(o Kernel) bool { return o.Name == k.Name }) {
			out = append(out, k)
		}
	}
	return out, nil
}

// matrixInsns is the instruction limit of one run in a matrix, as that of the command.
const matrixInsns = 10_000_000

func (p *Player) matrix(ctx context.Context, m *Message) (any, error) {
	o, err := p.object(m.Object)
	if err != nil {
		return nil, err
	}
	chosen, err := p.chosen(m)
	if err != nil {
		return nil, err
	}
	kernels := make([]matrix.Kernel, len(chosen))
	for i, k := range chosen {
		kernels[i] = matrix.Kernel{Name: k.Name, Source: k.Source, Open: func() (*loader.Target, error) {
			t, _, err := p.target(k.Name)
			return t, err
		}}
	}
	cfg := p.machine()
	cfg.MaxInsns = matrixInsns
	// One at a time: opening a kernel changes what is kept.
	res, err := matrix.Run(ctx, []*loader.Object{o.Object}, kernels, matrix.Config{Machine: cfg, Options: loader.LoadOptions{Optional: true}, Parallel: 1})
	if err != nil {
		return nil, err
	}
	doc := report.NewMatrixDocument(res)
	doc.Exit = report.MatrixExit(res, false, false)
	return doc, nil
}

// Layout is the answer to layout.
type Layout struct {
	*report.BTFLayoutDocument
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
	for _, k := range chosen {
		t, _, err := p.target(k.Name)
		if err != nil {
			return nil, err
		}
		ids, field, err := t.BTF.Lookup(m.Type)
		switch {
		case err == nil && field != "":
			return nil, fmt.Errorf("%s is a field: want the name of a struct or union", m.Type)
		case err != nil || len(ids) == 0:
			last = err
			out.Without = append(out.Without, k.Name)
			continue
		}
		on = append(on, report.BTFOn{Kernel: k.Name, Spec: t.BTF, ID: ids[0]})
	}
	if len(on) == 0 {
		if last == nil {
			last = &UnknownError{What: "type", Name: m.Type, Hint: "no chosen kernel has it"}
		}
		return nil, last
	}
	out.BTFLayoutDocument, _, err = report.NewBTFLayoutDocument(m.Type, on...)
	return out, err
}
