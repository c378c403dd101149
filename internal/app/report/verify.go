package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/mend"
	"github.com/bpfrun/bpfrun/internal/verifier/profile"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// VerifyDocument is the JSON of `verify` for one object and one kernel.
type VerifyDocument struct {
	Schema   string          `json:"schema"`
	Exit     int             `json:"exit"`
	Error    *Error          `json:"error"`
	Object   string          `json:"object"`
	Target   *Target         `json:"target,omitempty"`
	Programs []VerifyProgram `json:"programs"`
}

// VerifyDocuments is the JSON of `verify`.
type VerifyDocuments struct {
	Schema  string            `json:"schema"`
	Exit    int               `json:"exit"`
	Results []*VerifyDocument `json:"results"`
}

// OneVerifyDocument is the JSON of [VerifyDocuments] with one result, as [OneDocument] is for
// [Documents].
type OneVerifyDocument struct {
	VerifyDocument
	Results []*VerifyDocument `json:"results"`
}

func (d VerifyDocuments) document() any {
	switch {
	case d.Results == nil:
		d.Results = []*VerifyDocument{}
	case len(d.Results) == 1:
		return OneVerifyDocument{*d.Results[0], d.Results}
	}
	return d
}

// VerifyProgram is the verdict on a program.
type VerifyProgram struct {
	Name    string `json:"name"`
	Section string `json:"section"`
	Type    string `json:"type"`
	Kernel  string `json:"kernel"`
	Verdict
	// Profile is where the verification spent its instructions, with --profile.
	Profile *profile.Profile `json:"profile,omitempty"`
}

// Verdict is the verdict of a kernel's verifier on a program.
type Verdict struct {
	Verdict string `json:"verdict"` // accepted, refused, unknown
	// Reason is bpfrun's wording; Message is the last line of the kernel's log for a refusal.
	Reason  string        `json:"reason,omitempty"`
	Message string        `json:"message,omitempty"`
	Errno   string        `json:"errno,omitempty"`
	Insn    *int          `json:"insn,omitempty"`
	Source  *VerifySource `json:"source,omitempty"`
	// ProcessedInsns, TotalStates and PeakStates are the statistics at the end of a kernel's log.
	ProcessedInsns int `json:"processed_insns"`
	TotalStates    int `json:"total_states"`
	PeakStates     int `json:"peak_states"`
	// Assumes is what the verdict takes to be so of the kernel, if that decides it.
	Assumes string `json:"assumes,omitempty"`
	// NotLoaded is what keeps a program from the verifier that would accept it: what user space or
	// the kernel refuses before.
	NotLoaded string `json:"not_loaded,omitempty"`
	// Registers are the registers at Insn, in the form of the kernel's log.
	Registers string       `json:"registers,omitempty"`
	Path      []VerifyStep `json:"path,omitempty"`
	// Mend is a change with which the program loads, or gets past the refusal: it was verified.
	Mend *VerifyMend `json:"mend,omitempty"`
	// History lists the instructions that led to the state of the refused register, oldest first.
	History []VerifyCause `json:"history,omitempty"`

	summary string
}

// VerifyMend are changes to the source with which the verifier gets past a refusal.
type VerifyMend struct {
	Text    string         `json:"text"`
	Loads   bool           `json:"loads"`
	Changes []VerifyChange `json:"changes"`
}

