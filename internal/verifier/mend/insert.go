package mend

import (
	"math"
	"strconv"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

type insn = decode.Insn

// work is a program with changes.
type work struct {
	p      *verifier.Program
	origin []int // the slot in the unchanged program, -1 for inserted ones
}

// copied returns a copy that may be changed, but not its instructions.
func (w *work) copied() *work {
	p := *w.p
	return &work{&p, w.origin}
}

// inserted returns the program with code before an instruction. in tells which jumps to that
// instruction go to the code (nil: all), and skip is how many instructions of the code they leave
// out.
func (w *work) inserted(at int, code []insn, in func(from int) bool, skip int) *work {
	n := len(code)
	if at < 0 || at > len(w.p.Insns) {
		return nil
	}
	moved := func(i int) int {
		if i >= at {
			return i + n
		}
		return i
	}
	target := func(from, to int) int {
		if to == at && (in == nil || in(from)) {
			return at + skip
		}
		return moved(to)
	}
	p := *w.p
	p.Insns = make([]insn, 0, len(w.p.Insns)+n)
	out := &work{p: &p}
	for i, x := range w.p.Insns {
		if i == at {
			p.Insns = append(p.Insns, code...)
			for range code {
				out.origin = append(out.origin, -1)
			}
		}
		op := x.Op()
		if to, ok := x.Target(i); ok {
			rel := target(i, to) - moved(i) - 1
			switch op {
			case decode.OpJa32, decode.OpCallLocal, decode.OpLdFunc:
				x.Imm = int32(rel)
			default:
				if rel < math.MinInt16 || rel > math.MaxInt16 {
					return nil
				}
				x.Off = int16(rel)
			}
		} else if op == decode.OpLdFunc || op == decode.OpCallLocal {
			x.Imm = int32(target(i, i+1+int(x.Imm)) - moved(i) - 1)
		}
		p.Insns = append(p.Insns, x)
		out.origin = append(out.origin, w.origin[i])
	}
	p.Refs = make(map[int]verifier.Ref, len(w.p.Refs))
	for i, r := range w.p.Refs {
		if r.Kind == verifier.RefFunc {
			r.Func = target(i, r.Func)
		}
		p.Refs[moved(i)] = r
	}
	starts := false
	p.Funcs = append([]verifier.FuncInfo(nil), w.p.Funcs...)
	for i := range p.Funcs {
		if p.Funcs[i].Insn == at {
			starts = true
			continue
		}
		p.Funcs[i].Insn = moved(p.Funcs[i].Insn)
	}
	p.Lines = append([]verifier.Line(nil), w.p.Lines...)
	for i := range p.Lines {
		if p.Lines[i].Insn == at && (starts || at == 0) {
			continue
		}
		p.Lines[i].Insn = moved(p.Lines[i].Insn)
	}
	if p.ExceptionCallback > at {
		p.ExceptionCallback += n
	}
	return out
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // the patterns allow digits only
	return n
}

// assembled translates text, which is that of a change.
func assembled(text string) []insn {
	code, err := decode.Assemble(text)
	if err != nil {
		panic("mend: " + err.Error() + " in " + text)
	}
	return code
}
