package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/klog"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// VerifyCause is an instruction that contributed to the state of a refused register.
type VerifyCause struct {
	Insn int    `json:"insn"`
	What string `json:"what"`            // R2, fp-8
	Text string `json:"text"`            // the instruction
	Now  string `json:"state,omitempty"` // the verifier's state of it after the instruction
	// Source is the source line of the instruction.
	Source *VerifySource `json:"source,omitempty"`
}

func newCauses(lp *loader.LinkedProgram, in []verifier.Cause) []VerifyCause {
	var out []VerifyCause
	for _, c := range in {
		out = append(out, VerifyCause{Insn: c.Insn, What: c.What, Text: c.Text, Now: c.State, Source: verifySource(lp, c.Insn)})
	}
	return out
}

// verifySource returns the source line of an instruction.
func verifySource(lp *loader.LinkedProgram, insn int) *VerifySource {
	if lp == nil || insn < 0 || insn >= len(lp.Insns) {
		return nil
	}
	li, ok := lp.LineAt(insn)
	if !ok || li.Line == 0 {
		return nil
	}
	return &VerifySource{li.File, int(li.Line), strings.TrimSpace(li.Text)}
}

// VerifyExplainDocument is the JSON of `verify --explain`: what the logs of a kernel or loader
// mean.
type VerifyExplainDocument struct {
	Schema string `json:"schema"`
	Exit   int    `json:"exit"`
	Error  *Error `json:"error"`
	Object string `json:"object"`
	// Target is the kernel that the log is compared with.
	Target *Target            `json:"target,omitempty"`
	Logs   []VerifyExplainLog `json:"logs"`
}

// VerifyExplainLog is the log of one program.
type VerifyExplainLog struct {
	Line    int    `json:"line"`    // first line in the file
	Program string `json:"program"` // in the object, "" if none matches
	// Message is the verifier's last line, Errno the error as printed by the loader.
	Message string `json:"message,omitempty"`
	Errno   string `json:"errno,omitempty"`
	Insn    *int   `json:"insn"`
	Text    string `json:"text,omitempty"` // the instruction
	Reason  string `json:"reason,omitempty"`
	// Source is the source line where the log ends. History lists the instructions that led to the
	// state of the refused register, oldest first.
	Source    *VerifySource `json:"source,omitempty"`
	Registers string        `json:"registers,omitempty"`
	History   []VerifyCause `json:"history,omitempty"`
	// Fits is false if the program's instructions differ from those in the log.
	Fits bool `json:"fits"`
	// Here is the verdict on the target; Same means that it agrees with the log's.
	Here *Verdict `json:"here,omitempty"`
	Same bool     `json:"same"`
}

// NewVerifyExplainDocument returns a document without logs.
func NewVerifyExplainDocument(l *loader.Linked, source string) *VerifyExplainDocument {
	return &VerifyExplainDocument{Schema: Schema, Object: l.Object.Name, Target: NewTarget(l.Target, source), Logs: []VerifyExplainLog{}}
}

// Add adds a log and the program that it is about. The verdict here and its history may be nil;
// they are used for a log that contains no instructions.
func (d *VerifyExplainDocument) Add(log *klog.Log, lp *loader.LinkedProgram, fits bool, here *verifier.Verdict, history []verifier.Cause) {
	x := VerifyExplainLog{Line: log.Line, Message: log.Message, Errno: log.Errno, Reason: verifier.Meaning(log.Message), Fits: fits, Here: verdictOf(here)}
	if n := len(log.Steps); n > 0 {
		last := log.Steps[n-1]
		x.Insn, x.Text, x.Registers = &last.Insn, last.Text, last.Before
		if last.Source != "" {
			x.Source = &VerifySource{last.File, last.SourceLine, last.Source}
		}
	}
	if lp != nil {
		x.Program = lp.Name
	}
	if lp != nil && fits {
		if s := verifySource(lp, log.Last()); s != nil {
			x.Source = s
		}
		x.History = newCauses(lp, verifier.History(lp.Insns, log))
	}
	if here != nil {
		short := len(log.Steps) == 0
		x.Same = here.Outcome == verifier.Accepted && log.Message == "" ||
			here.Outcome == verifier.Refused && log.Message != "" && (short || here.Insn == log.Last()) && x.Reason == here.Reason
		if short && x.Same && here.Insn >= 0 {
			x.Insn, x.Source, x.Registers, x.History = x.Here.Insn, x.Here.Source, x.Here.Registers, newCauses(lp, history)
		}
	}
	d.Logs = append(d.Logs, x)
}

// WriteVerifyExplain writes the explanations as text.
func WriteVerifyExplain(w io.Writer, d *VerifyExplainDocument, opt TableOptions) error {
	s := style{opt.Color}
	var b strings.Builder
	visible.Fprintf(&b, "%s on %s\n", s.bold(d.Object), describeTarget(d.Target))
	for i := range d.Logs {
		d.Logs[i].write(&b, d.Target.Name, s, opt)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (x *VerifyExplainLog) write(b *strings.Builder, target string, s style, opt TableOptions) {
	name := x.Program
	if name == "" {
		name = "no program of this object"
	}
	outcome := s.green("accepted")
	if x.Message != "" {
		outcome = s.red("refused")
	}
	visible.Fprintf(b, "\n%s %s %s\n", s.bold(fmt.Sprintf("log at line %d:", x.Line)), name, outcome)
	line := func(kind, text string) {
		if text != "" {
			visible.Fprintf(b, "  %s %s\n", s.dim(fmt.Sprintf("%-9s", kind)), text)
		}
	}
	at := x.Errno
	if x.Insn != nil {
		at = strings.TrimSpace(fmt.Sprintf("%s at instruction %d", at, *x.Insn))
	}
	if at != "" && x.Message != "" {
		line("kernel", x.Message+" ("+at+")")
	} else {
		line("kernel", x.Message)
	}
	line("why", x.Reason)
	writeSource(line, x.Source)
	if x.Message != "" {
		line("insn", x.Text)
	}
	line("registers", x.Registers)
	writeHistory(line, x.History)
	switch {
	case x.Program == "":
		line("note", s.yellow("no program of this object has these instructions: the log belongs to another object, or to another build of it"))
	case !x.Fits:
		line("note", s.yellow("the program's instructions differ: the log belongs to another build of the object"))
	case x.Here == nil:
	case x.Same:
		line("here", target+" says the same")
	default:
		line("here", target+" says: "+x.Here.Verdict+strings.TrimPrefix(": "+x.Here.summary, ": accepted"))
		line("", "the log is from another kernel, or the program was loaded with other settings (--btf, --global)")
	}
}

func writeSource(line func(kind, text string), src *VerifySource) {
	switch {
	case src == nil:
	case src.File == "":
		line("source", src.Text)
	default:
		line("source", fmt.Sprintf("%s:%d  %s", src.File, src.Line, src.Text))
	}
}

// writeHistory writes the instructions that led to a register's state, one per line.
func writeHistory(line func(kind, text string), causes []VerifyCause) {
	for i, c := range causes {
		kind := ""
		if i == 0 {
			kind = "history"
		}
		text := fmt.Sprintf("%d: %s", c.Insn, c.Text)
		if c.Now != "" {
			text += "  → " + c.What + "=" + c.Now
		} else if strings.HasPrefix(c.What, "reference") {
			text += "  → " + c.What
		}
		if c.Source != nil {
			text += fmt.Sprintf("  (%s:%d %s)", c.Source.File[strings.LastIndexByte(c.Source.File, '/')+1:], c.Source.Line, c.Source.Text)
		}
		line(kind, text)
	}
}
