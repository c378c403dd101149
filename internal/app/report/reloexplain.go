package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// ExplainDocument is the JSON of `relo --explain`: the entries of a log and what they refer to.
type ExplainDocument struct {
	Schema  string         `json:"schema"`
	Exit    int            `json:"exit"`
	Error   *Error         `json:"error"`
	Object  string         `json:"object"`
	Target  *Target        `json:"target,omitempty"`
	Entries []ExplainEntry `json:"entries"`
}

// ExplainEntry is one instruction mentioned in a log.
type ExplainEntry struct {
	Line    int            `json:"line"`
	Text    string         `json:"text"`
	Meaning string         `json:"meaning"`
	Program string         `json:"program,omitempty"`
	Insn    *int           `json:"insn"` // null if the log does not name one
	Matches []ExplainMatch `json:"matches"`
}

// ExplainMatch is a relocation, map or kfunc that an entry refers to.
type ExplainMatch struct {
	Program    string      `json:"program,omitempty"`
	Insn       int         `json:"insn"` // in the final program, as the kernel counts
	Relocation *Relocation `json:"relocation,omitempty"`
	Map        string      `json:"map,omitempty"`
	Kfunc      string      `json:"kfunc,omitempty"`
	// Here is its state on the target: missing or present.
	Here string `json:"here,omitempty"`
}

// NewExplainDocument explains the entries of a log about the object.
func NewExplainDocument(l *loader.Linked, source string, entries []corerelo.LogEntry) *ExplainDocument {
	d := &ExplainDocument{Schema: Schema, Object: l.Object.Name, Target: NewTarget(l.Target, source), Entries: []ExplainEntry{}}
	functions := map[string]*loader.LinkedFunction{}
	for _, f := range l.Functions {
		functions[f.Name] = f
	}
	for _, e := range entries {
		x := ExplainEntry{Line: e.Line, Text: e.Text, Meaning: meaning(e.Kind), Program: e.Program, Matches: []ExplainMatch{}}
		if e.Insn >= 0 {
			n := e.Insn
			x.Insn = &n
		}
		for _, m := range l.MatchLog(e) {
			x.Matches = append(x.Matches, newExplainMatch(l, functions, m))
		}
		d.Entries = append(d.Entries, x)
	}
	return d
}

func meaning(k corerelo.PoisonKind) string {
	switch k {
	case corerelo.PoisonCORE:
		return "195896080 (0xbad2310, \"bad relo\") is what libbpf writes over an instruction whose CO-RE relocation failed on the running kernel"
	case corerelo.PoisonMap:
		return "2001000000 + n is what libbpf writes over a reference to map n, which it did not create"
	case corerelo.PoisonKfunc:
		return "2002000000 + n is what libbpf writes over a call of the weak kfunc of extern n, which the running kernel does not have"
	}
	return ""
}

func newExplainMatch(l *loader.Linked, functions map[string]*loader.LinkedFunction, m loader.LogMatch) ExplainMatch {
	x := ExplainMatch{Insn: m.Insn}
	switch {
	case m.Map != nil:
		x.Map = m.Map.Name
	case m.Extern != nil:
		x.Kfunc, x.Here = m.Extern.Name, "missing"
		if m.Extern.Resolved {
			x.Here = "present"
		}
	case m.Reloc != nil:
		x.Program, x.Here = m.Program.Name, "present"
		if m.Reloc.Poisoned() {
			x.Here = "missing"
		}
		if f := functions[m.Reloc.Func]; f != nil {
			r := newRelocation(l, f, m.Reloc)
			for _, v := range m.Program.PoisonVerdicts() {
				if v.Insn == m.Reloc.Insn {
					r.Verdict = v.Verdict.String()
				}
			}
			x.Relocation = &r
		}
	}
	return x
}

// WriteExplain writes the explanations as text.
func WriteExplain(w io.Writer, d *ExplainDocument, opt TableOptions) error {
	s := style{opt.Color}
	var b strings.Builder
	visible.Fprintf(&b, "%s on %s\n", s.bold(d.Object), describeTarget(d.Target))
	told := map[string]bool{}
	for i := range d.Entries {
		e := &d.Entries[i]
		visible.Fprintf(&b, "\n%s %s\n", s.bold(fmt.Sprintf("line %d:", e.Line)), e.Text)
		if !told[e.Meaning] {
			told[e.Meaning] = true
			visible.Fprintf(&b, "  %s\n", e.Meaning)
		}
		if len(e.Matches) == 0 {
			visible.Fprintf(&b, "  %s\n", s.yellow("nothing in this object matches: the log belongs to another object, or to another build of it"))
		}
		if len(e.Matches) > 1 {
			visible.Fprintf(&b, "  one of these %d:\n", len(e.Matches))
		}
		for j := range e.Matches {
			writeExplainMatch(&b, d, &e.Matches[j], s, opt)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeExplainMatch(b *strings.Builder, d *ExplainDocument, m *ExplainMatch, s style, opt TableOptions) {
	switch {
	case m.Map != "":
		visible.Fprintf(b, "  map %s: it was disabled (autocreate), so the program must not reach its use\n", s.bold(m.Map))
		return
	case m.Kfunc != "":
		visible.Fprintf(b, "  kfunc %s: %s on %s; test it with bpf_ksym_exists() before the call\n", s.bold(m.Kfunc), m.Here, d.Target.Name)
		return
	case m.Relocation == nil:
		return
	}
	r := m.Relocation
	place := fmt.Sprintf("  program %s, insn %d", s.bold(m.Program), m.Insn)
	if r.Program != m.Program {
		place += fmt.Sprintf(" (%s insn %d)", r.Program, r.Insn)
	}
	b.WriteString(place + "\n")
	writeRelocation(b, r, s, opt.Verbose)
	if m.Here == "present" {
		visible.Fprintf(b, "            %s\n", s.yellow("it is found on "+d.Target.Name+": the log is from another kernel, name that one with --btf"))
	}
}
