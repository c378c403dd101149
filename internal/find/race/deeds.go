package race

import (
	"slices"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// deeds are what the runs of a program that were made to find inputs did to maps, by name.
type deeds struct {
	reached map[string]bool // it got to where it uses the map
	changed map[string]bool // by calls
	stores  bool            // to memory that is not its stack: of any map that it got to
}

// isDeed reports whether an instruction may change what others see, or sends something.
func isDeed(in decode.Insn) bool {
	if in.Op() == decode.OpCallHelper {
		return changing(uapi.FuncID(in.Imm)) || sending(uapi.FuncID(in.Imm))
	}
	return in.Info().Flags&decode.FlagStore != 0 && in.Dst != 10
}

// changing reports whether a helper changes the elements of the map in r1.
func changing(id uapi.FuncID) bool {
	switch id {
	case uapi.FuncMapUpdateElem, uapi.FuncMapDeleteElem, uapi.FuncMapPushElem, uapi.FuncMapPopElem:
		return true
	}
	return false
}

// sending reports whether a helper sends a record.
func sending(id uapi.FuncID) bool {
	switch id {
	case uapi.FuncPerfEventOutput, uapi.FuncRingbufOutput, uapi.FuncRingbufReserve, uapi.FuncRingbufReserveDynptr:
		return true
	}
	return false
}

// note adds what the runs of a search did.
func (p *Prepared) note(lp *loader.LinkedProgram, all []search.Other) {
	d := p.reached[lp.Name]
	if d == nil {
		d = &deeds{reached: map[string]bool{}, changed: map[string]bool{}}
		p.reached[lp.Name] = d
	}
	first := map[*loader.LinkedProgram][]*loader.Map{}
	for i := range all {
		for at := range all[i].Reached.All() {
			in := at.Program.Insns[at.Insn]
			if r, ok := at.Program.Refs[at.Insn]; ok && r.Map != nil {
				d.reached[r.Map.Name] = true
			}
			switch {
			case !isDeed(in):
			case in.Op() != decode.OpCallHelper:
				d.stores = true
			default:
				if first[at.Program] == nil {
					first[at.Program] = arguments(at.Program)
				}
				if def := first[at.Program][at.Insn]; def != nil && changing(uapi.FuncID(in.Imm)) {
					d.changed[def.Name] = true
				}
			}
		}
	}
}

// arguments returns for each instruction the map that r1 has before it, as far as the order of the
// code tells; nil for none.
func arguments(lp *loader.LinkedProgram) []*loader.Map {
	out := make([]*loader.Map, len(lp.Insns))
	var regs [11]*loader.Map
	for pc, in := range lp.Insns {
		out[pc] = regs[1]
		op := in.Op()
		r, ok := lp.Refs[pc]
		switch {
		case ok && r.Map != nil && in.Dst < 10:
			regs[in.Dst] = r.Map
		case in.Code == 0: // the second half of that
		case op == decode.OpMov64Reg && in.Dst < 10:
			regs[in.Dst] = regs[in.Src]
		case op == decode.OpCallHelper || op == decode.OpCallLocal || op == decode.OpCallKfunc:
			clear(regs[:6])
		case op.Info().Writes&decode.RegDst != 0 && in.Dst < 10:
			regs[in.Dst] = nil
		}
	}
	return out
}

// Sort puts meetings first whose programs got to a map that both use and that one of them changes,
// and those last of which that is known not to be so: they have nothing to disagree about.
func (p *Prepared) Sort(meetings []Meeting, programs []*loader.LinkedProgram) {
	uses := map[string][]*loader.Map{}
	for _, lp := range programs {
		uses[lp.Name] = shared(lp)
	}
	rank := func(m *Meeting) int {
		if m.Written || len(m.Actors) != 2 {
			return 0
		}
		a, b := p.reached[m.Actors[0].Program], p.reached[m.Actors[1].Program]
		if a == nil || b == nil || m.Actors[0].Callback != nil || m.Actors[1].Callback != nil {
			return 1 // not known
		}
		for _, def := range uses[m.Actors[0].Program] {
			if !slices.Contains(uses[m.Actors[1].Program], def) || !a.reached[def.Name] || !b.reached[def.Name] {
				continue
			}
			if a.changed[def.Name] || b.changed[def.Name] || a.stores || b.stores {
				return 0
			}
		}
		return 2
	}
	slices.SortStableFunc(meetings, func(a, b Meeting) int { return rank(&a) - rank(&b) })
}

// byCPU reports whether a program looks up an element of an array by the number of its CPU: memory
// of one CPU by another name. Values are followed in the order of the code.
func byCPU(lp *loader.LinkedProgram, def *loader.Map) bool {
	if def.Type != uapi.MapTypeArray {
		return false
	}
	var number [11]bool
	var slot [11]struct {
		known bool
		off   int32
	}
	onStack, first := map[int32]bool{}, arguments(lp)
	slot[10].known = true
	for pc, in := range lp.Insns {
		op := in.Op()
		switch {
		case op == decode.OpCallHelper:
			id := uapi.FuncID(in.Imm)
			if id == uapi.FuncMapLookupElem && first[pc] == def && slot[2].known && onStack[slot[2].off] {
				return true
			}
			for r := range 6 {
				number[r], slot[r].known = false, false
			}
			number[0] = id == uapi.FuncGetSmpProcessorId
		case op == decode.OpMov64Reg || op == decode.OpMov32Reg:
			number[in.Dst], slot[in.Dst] = number[in.Src], slot[in.Src]
		case op == decode.OpAdd64Imm && slot[in.Dst].known && in.Dst != 10:
			slot[in.Dst].off += in.Imm
			number[in.Dst] = false
		case op == decode.OpAnd64Imm || op == decode.OpAnd32Imm || op == decode.OpLsh64Imm || op == decode.OpRsh64Imm: // cut to 32 bits, or to the size of the array
			slot[in.Dst].known = false
		case op.Info().Flags&decode.FlagStore != 0:
			if in.Dst == 10 {
				onStack[int32(in.Off)] = op >= decode.OpStxB && number[in.Src]
			}
		case op.Info().Writes&decode.RegDst != 0 && in.Dst != 10:
			number[in.Dst], slot[in.Dst].known = false, false
		}
	}
	return false
}
