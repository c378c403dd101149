package loader

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// typeHint suggests how to name the type of a program whose section does not imply one: types whose
// context the function accepts, and that may call what the program calls.
func (l *loading) typeHint(lp *LinkedProgram) string {
	fit := l.fittingTypes(lp)
	if len(fit) == 0 {
		fit = sectionTypes(lp.Program.Section)
	}
	if len(fit) == 0 {
		return fmt.Sprintf("set the program's type: --type %s=TYPE", lp.Name)
	}
	hint := fmt.Sprintf("set the program's type, for example --type %s=%s", lp.Name, fit[0])
	if others := fit[1:min(len(fit), 4)]; len(others) > 0 {
		hint += " (or " + strings.Join(others, ", ") + ")"
	}
	return hint
}

// sectionTypes lists the type that a part of a section name means on its own: "cgroup/sockops",
// where only the loader knows the type, is most likely a sockops program.
func sectionTypes(section string) []string {
	parts := strings.Split(section, "/")
	for i := len(parts) - 1; i >= 0; i-- {
		p := &Program{Section: parts[i]}
		if new(Object).classify(p, nil); p.Known {
			return []string{p.Type.String()}
		}
	}
	return nil
}

// fittingTypes lists the program types that fit a program, the most common type for its context
// first.
func (l *loading) fittingTypes(lp *LinkedProgram) []string {
	context := ContextType(l.o.BTF, lp.FuncType)
	if context == "" {
		return nil
	}
	var fit []string
	unknown := lp.Program
	defer func() { lp.Program = unknown }()
	for _, r := range progtype.All() {
		if r.Context.User != context {
			continue
		}
		p := *unknown
		p.Type, p.Attach, p.Known = r.Type, r.Attach, true
		lp.Program = &p
		if l.checkRules(lp) == nil && !l.misusesContext(lp, r) && !l.returnsUnduly(lp, r) {
			fit = append(fit, r.Type.String())
		}
	}
	return fit
}

// ownInsns returns the instructions of a program without its subprograms.
func ownInsns(insns []decode.Insn) []decode.Insn {
	end := len(insns)
	for pc, in := range insns {
		if to := pc + int(in.Imm) + 1; in.Op() == decode.OpCallLocal && to > 0 {
			end = min(end, to)
		}
	}
	return insns[:end]
}

// misusesContext reports whether the program accesses the context as a type may not: a field that
// the type does not have, or a packet pointer without direct packet access. It scans the
// instructions in order, ignoring branches.
func (l *loading) misusesContext(lp *LinkedProgram, r *progtype.Row) bool {
	release := uapi.ReleaseOf(l.t.Version)
	ctx := map[uint8]bool{1: true} // registers that hold the context
	for _, in := range ownInsns(lp.Insns) {
		op := in.Op()
		info := op.Info()
		base, store := in.Src, info.Has(decode.FlagStore)
		if store {
			base = in.Dst
		}
		if (store || info.Has(decode.FlagLoad)) && !info.Has(decode.FlagPacket) && ctx[base] {
			f, err := r.CheckAccess(release, r.Attach, int(in.Off), int(info.Size), store)
			if err != nil || f != nil && r.Packet == progtype.NoPacket && (f.Name == "data" || f.Name == "data_end") {
				return true
			}
		}
		switch {
		case op == decode.OpMov64Reg:
			ctx[in.Dst] = ctx[in.Src]
		case info.Writes&decode.RegDst != 0:
			ctx[in.Dst] = false
		case info.Has(decode.FlagCall):
			for reg := range uint8(6) {
				ctx[reg] = false
			}
		}
	}
	return false
}

// returnsUnduly reports whether the program returns a constant that a type may not return, on a
// path where nothing else is written to r0.
func (l *loading) returnsUnduly(lp *LinkedProgram, r *progtype.Row) bool {
	rng, bounded := r.ReturnRange(uapi.ReleaseOf(l.t.Version), r.Attach, "", progtype.UnknownReturn)
	insns := ownInsns(lp.Insns)
	for pc, in := range insns {
		if op := in.Op(); bounded && in.Dst == 0 && (op == decode.OpMov64Imm || op == decode.OpMov32Imm) && !rng.Contains(uint64(int64(in.Imm))) && reachesExit(insns, pc) {
			return true
		}
	}
	return false
}

// reachesExit reports whether the value that the instruction at pc writes to r0 can reach an exit.
func reachesExit(insns []decode.Insn, pc int) bool {
	seen := map[int]bool{}
	for todo := decode.Successors(nil, insns, pc); len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at < 0 || at >= len(insns) || seen[at] {
			continue
		}
		seen[at] = true
		info := insns[at].Info()
		switch {
		case info.Has(decode.FlagExit):
			return true
		case info.Has(decode.FlagCall), info.Writes&decode.RegDst != 0 && insns[at].Dst == 0:
			continue
		}
		todo = decode.Successors(todo, insns, at)
	}
	return false
}
