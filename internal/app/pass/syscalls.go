package pass

import (
	"slices"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// ServeBPF gives an object whose programs load others themselves a bpf(2), whose objects last until
// drop. cfg is the configuration of the object's machine; note receives remarks about what the
// programs load.
func ServeBPF(linked *loader.Linked, m *machine.Machine, cfg machine.Config, note func(text string)) (drop func(), err error) {
	if !CallsBPF(linked) {
		return func() {}, nil
	}
	own := machine.Config{Seed: cfg.Seed, CPUs: cfg.CPUs, Uncovered: true, Unwatched: true}
	sys, err := bpfsys.New(bpfsys.Config{Target: linked.Target, Machine: own, Note: note})
	if err != nil {
		return nil, err
	}
	sys.Serve(m)
	return sys.Close, nil
}

// CallsBPF reports whether a program calls bpf_sys_bpf.
func CallsBPF(linked *loader.Linked) bool {
	return slices.ContainsFunc(linked.Programs, func(p *loader.LinkedProgram) bool {
		return slices.ContainsFunc(p.Insns, func(in decode.Insn) bool {
			return in.Op() == decode.OpCallHelper && in.Imm == int32(uapi.FuncSysBpf)
		})
	})
}
