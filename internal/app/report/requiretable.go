package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// WriteRequire writes what objects need as tables.
func WriteRequire(w io.Writer, d *RequireDocument, opt TableOptions) error {
	s := style{opt.Color}
	var b strings.Builder
	for i := range d.Objects {
		if i > 0 {
			b.WriteByte('\n')
		}
		d.Objects[i].write(&b, d.AtLeast, s, opt)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (o *RequireObject) write(b *strings.Builder, atLeast string, s style, opt TableOptions) {
	visible.Fprintf(b, "%s\n%s\n\n", s.bold(o.Object), s.dim(o.evidence()))
	rows := [][]cell{{{text: "PROGRAM"}, {text: "HOOK"}, {text: "OLDEST"}}}
	var shown []*RequireProgram
	for i := range o.Programs {
		p := &o.Programs[i]
		if opt.Quiet && p.HeldBy == nil && p.Oldest != "" {
			continue
		}
		shown = append(shown, p)
		rows = append(rows, p.row(s))
	}
	widths := columnWidths(rows)
	if len(shown) > 0 {
		writeRow(b, rows[0], widths)
	}
	for i, p := range shown {
		writeRow(b, rows[i+1], widths)
		p.details(func(kind, text string) { visible.Fprintf(b, "  %s %s\n", s.dim(fmt.Sprintf("%-9s", kind)), text) }, opt.Verbose)
	}
	if len(shown) > 0 {
		b.WriteByte('\n')
	}
	visible.Fprintf(b, "%s: %s\n", plural(len(o.Programs), "program"), o.summary())
	switch {
	case atLeast == "":
	case !o.counted:
	case len(o.Fails) == 0:
		text := ""
		for _, u := range o.Updates {
			text += fmt.Sprintf("; %s from %s on", u[:strings.LastIndexByte(u, '.')], u)
		}
		visible.Fprintf(b, "%s every release from %s on loads it%s\n", s.green("ok:"), atLeast, text)
	default:
		visible.Fprintf(b, "%s not every release from %s on loads %s\n", s.red("fails:"), atLeast, strings.Join(o.Fails, ", "))
	}
}

// evidence says which releases were asked with their own types.
func (o *RequireObject) evidence() string {
	first, last := o.Releases[0], o.Releases[len(o.Releases)-1]
	return fmt.Sprintf("from %s, the oldest release asked, to %s; types of %s, none here of the others: by rules", first, last, strings.Join(o.Kernels, ", "))
}

// summary says what the object as a whole needs.
func (o *RequireObject) summary() string {
	oldest := cmp.Or(o.Update, o.Oldest)
	switch {
	case len(o.Programs) == 0:
		return "nothing to load"
	case !o.counted:
		return "none that counts without --optional"
	case o.Oldest == "":
		return "no release is known to load all of them"
	case o.From == "":
		return fmt.Sprintf("all load on Linux %s, but not every later release is known to load them", oldest)
	case o.From != o.Oldest:
		return fmt.Sprintf("all load on Linux %s, and on every release from %s on", oldest, o.From)
	}
	return fmt.Sprintf("all load on Linux %s and later", oldest)
}

func (p *RequireProgram) row(s style) []cell {
	oldest, paint := byRules(cmp.Or(p.Update, p.Oldest), p.ByRules), s.green
	if p.Oldest == "" {
		oldest, paint = "none", s.red
	}
	return []cell{{text: p.Name}, {text: p.Section}, {text: oldest, paint: paint}}
}

func byRules(release string, rules bool) string {
	if rules {
		return release + " by rules"
	}
	return release
}

// details are the lines below a program: what holds it back, what it needs without that, releases
// after the oldest that do not load it and those of which nothing is known; with all, every
// release.
func (p *RequireProgram) details(line func(kind, text string), all bool) {
	if h := p.HeldBy; h != nil {
		line("needs", h.Text())
		text := fmt.Sprintf("on %s: %s", h.Release, h.Message)
		if h.Source != "" {
			text += " at " + h.Source
		}
		line("refused", text)
	}
	if n := p.Without; n != nil {
		text := byRules(n.Oldest, n.ByRules)
		if n.HeldBy != nil {
			text += ", then " + n.HeldBy.Text()
		}
		line("without", text)
	}
	past := p.Oldest == "" && p.HeldBy == nil
	for i := 0; i < len(p.Releases); {
		r := &p.Releases[i]
		from := i
		for i < len(p.Releases) && p.Releases[i].alike(r) {
			i++
		}
		past = past || r.Outcome == "loads"
		if !all && r.Outcome != "unknown" && (r.Outcome != "refused" || !past) {
			continue
		}
		text := r.Release
		if i-1 > from {
			text += " to " + p.Releases[i-1].Release
		}
		text = "on " + byRules(text, r.ByRules)
		if r.Update != "" {
			text += ", from " + r.Update + " on"
		}
		if all && len(r.Types) > 0 {
			text += ", types of " + strings.Join(r.Types, " and ")
		}
		if r.Reason != "" {
			text += ": " + r.Reason
		}
		line(r.Outcome, text)
	}
}

// alike reports whether two releases have the same answer for the same reason.
func (r *RequireRelease) alike(o *RequireRelease) bool {
	return r.Outcome == o.Outcome && r.ByRules == o.ByRules && r.Update == o.Update && r.Reason == o.Reason && strings.Join(r.Types, " ") == strings.Join(o.Types, " ")
}

// WriteRequireMarkdown writes a table for a README: which kernels the programs work on.
func WriteRequireMarkdown(w io.Writer, d *RequireDocument) error {
	var b strings.Builder
	for i := range d.Objects {
		o := &d.Objects[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		visible.Fprintf(&b, "|%s|hook|works on|needs|\n|---|---|---|---|\n", cellText(o.Object))
		for j := range o.Programs {
			p := &o.Programs[j]
			need := ""
			if p.HeldBy != nil {
				need = p.HeldBy.Text()
			}
			visible.Fprintf(&b, "|`%s`|%s|%s|%s|\n", cellText(p.Name), cellText(p.Section), cellText(p.worksOn()), cellText(need))
		}
		visible.Fprintf(&b, "\n%s.\n", strings.ToUpper(o.summary()[:1])+o.summary()[1:])
		visible.Fprintf(&b, "By `bpfrun require`, with the types of %s, and by rules where no types are at hand.\n", strings.Join(o.Kernels, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// worksOn names the releases that load a program.
func (p *RequireProgram) worksOn() string {
	switch {
	case p.Oldest == "":
		return "no release known"
	case p.From == "":
		return "Linux " + byRules(cmp.Or(p.Update, p.Oldest), p.ByRules) + "; not every later release is known"
	case p.From != p.Oldest:
		return fmt.Sprintf("Linux %s, and %s and later", byRules(cmp.Or(p.Update, p.Oldest), p.ByRules), p.From)
	}
	return "Linux " + cmp.Or(p.Update, p.Oldest) + " and later" + map[bool]string{true: " (by rules)"}[p.ByRules]
}
