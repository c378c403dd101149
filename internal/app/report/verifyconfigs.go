package report

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/configs"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// ConfigsDocument is the JSON of `verify --configs` and `verify --config` for one object and one
// kernel.
type ConfigsDocument struct {
	Schema   string           `json:"schema"`
	Exit     int              `json:"exit"`
	Object   string           `json:"object"`
	Target   *Target          `json:"target,omitempty"`
	Programs []ConfigsProgram `json:"programs"`
}

// ConfigsDocuments is the JSON of several objects or kernels.
type ConfigsDocuments struct {
	Schema  string             `json:"schema"`
	Exit    int                `json:"exit"`
	Results []*ConfigsDocument `json:"results"`
}

// ConfigsProgram is the verdict on a program in many configurations.
type ConfigsProgram struct {
	Name    string `json:"name"`
	Section string `json:"section"`
	// Verdict is refused if one configuration is.
	Verdict string `json:"verdict"`
	// Passes is how often it was verified, in all configurations at once or in parts of them.
	Passes int `json:"passes,omitempty"`
	// Reads are the constants that it reads, Decides those that decide, Together those that decide
	// only with others.
	Reads    []string   `json:"reads"`
	Decides  []string   `json:"decides"`
	Together [][]string `json:"together,omitempty"`
	// Parts are sets of configurations with one verdict each.
	Parts []ConfigsPart `json:"parts"`
	// Unreached are lines that no configuration reaches, if all are accepted.
	Unreached []VerifySource `json:"unreached,omitempty"`
	// Undecided is how many parts are left, because the passes that they take are too many.
	Undecided int `json:"undecided,omitempty"`
}

// ConfigsPart is a set of configurations.
type ConfigsPart struct {
	// When describes the configurations, "" for all; Set is the name of a given one.
	When string `json:"when,omitempty"`
	Set  string `json:"set,omitempty"`
	// Seen is a refused configuration of the set that was verified by itself.
	Seen           string        `json:"seen,omitempty"`
	Verdict        string        `json:"verdict"`
	Message        string        `json:"message,omitempty"`
	Source         *VerifySource `json:"source,omitempty"`
	ProcessedInsns int           `json:"processed_insns"`
}

// NewConfigsDocument returns a document without programs.
func NewConfigsDocument(l *loader.Linked, source string) *ConfigsDocument {
	return &ConfigsDocument{Schema: Schema, Object: l.Object.Name, Target: NewTarget(l.Target, source), Programs: []ConfigsProgram{}}
}

// program returns the row of a program.
func (d *ConfigsDocument) program(lp *loader.LinkedProgram) *ConfigsProgram {
	for i := range d.Programs {
		if d.Programs[i].Name == lp.Name {
			return &d.Programs[i]
		}
	}
	d.Programs = append(d.Programs, ConfigsProgram{Name: lp.Name, Section: lp.Section, Verdict: verifier.Accepted.String(), Reads: []string{}, Decides: []string{}, Parts: []ConfigsPart{}})
	return &d.Programs[len(d.Programs)-1]
}

// worse makes a verdict that of the program unless that is worse.
func (p *ConfigsProgram) worse(verdict string) {
	if p.Verdict != verifier.Refused.String() && verdict != verifier.Accepted.String() {
		p.Verdict = verdict
	}
}

// Add adds the verdict on all configurations.
func (d *ConfigsDocument) Add(lp *loader.LinkedProgram, prog *verifier.Program, r *configs.Result) {
	p := d.program(lp)
	p.worse(r.Outcome().String())
	p.Passes, p.Undecided = r.Passes, r.Left
	names := func(list []int) []string {
		out := []string{}
		for _, i := range list {
			out = append(out, r.Constants[i].Name)
		}
		return out
	}
	p.Reads, p.Decides = names(r.Read), names(r.Decide)
	for _, list := range r.Together() {
		p.Together = append(p.Together, names(list))
	}
	for i := range r.Parts {
		x := &r.Parts[i]
		p.Parts = append(p.Parts, newConfigsPart(x.Verdict, ConfigsPart{When: x.Text(r.Constants), Seen: x.SeenText(r.Constants)}))
	}
	for i, l := range prog.Lines {
		if l.Insn >= len(r.Reached) || l.Line == 0 {
			continue
		}
		end := len(r.Reached)
		if i+1 < len(prog.Lines) {
			end = min(end, prog.Lines[i+1].Insn)
		}
		reached := false
		for _, is := range r.Reached[l.Insn:end] {
			reached = reached || is
		}
		if !reached {
			p.Unreached = append(p.Unreached, VerifySource{l.File, l.Line, strings.TrimSpace(l.Text)})
		}
	}
}

