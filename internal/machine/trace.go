package machine

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
)

// TextTracer writes a trace in the style of the verifier's log: the source line when it
// changes, then each instruction with the registers it changed.
type TextTracer struct {
	W    io.Writer
	last string
}

// Step implements [Tracer].
func (x *TextTracer) Step(p *loader.LinkedProgram, pc, depth int, before, after *[11]uint64) {
	// Line 0 marks code that the compiler generated.
	if line, ok := p.LineAt(pc); ok && line.Line != 0 {
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