// VerifyChange is a change to the source: code before or after a line, or a changed definition.
type VerifyChange struct {
	Code  string `json:"code,omitempty"`
	Text  string `json:"text,omitempty"` // a change of a definition in words
	Where string `json:"where,omitempty"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
}

// VerifySource is a line of source.
type VerifySource struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// VerifyStep is a branch on the path to a refusal.
type VerifyStep struct {
	Insn  int  `json:"insn"`
	Taken bool `json:"taken"`

	source *VerifySource
}

// NewVerifyDocument returns a document without programs.
func NewVerifyDocument(l *loader.Linked, source string) *VerifyDocument {
	d := &VerifyDocument{Schema: Schema, Object: l.Object.Name, Target: NewTarget(l.Target, source), Programs: []VerifyProgram{}}
	if l.Err != nil {
		d.Error = NewError(l.Err)
	}
	return d
}

// Add adds the verdict on a program.
func (d *VerifyDocument) Add(lp *loader.LinkedProgram, kernel string, v *verifier.Verdict, history []verifier.Cause) {
	p := VerifyProgram{Name: lp.Name, Section: lp.Section, Type: lp.Type.String(), Kernel: kernel, Verdict: newVerdict(v)}
	p.History = newCauses(lp, history)
	for i := max(0, len(p.Path)-mostBranches); i < len(p.Path); i++ {
		p.Path[i].source = verifySource(lp, p.Path[i].Insn)
	}
	d.Programs = append(d.Programs, p)
}

// Mend adds a change with which the program added last loads; s may be nil.
func (d *VerifyDocument) Mend(s *mend.Suggestion) {
	if s == nil {
		return
	}
	m := &VerifyMend{Text: s.Text(), Loads: s.Next == nil}
	for _, c := range s.Changes {
		m.Changes = append(m.Changes, VerifyChange{c.Code, c.Text, c.Where, c.File, c.Line})
	}
	d.Programs[len(d.Programs)-1].Verdict.Mend = m
}

// Profile adds where the verification of the program added last spent its instructions.
func (d *VerifyDocument) Profile(p *profile.Profile) { d.Programs[len(d.Programs)-1].Profile = p }

// NotLoaded notes what keeps accepted programs of the document from being loaded, and which hooks
// the target lacks: l is the object as it is loaded, with all checks.
func (d *VerifyDocument) NotLoaded(l *loader.Linked) {
	if d.Error != nil {
		return // it is what keeps all of them
	}
	for i := range d.Programs {
		p := &d.Programs[i]
		lp, ok := l.Program(p.Name)
		if !ok || lp.Err == nil {
			continue
		}
		lines := NewError(lp.Err).Lines
		switch accepted := p.Verdict.Verdict == verifier.Accepted.String(); {
		case accepted && lp.Status == loader.StatusRefused:
			p.NotLoaded = strings.Join(lines[:1], "")
		case !accepted && lp.Status == loader.StatusAbsent:
			p.Verdict.Reason = strings.Join(lines, "; ") // the kernel's message does not name the hook that it lacks
		}
	}
}

func newVerdict(v *verifier.Verdict) Verdict {
	p := Verdict{
		Verdict: v.Outcome.String(), Reason: v.Reason, Message: v.Message,
		ProcessedInsns: v.ProcessedInsns, TotalStates: v.TotalStates, PeakStates: v.PeakStates, summary: v.Summary(),
	}
	if v.Unlocked {
		p.Assumes = unlocked
	}
	switch v.Outcome {
	case verifier.Refused:
		p.Errno = v.Errno.Name()
	case verifier.Unknown:
		p.Reason = v.Missing
	case verifier.Accepted:
		return p
	}
	if v.Insn >= 0 {
		insn := v.Insn
		p.Insn, p.Registers = &insn, v.Regs
		for _, b := range v.Path {
			p.Path = append(p.Path, VerifyStep{Insn: b.Insn, Taken: b.Taken})
		}
	}
	if v.Source != nil {
		p.Source = &VerifySource{v.Source.File, v.Source.Line, strings.TrimSpace(v.Source.Text)}
	}
	return p
}

const unlocked = "a kernel that is not locked down; with lockdown, as under Secure Boot, it lacks bpf_probe_write_user (--lockdown integrity)"

// verdictOf returns the verdict for documents in which it is optional: nil if the program was not
// verified.
func verdictOf(v *verifier.Verdict) *Verdict {
	if v == nil {
		return nil
	}
	out := newVerdict(v)
	return &out
}

// AddUnlinked adds a program that could not be linked for this kernel.
func (d *VerifyDocument) AddUnlinked(lp *loader.LinkedProgram, kernel string, err error) {
	d.Programs = append(d.Programs, VerifyProgram{Name: lp.Name, Section: lp.Section, Type: lp.Type.String(), Kernel: kernel, Verdict: Verdict{Verdict: verifier.Refused.String(), Reason: "it cannot be linked for this kernel: " + err.Error()}})
}

// WriteVerify writes the verdicts as a table.
func WriteVerify(w io.Writer, d *VerifyDocument, opt TableOptions) error {
	s := style{opt.Color}
	var b strings.Builder
	visible.Fprintf(&b, "%s on %s\n\n", s.bold(d.Object), describeTarget(d.Target))
	if d.Error != nil {
		writeError(&b, d.Error, s, "")
	}
	count := map[string]int{}
	rows := [][]cell{{{text: "PROGRAM"}, {text: "HOOK"}, {text: "VERDICT"}, {text: "INSNS"}, {text: "STATES"}}}
	var shown []int
	for i := range d.Programs {
		p := &d.Programs[i].Verdict
		count[p.Verdict]++
		if opt.Quiet && p.Verdict == "accepted" && p.NotLoaded == "" {
			continue
		}
		shown = append(shown, i)
		paint := s.green
		switch p.Verdict {
		case "refused":
			paint = s.red
		case "unknown":
			paint = s.yellow
		}
		rows = append(rows, []cell{{text: d.Programs[i].Name}, {text: d.Programs[i].Section}, {text: p.Verdict, paint: paint}, {text: fmt.Sprint(p.ProcessedInsns)}, {text: fmt.Sprint(p.TotalStates)}})
	}
	widths := columnWidths(rows)
	if len(shown) > 0 {
		writeRow(&b, rows[0], widths)
	}
	for n, i := range shown {
		writeRow(&b, rows[n+1], widths)
		writeVerdict(&b, &d.Programs[i].Verdict, s, opt.Verbose)
	}
	if len(shown) > 0 {
		b.WriteByte('\n')
	}
	visible.Fprintf(&b, "%s: %d accepted, %d refused, %d unknown\n", plural(len(d.Programs), "program"), count["accepted"], count["refused"], count["unknown"])
	for i := range d.Programs {
		if p := d.Programs[i].Profile; p != nil {
			writeProfile(&b, p, s, opt.Verbose)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeVerdict(b *strings.Builder, p *Verdict, s style, verbose bool) {
	line := func(kind, text string) {
		if text != "" {
			visible.Fprintf(b, "  %s %s\n", s.dim(fmt.Sprintf("%-9s", kind)), text)
		}
	}
	line("assumes", p.Assumes)
	if p.NotLoaded != "" {
		line("but", "it is not loaded: "+p.NotLoaded)
	}
	if p.Verdict == "accepted" {
		return
	}
	if p.Verdict == "unknown" {
		line("cannot say", p.Reason)
	} else {
		at := ""
		if p.Insn != nil {
			at = fmt.Sprintf(" at instruction %d", *p.Insn)
		}
		line("kernel", strings.TrimSpace(p.Message+" ("+p.Errno+at+")"))
		line("why", p.Reason)
	}
	writeSource(line, p.Source)
	line("registers", p.Registers)
	writeHistory(line, p.History)
	line("branches", branchText(p.Path, verbose))
	if p.Mend != nil {
		line("mend", p.Mend.Text)
	}
}

// branchText lists the last eight branches of a path, or all.
func branchText(path []VerifyStep, all bool) string {
	from := 0
	if !all && len(path) > 8 {
		from = len(path) - 8
	}
	var steps []string
	if from > 0 {
		steps = append(steps, fmt.Sprintf("%d more", from))
	}
	for _, x := range path[from:] {
		if x.Taken {
			steps = append(steps, fmt.Sprintf("%d taken", x.Insn))
		} else {
			steps = append(steps, fmt.Sprintf("%d not", x.Insn))
		}
	}
	return strings.Join(steps, ", ")
}
