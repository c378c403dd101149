package machine

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// traced runs the thread one instruction at a time.
func (m *Machine) traced(ctx context.Context, tr Tracer) (vm.Stop, error) {
	t := m.thread
	for n := 0; ; n++ {
		if n%slice == slice-1 || t.Insns() >= m.cfg.MaxInsns {
			if err := m.outOfBudget(ctx); err != nil {
				return t.Status(), err
			}
			if t.Status() == vm.Faulted {
				return vm.Faulted, nil
			}
		}
		img, pc, depth := t.Image(), t.PC(), t.Depth()
		before := [11]uint64(t.Regs()[:11])
		stop := t.Run(1)
		if p, ok := owner(img); ok {
			after := [11]uint64(t.Regs()[:11])
			tr.Step(p.lp, pc, depth, &before, &after)
		}
		if stop != vm.Budget {
			return stop, nil
		}
	}
}

// TextTracer writes a trace in the style of the verifier's log: the source line when it
// changes, then each instruction with the registers it changed.
type TextTracer struct {
	W    io.Writer
	last string
}

// Step implements [Tracer].
func (x *TextTracer) Step(p *loader.LinkedProgram, pc, depth int, before, after *[11]uint64) {
	if line, ok := p.LineAt(pc); ok {
		if text := fmt.Sprintf("; %s @ %s:%d", strings.TrimSpace(line.Text), line.File, line.Line); text != x.last {
			fmt.Fprintln(x.W, text)
			x.last = text
		}
	}
	var regs strings.Builder
	for i := range after {
		if before[i] != after[i] {
			fmt.Fprintf(&regs, " R%d=%#x", i, after[i])
		}
	}
	text := decode.Disassemble(p.Insns, pc, p.Symbols())
	if regs.Len() > 0 {
		text = fmt.Sprintf("%-40s ;%s", text, regs.String())
	}
	fmt.Fprintf(x.W, "%*s%d: (%02x) %s\n", 2*depth, "", pc, p.Insns[pc].Code, text)
}
