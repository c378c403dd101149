package play

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/matrix"
	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
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

// options returns how the programs of a message run.
func (p *Player) options(o *object, m *Message) (pass.Options, error) {
	opt := pass.Options{Machine: p.machine(o), Unverified: m.Unverified}
	text := strings.TrimSpace(m.Packet)
	if text == "" {
		return opt, nil
	}
	var err error
	if opt.Input.Packet, err = packetOf(text); err != nil {
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
	cfg := p.machine(o)
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
