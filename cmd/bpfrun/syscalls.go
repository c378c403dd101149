package main

import (
	"slices"

	"github.com/bpfrun/bpfrun/bpfsys"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/uapi"
)

// serveBPF gives an object whose programs load others themselves a bpf(2), whose objects last until drop.
func (c *console) serveBPF(linked *loader.Linked, m *machine.Machine, target *loader.Target, cfg machine.Config) (drop func(), err error) {
	if !callsBPF(linked) {
		return func() {}, nil
	}
	own := machine.Config{Seed: cfg.Seed, CPUs: cfg.CPUs, Uncovered: true, Unwatched: true}
	sys, err := bpfsys.New(bpfsys.Config{Target: target, Machine: own, Note: func(text string) { c.note("%s", text) }})
	if err != nil {
		return nil, err
	}
	sys.Serve(m)
	return sys.Close, nil
}

// callsBPF reports whether a program calls bpf_sys_bpf.
func callsBPF(linked *loader.Linked) bool {
	return slices.ContainsFunc(linked.Programs, func(p *loader.LinkedProgram) bool {
		return slices.ContainsFunc(p.Insns, func(in decode.Insn) bool {
			return in.Op() == decode.OpCallHelper && in.Imm == int32(uapi.FuncSysBpf)
		})
	})
}