func newConfigsPart(v *verifier.Verdict, part ConfigsPart) ConfigsPart {
	one := newVerdict(v)
	part.Verdict, part.Message, part.Source, part.ProcessedInsns = one.Verdict, one.Message, one.Source, one.ProcessedInsns
	if part.Message == "" {
		part.Message = one.Reason
	}
	return part
}

// AddUnlinked adds a program that could not be linked.
func (d *ConfigsDocument) AddUnlinked(lp *loader.LinkedProgram, err error) {
	d.AddSetError(lp, "", err)
}

// AddSetError adds a program that could not be linked in a configuration.
func (d *ConfigsDocument) AddSetError(lp *loader.LinkedProgram, set string, err error) {
	p := d.program(lp)
	p.worse(verifier.Refused.String())
	p.Parts = append(p.Parts, ConfigsPart{Set: set, Verdict: verifier.Refused.String(), Message: "it cannot be linked for this kernel: " + err.Error()})
}

// AddSet adds the verdict in a given configuration.
func (d *ConfigsDocument) AddSet(lp *loader.LinkedProgram, set string, v *verifier.Verdict) {
	p := d.program(lp)
	p.worse(v.Outcome.String())
	p.Parts = append(p.Parts, newConfigsPart(v, ConfigsPart{Set: set}))
}

// WriteConfigs writes the verdicts in many configurations as a table.
func WriteConfigs(w io.Writer, d *ConfigsDocument, opt TableOptions) error {
	s := style{opt.Color}
	var b strings.Builder
	visible.Fprintf(&b, "%s on %s\n\n", s.bold(d.Object), describeTarget(d.Target))
	rows := [][]cell{{{text: "PROGRAM"}, {text: "HOOK"}, {text: "VERDICT"}, {text: "PASSES"}}}
	count := map[string]int{}
	var shown []*ConfigsProgram
	for i := range d.Programs {
		p := &d.Programs[i]
		count[p.Verdict]++
		if opt.Quiet && p.Verdict == "accepted" {
			continue
		}
		shown = append(shown, p)
		paint := map[string]func(string) string{"accepted": s.green, "refused": s.red}[p.Verdict]
		if paint == nil {
			paint = s.yellow
		}
		passes := fmt.Sprint(p.Passes)
		if p.Passes == 0 {
			passes = "-"
		}
		rows = append(rows, []cell{{text: p.Name}, {text: p.Section}, {text: p.Verdict, paint: paint}, {text: passes}})
	}
	widths := columnWidths(rows)
	if len(shown) > 0 {
		writeRow(&b, rows[0], widths)
	}
	for i, p := range shown {
		writeRow(&b, rows[i+1], widths)
		p.write(func(kind, text string) { visible.Fprintf(&b, "  %s %s\n", s.dim(fmt.Sprintf("%-9s", kind)), text) })
	}
	if len(shown) > 0 {
		b.WriteByte('\n')
	}
	visible.Fprintf(&b, "%s: %d accepted in all configurations, %d refused in some, %d unknown\n", plural(len(d.Programs), "program"), count["accepted"], count["refused"], count["unknown"])
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *ConfigsProgram) write(line func(kind, text string)) {
	if len(p.Reads) > 0 {
		line("reads", strings.Join(p.Reads, ", "))
	}
	for i := range p.Parts {
		x := &p.Parts[i]
		text := x.When
		if x.Set != "" {
			text = x.Set
		}
		if text == "" {
			text = "all configurations"
		}
		if x.Verdict != "accepted" {
			text += ": " + x.Message
			if x.Source != nil {
				text += fmt.Sprintf(" at %s:%d", path.Base(x.Source.File), x.Source.Line)
			}
			if x.Seen != "" {
				text += " (seen with " + x.Seen + ")"
			}
		}
		line(x.Verdict, text)
	}
	for _, t := range p.Together {
		line("together", strings.Join(t, " and ")+" decide together: none of them alone")
	}
	if p.Undecided > 0 {
		line("undecided", plural(p.Undecided, "part")+" of the configurations would take too many passes")
	}
	for i, u := range p.Unreached {
		kind := ""
		if i == 0 {
			kind = "unreached"
		}
		line(kind, fmt.Sprintf("%s:%d  %s", path.Base(u.File), u.Line, u.Text))
	}
}
