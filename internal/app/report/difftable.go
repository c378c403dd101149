package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// WriteDiff writes the comparison of two builds as a table for each kernel. Programs that did not
// change are counted only, unless opt.Verbose is set.
func WriteDiff(w io.Writer, d *DiffDocument, opt TableOptions) error {
	s := style{opt.Color}
	var b strings.Builder
	for i := range d.Results {
		if i > 0 {
			b.WriteByte('\n')
		}
		d.Results[i].write(&b, d, s, opt)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *DiffResult) write(b *strings.Builder, d *DiffDocument, s style, opt TableOptions) {
	visible.Fprintf(b, "%s → %s on %s\n\n", s.bold(d.Old.Object), s.bold(d.New.Object), describeTarget(r.Target))
	rows := [][]cell{{{text: "PROGRAM"}, {text: "VERDICT"}, {text: "PROCESSED"}, {text: "STACK"}, {text: "INSNS"}, {text: "OLDEST"}, {text: "BEHAVIOUR"}}}
	var shown []*DiffProgram
	for i := range r.Programs {
		p := &r.Programs[i]
		if opt.Verbose || p.changed() {
			shown = append(shown, p)
			rows = append(rows, p.row(s))
		}
	}
	if len(shown) > 0 {
		widths := columnWidths(rows)
		writeRow(b, rows[0], widths)
		for i, p := range shown {
			writeRow(b, rows[i+1], widths)
			p.write(b, s)
		}
		b.WriteByte('\n')
	}
	for _, m := range r.Maps {
		visible.Fprintf(b, "map %s: %s\n", m.Name, m.text())
	}
	for _, l := range r.Left {
		visible.Fprintf(b, "%s\n", s.dim(strings.TrimSpace(fmt.Sprintf("not compared: %s with %s: %s", cmp.Or(l.Program, "all"), l.Input, l.Reason))))
	}
	if len(r.Maps)+len(r.Left) > 0 {
		b.WriteByte('\n')
	}
	visible.Fprintf(b, "%s: %s; file %s\n", plural(len(r.Programs), "program"), r.summary(), change(int(d.Old.Size), int(d.New.Size), " bytes"))
}

func (m *DiffMap) text() string {
	switch {
	case m.Old == "":
		return "added (" + m.New + ")"
	case m.New == "":
		return "removed (" + m.Old + ")"
	}
	return strings.Join(m.Changes, ", ")
}

func (p *DiffProgram) row(s style) []cell {
	switch {
	case p.Old == nil:
		n := p.New
		return []cell{{text: p.Name}, {text: "added, " + verdictWord(n.Status), paint: paintOf(n.Status, s)}, {text: fmt.Sprint(n.Processed)}, {text: fmt.Sprint(n.Stack)}, {text: fmt.Sprint(n.Insns)}, {text: byRules(n.Oldest, n.ByRules)}, {}}
	case p.New == nil:
		return []cell{{text: p.Name}, {text: "removed", paint: s.yellow}}
	}
	verdict := verdictWord(p.New.Status)
	if p.Old.Status != p.New.Status {
		verdict = verdictWord(p.Old.Status) + " → " + verdict
	}
	behaviour, paint := "not compared", s.yellow
	switch {
	case len(p.Differences) > 0:
		behaviour, paint = "differs", s.red
	case p.Inputs > 0:
		behaviour, paint = "same", s.green
	}
	oldest := byRules(p.New.Oldest, p.New.ByRules)
	if p.Old.Oldest != p.New.Oldest {
		oldest = cmp.Or(p.Old.Oldest, "none") + " → " + cmp.Or(oldest, "none")
	}
	return []cell{
		{text: p.Name}, {text: verdict, paint: paintOf(p.New.Status, s)}, {text: change(p.Old.Processed, p.New.Processed, "")}, {text: change(p.Old.Stack, p.New.Stack, "")},
		{text: change(p.Old.Insns, p.New.Insns, "")}, {text: oldest}, {text: behaviour, paint: paint},
	}
}

// write prints the lines below a program.
func (p *DiffProgram) write(b *strings.Builder, s style) {
	line := func(kind, text string) { visible.Fprintf(b, "  %s %s\n", s.dim(fmt.Sprintf("%-9s", kind)), text) }
	for _, x := range p.details(false) {
		line(x.kind, x.text)
	}
	for _, x := range p.Differences {
		line("differs", x.Input+": "+x.Text)
	}
	for _, x := range p.Exceeds {
		line("limit", x.text())
	}
}

// limitNames are the figures in words.
var limitNames = map[string]string{LimitInsns: "processed instructions", LimitSize: "instructions", LimitStack: "bytes of stack"}

func (x *DiffExcess) text() string {
	return fmt.Sprintf("%s %s, more than %g %%", limitNames[x.What], change(x.Old, x.New, ""), x.Limit)
}

// change shows a figure before and after: "8", or "8 → 12 (+50 %)".
func change(older, newer int, unit string) string {
	switch {
	case older == newer:
		return fmt.Sprintf("%d%s", newer, unit)
	case older == 0:
		return fmt.Sprintf("%d → %d%s", older, newer, unit)
	}
	return fmt.Sprintf("%d → %d%s (%+.0f %%)", older, newer, unit, 100*(float64(newer)-float64(older))/float64(older))
}

func verdictWord(status string) string {
	switch machine.Status(status) {
	case machine.StatusOK:
		return "accepted"
	case machine.StatusNotSimulated:
		return "unknown"
	case machine.StatusAbsent, machine.StatusRefused, machine.StatusDisabled, machine.StatusFault, machine.StatusUnknownHook:
	}
	return status
}

func paintOf(status string, s style) func(string) string {
	switch machine.Status(status) {
	case machine.StatusOK:
		return s.green
	case machine.StatusRefused:
		return s.red
	case machine.StatusAbsent, machine.StatusDisabled, machine.StatusFault, machine.StatusUnknownHook, machine.StatusNotSimulated:
	}
	return s.yellow
}

// summary counts what changed.
func (r *DiffResult) summary() string {
	count := map[string]int{}
	for i := range r.Programs {
		p := &r.Programs[i]
		switch {
		case p.Old == nil:
			count["added"]++
		case p.New == nil:
			count["removed"]++
		case p.changed():
			count["changed"]++
		default:
			count["the same"]++
		}
		if p.Refused {
			count["newly refused"]++
		}
		if len(p.Differences) > 0 {
			count["with other results"]++
		}
		if len(p.Exceeds) > 0 {
			count["above a limit"]++
		}
	}
	var parts []string
	for _, what := range []string{"the same", "changed", "added", "removed", "newly refused", "with other results", "above a limit"} {
		if count[what] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[what], what))
		}
	}
	return strings.Join(parts, ", ")
}

// WriteDiffAnnotations writes annotations for GitHub Actions: an error for a program that a kernel
// refuses only now and for a figure above its limit, a warning for other results.
func WriteDiffAnnotations(w io.Writer, d *DiffDocument) error {
	file := func(name string) string { return cmp.Or(d.Paths[name], name) }
	for i := range d.Results {
		r := &d.Results[i]
		for j := range r.Programs {
			p := &r.Programs[j]
			var list []annotation
			at := annotation{level: "error", file: file(d.New.Object), title: p.Name + " on " + r.Target.Name}
			if p.Refused {
				a := at
				a.text = "refused only in the new build: " + p.New.Reason
				if name, line, ok := strings.Cut(p.New.Source, ":"); ok {
					a.file, a.line = file(name), line
				}
				list = append(list, a)
			}
			for _, x := range p.Exceeds {
				a := at
				a.text = x.text()
				list = append(list, a)
			}
			for _, x := range p.Differences {
				a := at
				a.level, a.text = "warning", x.Input+": "+x.Text
				list = append(list, a)
			}
			for _, a := range list {
				if _, err := visible.Fprintln(w, a); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
