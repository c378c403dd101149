package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// InfoDocument is the JSON of `info`.
type InfoDocument struct {
	Schema      string                `json:"schema"`
	Exit        int                   `json:"exit"`
	Error       *Error                `json:"error"`
	Object      string                `json:"object"`
	ByteOrder   string                `json:"byte_order"`
	License     string                `json:"license"`
	BTF         bool                  `json:"btf"`
	ISA         int                   `json:"isa"`
	Programs    []InfoProgram         `json:"programs"`
	Subprograms []InfoFunction        `json:"subprograms"`
	Maps        []InfoMap             `json:"maps"`
	Globals     map[string]InfoGlobal `json:"globals"`
	Externs     []InfoExtern          `json:"externs"`
	Target      *Target               `json:"target,omitempty"`
	// Missing lists what the object uses but the target lacks.
	Missing  []string `json:"missing,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// InfoProgram is one program of an object.
type InfoProgram struct {
	Name        string   `json:"name"`
	Section     string   `json:"section"`
	Type        string   `json:"type"`
	Attach      string   `json:"attach_type,omitempty"`
	Hook        string   `json:"hook"`
	Insns       int      `json:"insns"`
	Relocations int      `json:"relocations"`
	Helpers     []string `json:"helpers"`
	Sleepable   bool     `json:"sleepable"`
	Autoload    bool     `json:"autoload"`
	Known       bool     `json:"known"`
	Status      string   `json:"status,omitempty"`
	// Verifier is the verdict of the target's verifier, if it was run.
	Verifier *Verdict `json:"verifier,omitempty"`
}

// InfoFunction is one subprogram.
type InfoFunction struct {
	Name    string `json:"name"`
	Section string `json:"section"`
	Insns   int    `json:"insns"`
	Global  bool   `json:"global"`
}

// InfoMap is one map definition.
type InfoMap struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	KeySize    uint32 `json:"key_size"`
	ValueSize  uint32 `json:"value_size"`
	MaxEntries uint32 `json:"max_entries"`
	Flags      uint32 `json:"flags"`
	Section    string `json:"section"`
	Inner      string `json:"inner,omitempty"`
}

// InfoGlobal is one global variable.
type InfoGlobal struct {
	Section string `json:"section"`
	Size    uint32 `json:"size"`
	Type    string `json:"type"`
}

// InfoExtern is one extern symbol.
type InfoExtern struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Weak bool   `json:"weak"`
}

// NewInfoDocument describes an object without a target.
func NewInfoDocument(o *loader.Object) *InfoDocument {
	d := &InfoDocument{
		Schema: Schema, Object: o.Name, ByteOrder: ByteOrderName(o.ByteOrder), License: o.License, BTF: o.BTF != nil, ISA: 1,
		Programs: []InfoProgram{}, Subprograms: []InfoFunction{}, Maps: []InfoMap{}, Globals: map[string]InfoGlobal{}, Externs: []InfoExtern{}, Warnings: o.Warnings,
	}
	for _, p := range o.Programs {
		x := InfoProgram{
			Name: p.Name, Section: p.Section, Type: p.Type.String(), Hook: p.Hook, Insns: len(p.Insns), Relocations: o.Relocations(p.Function),
			Sleepable: p.Sleepable, Autoload: p.Autoload, Known: p.Known, Helpers: helpersOf(p.Insns),
		}
		if p.Attach != 0 {
			x.Attach = p.Attach.String()
		}
		d.Programs = append(d.Programs, x)
	}
	for _, f := range o.Functions {
		for _, in := range f.Insns {
			d.ISA = max(d.ISA, int(in.Info().ISA))
		}
		if f.IsSubprogram() {
			d.Subprograms = append(d.Subprograms, InfoFunction{f.Name, f.Section, len(f.Insns), f.Global})
		}
	}
	for _, m := range o.Maps {
		x := InfoMap{Name: m.Name, Type: m.Type.String(), KeySize: m.KeySize, ValueSize: m.ValueSize, MaxEntries: m.MaxEntries, Flags: m.Flags, Section: m.Section}
		if m.Inner != nil {
			x.Inner = m.Inner.Type.String()
		}
		d.Maps = append(d.Maps, x)
		for _, v := range m.Vars {
			g := InfoGlobal{Section: m.Section, Size: v.Size}
			if o.BTF != nil {
				g.Type = o.BTF.TypeString(v.Type)
			}
			d.Globals[v.Name] = g
		}
	}
	for _, e := range o.Externs {
		d.Externs = append(d.Externs, InfoExtern{e.Name, e.Kind.String(), e.Weak})
	}
	return d
}

func helpersOf(insns []decode.Insn) []string {
	names := []string{}
	for _, in := range insns {
		if in.Op() == decode.OpCallHelper {
			if n := uapi.FuncID(in.Imm).String(); !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// AddTarget adds what the object uses but the target lacks.
func (d *InfoDocument) AddTarget(l *loader.Linked, source string) {
	d.Target = NewTarget(l.Target, source)
	for i, lp := range l.Programs {
		d.Programs[i].Status = lp.Status.String()
		if lp.Err != nil {
			d.Missing = append(d.Missing, lp.Err.Error())
		}
	}
	if l.Err != nil && len(d.Missing) == 0 {
		d.Missing = append(d.Missing, l.Err.Error())
	}
}

// AddVerdict adds the verdict of the target's verifier on a program, nil for none.
func (d *InfoDocument) AddVerdict(lp *loader.LinkedProgram, v *verifier.Verdict) {
	for i := range d.Programs {
		p := &d.Programs[i]
		if p.Name != lp.Name {
			continue
		}
		if v != nil {
			p.Verifier = verdictOf(v)
		}
		if err := lp.Refusal(v.Of(lp)); err != nil {
			p.Status = loader.StatusRefused.String()
			if lp.Static != nil && errors.Is(err, lp.Static) {
				d.Missing = append(d.Missing, err.Error())
			}
		}
	}
}

// WriteInfo writes the description as text.
func WriteInfo(w io.Writer, d *InfoDocument, color bool) error {
	s := style{color}
	var b strings.Builder
	types := "no BTF"
	if d.BTF {
		types = "BTF"
	}
	visible.Fprintf(&b, "%s · %s-endian · ISA v%d · %s · license %q\n", s.bold(d.Object), d.ByteOrder, d.ISA, types, d.License)
	section := func(title string, rows [][]cell) {
		if len(rows) > 1 {
			visible.Fprintf(&b, "\n%s\n", s.bold(title))
			writeAligned(&b, rows)
		}
	}
	header := func(names ...string) []cell {
		row := make([]cell, len(names))
		for i, n := range names {
			row[i] = cell{"  " + n, s.dim}
			if i > 0 {
				row[i].text = n
			}
		}
		return row
	}
	rows := [][]cell{header("NAME", "TYPE", "HOOK", "INSNS", "CO-RE", "STATUS")}
	for _, p := range d.Programs {
		status := p.Status
		if !p.Autoload {
			status = strings.TrimSpace(status + " optional")
		}
		if !p.Known {
			status = strings.TrimSpace(status + " section name not known, use --type")
		}
		rows = append(rows, []cell{{"  " + p.Name, nil}, {p.Type, nil}, {p.Hook, nil}, {fmt.Sprint(p.Insns), nil}, {fmt.Sprint(p.Relocations), nil}, {status, nil}})
	}
	section("programs", rows)
	rows = [][]cell{header("NAME", "SECTION", "INSNS")}
	for _, f := range d.Subprograms {
		rows = append(rows, []cell{{"  " + f.Name, nil}, {f.Section, nil}, {fmt.Sprint(f.Insns), nil}})
	}
	section("subprograms", rows)
	rows = [][]cell{header("NAME", "TYPE", "KEY", "VALUE", "MAX ENTRIES")}
	for _, m := range d.Maps {
		rows = append(rows, []cell{{"  " + m.Name, nil}, {m.Type, nil}, {fmt.Sprint(m.KeySize), nil}, {fmt.Sprint(m.ValueSize), nil}, {fmt.Sprint(m.MaxEntries), nil}})
	}
	section("maps", rows)
	rows = [][]cell{header("NAME", "KIND", "")}
	for _, e := range d.Externs {
		weak := ""
		if e.Weak {
			weak = "weak"
		}
		rows = append(rows, []cell{{"  " + e.Name, nil}, {e.Kind, nil}, {weak, nil}})
	}
	section("externs", rows)
	if d.Target != nil {
		visible.Fprintf(&b, "\non %s", describeTarget(d.Target))
		if len(d.Missing) == 0 {
			b.WriteString(": everything it uses is there\n")
		} else {
			b.WriteString(":\n")
			for _, m := range d.Missing {
				visible.Fprintf(&b, "  %s %s\n", s.red("missing:"), m)
			}
		}
		for i := range d.Programs {
			if v := d.Programs[i].Verifier; v != nil && v.Verdict != "accepted" {
				paint := s.red
				if v.Verdict == "unknown" {
					paint = s.yellow
				}
				visible.Fprintf(&b, "  %s %s: %s\n", paint("verifier:"), d.Programs[i].Name, v.summary)
			}
		}
	}
	for _, warning := range d.Warnings {
		visible.Fprintf(&b, "%s %s\n", s.yellow("warning:"), warning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
