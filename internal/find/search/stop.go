package search

import (
	"context"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// Stop is the branch that kept a run from most of its program.
type Stop struct {
	Branch
	// Behind is how many instructions lie on the side that was not taken, that the run did not
	// execute and that the other side does not lead to.
	Behind int
	// Names are what the operands came from, "" for what is not known.
	Names [2]string
	// Flag is the flag of a command line that makes the comparison come out otherwise, "" if none
	// does.
	Flag string
}

// mostSites limits the branches of a run that are compared.
const mostSites = 512

// Stopped returns the branch of a run that kept it from the most instructions. ok is false if no
// branch did. Call it before the machine is changed.
func (t *Trace) Stopped() (s Stop, ok bool) {
	last := map[Site]int{}
	for i := range t.Branches {
		last[t.Branches[i].At] = i
	}
	reach := reaching{}
	for i := range t.Branches {
		b := &t.Branches[i]
		if last[b.At] != i || t.Reached.Has(b.Other) || len(last) > mostSites && i < len(t.Branches)-mostSites {
			continue
		}
		next := b.At.Insn + 1
		if b.Other.Insn == next {
			next, _ = b.At.Program.Insns[b.At.Insn].Target(b.At.Insn)
		}
		if n := reach.only(t, b.At.Program, b.Other.Insn, next); n > 0 && n >= s.Behind {
			s.Branch, s.Behind, ok = *b, n, true
		}
	}
	if ok {
		for i, v := range s.From {
			s.Names[i] = t.originOf(v)
			if s.Flag == "" {
				s.Flag = t.flag(&s.Branch, i)
			}
		}
	}
	return s, ok
}

// flag returns the flag with which side i of a comparison, a variable, has a value that changes the
// outcome.
func (t *Trace) flag(b *Branch, i int) string {
	v := b.From[i]
	if v == nil || v.From.Kind != Memory {
		return ""
	}
	def, _ := variablesAt(t.m, v.From.Addr)
	p := t.named(v.From)
	x, ok := v.Solve(b.Op, b.Sides[1-i], i == 1, !b.Taken)
	if !ok || def == nil || def.DataKind == loader.DataKconfig || p.Path != "" || !p.typed {
		return ""
	}
	return "--global " + p.Name + "=" + p.value(t.m, t.bytes(x, v.From.Size))
}

// bytes are a number as memory has it.
func (t *Trace) bytes(x uint64, size int) []byte {
	out := make([]byte, size)
	endian.PutUint(t.m.Memory().ByteOrder(), out, x)
	return out
}

// originOf names where a value came from.
func (t *Trace) originOf(v *Value) string {
	if v == nil {
		return ""
	}
	switch s := v.From; s.Kind {
	case Element:
		o := t.Override(s, 0)
		return o.Place.String() + ", which is not there"
	case Result:
		return s.Helper + "()"
	case Length:
		return "the packet's length"
	default:
		return t.named(s).String()
	}
}

// reaching finds the instructions that follow others: calls are followed, returns are not.
type reaching map[Site][]uint64

// only counts the instructions that the first of two leads to and the second does not, and that a
// run did not execute.
func (r reaching) only(t *Trace, p *loader.LinkedProgram, first, second int) int {
	a, b, n := r.from(p, first), r.from(p, second), 0
	for pc := range p.Insns {
		if bit(a, pc) && !bit(b, pc) && !t.Reached.Has(Site{p, pc}) {
			n++
		}
	}
	return n
}

// from is the set of instructions that may be executed after one, which is part of it.
func (r reaching) from(p *loader.LinkedProgram, pc int) []uint64 {
	at := Site{p, pc}
	if set, ok := r[at]; ok {
		return set
	}
	set := make([]uint64, len(p.Insns)/64+1)
	work := []int{pc}
	for len(work) > 0 {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		if pc < 0 || pc >= len(p.Insns) || bit(set, pc) {
			continue
		}
		set[pc/64] |= 1 << (pc % 64)
		in := p.Insns[pc]
		if target, ok := in.Target(pc); ok { // of calls too
			work = append(work, target)
		}
		if ref, ok := p.Refs[pc]; ok && ref.Kind == loader.RefFunc { // a callback
			work = append(work, ref.Func)
		}
		if in.Info().Flags&(decode.FlagJump|decode.FlagExit) == 0 {
			work = append(work, pc+max(in.Len(), 1))
		}
	}
	r[at] = set
	return set
}

// Lines describes the branch in words: where it is, what it compared, and which outcome leads
// further.
func (s Stop) Lines() []string {
	first := "decided by " + s.At.String()
	if l, ok := s.At.Program.LineAt(s.At.Insn); ok && strings.TrimSpace(l.Text) != "" {
		first += ": " + strings.TrimSpace(l.Text)
	}
	sides := s.Sides
	if s.Op.Info().Width == 32 {
		sides[0], sides[1] = uint64(uint32(sides[0])), uint64(uint32(sides[1]))
	}
	var text [2]string
	for i, v := range sides {
		text[i] = number(v)
		if s.Names[i] != "" {
			text[i] += " (" + s.Names[i] + ")"
		}
	}
	more := "instructions follow"
	if s.Behind == 1 {
		more = "instruction follows"
	}
	lines := []string{first, fmt.Sprintf("%s against %s: %d more %s if %s", text[0], text[1], s.Behind, more, outcome(s.Op, !s.Taken))}
	if s.Flag != "" {
		lines = append(lines, "to change it: "+s.Flag)
	}
	return lines
}

// outcome says in words when a comparison holds, or when it does not.
func outcome(op decode.Op, holds bool) string {
	words := [2]string{"they do not compare so", "they compare so"}
	switch op {
	case decode.OpJeq64Imm, decode.OpJeq64Reg, decode.OpJeq32Imm, decode.OpJeq32Reg:
		words = [...]string{"they differ", "they are equal"}
	case decode.OpJne64Imm, decode.OpJne64Reg, decode.OpJne32Imm, decode.OpJne32Reg:
		words = [...]string{"they are equal", "they differ"}
	case decode.OpJset64Imm, decode.OpJset64Reg, decode.OpJset32Imm, decode.OpJset32Reg:
		words = [...]string{"they have no bit in common", "they have a bit in common"}
	case decode.OpJgt64Imm, decode.OpJgt64Reg, decode.OpJgt32Imm, decode.OpJgt32Reg:
		words = [...]string{"the first is not greater", "the first is greater"}
	case decode.OpJge64Imm, decode.OpJge64Reg, decode.OpJge32Imm, decode.OpJge32Reg:
		words = [...]string{"the first is less", "the first is not less"}
	case decode.OpJlt64Imm, decode.OpJlt64Reg, decode.OpJlt32Imm, decode.OpJlt32Reg:
		words = [...]string{"the first is not less", "the first is less"}
	case decode.OpJle64Imm, decode.OpJle64Reg, decode.OpJle32Imm, decode.OpJle32Reg:
		words = [...]string{"the first is greater", "the first is not greater"}
	case decode.OpJsgt64Imm, decode.OpJsgt64Reg, decode.OpJsgt32Imm, decode.OpJsgt32Reg:
		words = [...]string{"the first is not greater (signed)", "the first is greater (signed)"}
	case decode.OpJsge64Imm, decode.OpJsge64Reg, decode.OpJsge32Imm, decode.OpJsge32Reg:
		words = [...]string{"the first is less (signed)", "the first is not less (signed)"}
	case decode.OpJslt64Imm, decode.OpJslt64Reg, decode.OpJslt32Imm, decode.OpJslt32Reg:
		words = [...]string{"the first is not less (signed)", "the first is less (signed)"}
	case decode.OpJsle64Imm, decode.OpJsle64Reg, decode.OpJsle32Imm, decode.OpJsle32Reg:
		words = [...]string{"the first is greater (signed)", "the first is not greater (signed)"}
	}
	if holds {
		return words[1]
	}
	return words[0]
}

// mostTraced is the largest number of instructions in a run that [Explain] looks at.
const mostTraced = 1 << 20

// Explain runs a program again as it ran, and returns the branch that kept it from most of its
// instructions. The machine has to be in the state in which that run began. ok is false if no
// branch did, or if the run is too long to look at.
func Explain(ctx context.Context, m *machine.Machine, res *machine.Result, in machine.Input) (s Stop, ok bool, err error) {
	if !res.Ran || res.Insns > mostTraced {
		return s, false, nil
	}
	run, _, err := m.Begin(res.Program, in)
	if run == nil {
		return s, false, err
	}
	defer run.Leave()
	t := NewTrace(m, run.Context(), nil)
	if err := run.Execute(ctx, t); err != nil {
		return s, false, err
	}
	s, ok = t.Stopped()
	return s, ok, nil
}
