package debug

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/debug/expr"
)

// tracing reports to a front end what is executed going forwards.
type tracing struct {
	*subject
	*selection
	*expr.Printer
	*timeline
	*codeMap
	*frames
	*inspector
	*namer
	// Tracing selects what OnTrace is called for.
	Tracing    Tracing
	OnTrace    func(Traced)
	tracedLine lineKey
}

// Tracing selects what is traced going forwards. Each event is passed to [Session.OnTrace] as it
// happens.
type Tracing uint8

// Kinds of traced events.
const (
	TraceLines   Tracing = 1 << iota // source lines
	TraceInsns                       // instructions, with the registers they changed
	TraceHelpers                     // calls of helpers and kfuncs, with arguments and result
	TraceKernel                      // accesses of kernel memory
	TraceEvents                      // records sent to user space
)

var tracingNames = []string{"lines", "insns", "helpers", "kernel", "events"}

// TracingNames lists what can be traced.
func TracingNames() []string { return tracingNames }

// ParseTracing returns the kind of event with a name or an abbreviation of it.
func ParseTracing(word string) (Tracing, error) {
	for i, n := range tracingNames {
		if word != "" && strings.HasPrefix(n, word) {
			return 1 << i, nil
		}
	}
	switch word {
	case "instructions":
		return TraceInsns, nil
	case "reads":
		return TraceKernel, nil
	}
	return 0, &expr.UnknownError{What: "kind of trace", Name: word, Nearest: tracingNames}
}

// String lists the traced events.
func (t Tracing) String() string {
	var out []string
	for i, n := range tracingNames {
		if t>>i&1 != 0 {
			out = append(out, n)
		}
	}
	return strings.Join(out, ", ")
}

// Traced is one traced event.
type Traced struct {
	Kind  Tracing
	Place Place
	Depth int
	// Text is the line, the instruction with its changes, the call with its result, the access, or
	// the record.
	Text string
}

// tracer traces one step of the run.
type tracer struct {
	s      *tracing
	place  Place
	depth  int
	regs   [11]uint64
	call   string
	reads  int
	writes int
	events int
}

// traceBefore records the state before an instruction; nil if nothing is traced.
func (tr *tracing) traceBefore() *tracer {
	if tr.Tracing == 0 || tr.OnTrace == nil {
		return nil
	}
	t := tr.m.Thread()
	x := &tracer{s: tr, place: tr.place(t.Image(), t.PC()), depth: t.Depth(), regs: [11]uint64(t.Regs()[:11])}
	if x.place.Prog == nil {
		return nil
	}
	if tr.Tracing&TraceHelpers != 0 && callee(x.place.Prog, x.place.PC) != "" {
		x.call = tr.CallText()
	}
	res := tr.run.Result()
	x.reads, x.writes = len(res.Reads), len(res.Writes)
	if tr.Tracing&TraceEvents != 0 {
		x.events = len(tr.Events())
	}
	if tr.Tracing&TraceLines != 0 {
		x.line()
	}
	return x
}

func (x *tracer) tell(kind Tracing, text string) {
	if x.s.Tracing&kind != 0 {
		x.s.OnTrace(Traced{Kind: kind, Place: x.place, Depth: x.depth, Text: text})
	}
}

// line reports the start of a source line.
func (x *tracer) line() {
	c := x.s.codeOf(x.place.Prog)
	if !c.starts[x.place.PC] {
		return
	}
	at := lineKey{int16(x.s.nesting()), x.s.m.Thread().Image(), c.line[x.place.PC]}
	if at == x.s.tracedLine {
		return
	}
	x.s.tracedLine = at
	if l, ok := lineOf(x.place); ok {
		x.tell(TraceLines, strings.TrimSpace(x.s.SourceLineText(l)))
	}
}

// after reports what the instruction did.
func (x *tracer) after() {
	if x == nil {
		return
	}
	s := x.s
	t := s.m.Thread()
	same := s.state == Running && t.Depth() == x.depth
	if s.Tracing&TraceInsns != 0 {
		text := x.place.Insn()
		if same {
			text += x.changed(t.Regs())
		}
		x.tell(TraceInsns, text)
	}
	if x.call != "" {
		switch {
		case same:
			x.tell(TraceHelpers, x.call+" = "+s.ArgText(t.Reg(0)))
		case s.state == Running:
			x.tell(TraceHelpers, x.call+" calls back")
		default:
			x.tell(TraceHelpers, x.call)
		}
	}
	res := s.run.Result()
	if s.Tracing&TraceKernel != 0 {
		for _, a := range res.Reads[min(x.reads, len(res.Reads)):] {
			x.tell(TraceKernel, fmt.Sprintf("reads %s.%s of %s (%d bytes)", a.Type, a.Path, a.Role, a.Size))
		}
		for _, a := range res.Writes[min(x.writes, len(res.Writes)):] {
			x.tell(TraceKernel, fmt.Sprintf("writes %s.%s of %s (%d bytes)", a.Type, a.Path, a.Role, a.Size))
		}
	}
	if s.Tracing&TraceEvents != 0 && s.state == Running && x.place.Prog.Insns[x.place.PC].Info().Has(decode.FlagCall) {
		list := s.Events()
		for _, e := range list[min(x.events, len(list)):] {
			x.tell(TraceEvents, e)
		}
	}
}

// changed lists the registers that the instruction changed.
func (x *tracer) changed(now *[256]uint64) string {
	var out []string
	for i, was := range x.regs {
		if now[i] != was {
			out = append(out, fmt.Sprintf("r%d = %s", i, x.s.ArgText(now[i])))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "  ; " + strings.Join(out, ", ")
}
