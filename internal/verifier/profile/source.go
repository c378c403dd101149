package profile

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/bpfrun/bpfrun/internal/markup"
	"github.com/bpfrun/bpfrun/internal/sourcepage"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// Source is how a file's lines are found; nil reads files.
type Source func(file string) ([]string, bool)

// file is a source file of a profile.
type file struct {
	name  string
	lines []sourcepage.Line
	costs map[int]*Line
}

// files returns the source files, the most expensive first.
func (r *Profile) files(read Source) []file {
	if read == nil {
		read = sourcepage.Read
	}
	var out []file
	byName := map[string]int{}
	for i := range r.Lines {
		l := &r.Lines[i]
		if l.Place.Line == 0 {
			continue
		}
		n, ok := byName[l.File]
		if !ok {
			n = len(out)
			byName[l.File] = n
			out = append(out, file{name: l.File, costs: map[int]*Line{}})
		}
		out[n].costs[l.Place.Line] = l
	}
	for i := range out {
		texts := map[int]string{}
		for n, l := range out[i].costs {
			texts[n] = l.Text
		}
		out[i].lines = sourcepage.Whole(out[i].name, texts, read)
	}
	return out
}

// WriteAnnotated writes the source with what each line costs: instructions, their share, states,
// and paths that ended there because an earlier state covers them.
func (r *Profile) WriteAnnotated(w io.Writer, read Source) error {
	var b strings.Builder
	for _, f := range r.files(read) {
		visible.Fprintf(&b, "%s, program %s: %d instructions, %d states\n", f.name, r.Program, r.Insns, r.States)
		visible.Fprintf(&b, "%8s %6s %7s %7s\n", "INSNS", "SHARE", "STATES", "PRUNED")
		for _, l := range f.lines {
			c := f.costs[l.Number]
			switch {
			case l.State == "gap":
				visible.Fprintf(&b, "%31s ...\n", "")
			case c == nil:
				visible.Fprintf(&b, "%31s %5d  %s\n", "", l.Number, l.Text)
			default:
				visible.Fprintf(&b, "%8d %5.1f%% %7d %7d %5d  %s\n", c.Processed, r.Share(c.Processed), c.States, c.Pruned, l.Number, l.Text)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteHTML writes one self-contained page: for every program what costs most, what to change, and
// the source as a heat map.
func WriteHTML(w io.Writer, title string, profiles []*Profile, read Source) error {
	var p markup.Page
	sourcepage.Begin(&p, title)
	p.Printf("<header>\n<h1>%s</h1>\n", title)
	if len(profiles) > 1 {
		p.Write(`<label>Program <select id="kernel">`)
		for i, r := range profiles {
			p.Printf(`<option value="p%d">%s</option>`, i, r.Program)
		}
		p.Write("</select></label>\n")
	}
	for i, r := range profiles {
		p.Printf(`<dl data-view="p%d"%s><div><dt>Program</dt><dd>%s</dd></div><div><dt>Instructions processed</dt><dd>%d</dd></div><div><dt>States</dt><dd>%d</dd></div></dl>`+"\n", i, hidden(i), r.Program, r.Insns, r.States)
	}
	p.Write("</header>\n<main>\n")
	for i, r := range profiles {
		p.Printf("<section data-view=\"p%d\"%s>\n", i, hidden(i))
		r.html(&p, fmt.Sprintf("p%d", i), read)
		p.Write("</section>\n")
	}
	p.Write("</main>\n")
	sourcepage.End(&p)
	_, err := io.WriteString(w, p.String())
	return err
}

// hidden returns an attribute that hides all views but the first.
func hidden(i int) markup.HTML {
	if i == 0 {
		return ""
	}
	return " hidden"
}

func (r *Profile) html(p *markup.Page, id string, read Source) {
	if len(r.Advice) > 0 {
		p.Write("<h2>What to change</h2>\n<ul>\n")
		for _, a := range r.Advice {
			p.Printf("<li>%s: %s</li>\n", a.At, a.Text)
		}
		p.Write("</ul>\n")
	}
	for _, t := range r.Tables(htmlRows) {
		if len(t.Rows) == 0 {
			continue
		}
		p.Printf("<h2>%s</h2>\n<div class=\"scroll\"><table class=\"files\"><thead><tr>", t.Title)
		for _, h := range t.Head {
			p.Printf("<th>%s</th>", h)
		}
		p.Write("</tr></thead><tbody>\n")
		for _, row := range t.Rows {
			p.Write("<tr>")
			for _, c := range row {
				p.Printf("<td>%s</td>", c)
			}
			p.Write("</tr>\n")
		}
		p.Write("</tbody></table></div>\n")
	}
	for n, f := range r.files(read) {
		hottest := 0
		for _, l := range f.costs {
			hottest = max(hottest, l.Processed)
		}
		p.Printf("<h2>%s</h2>\n", f.name)
		for i := range f.lines {
			l := &f.lines[i]
			c := f.costs[l.Number]
			if c == nil || l.State == "gap" {
				continue
			}
			// By the root, so that lines of a hundredth still show.
			l.State, l.Heat, l.Count = "heat", math.Sqrt(float64(c.Processed)/float64(max(hottest, 1))), fmt.Sprint(c.Processed)
			l.Notes = []string{
				fmt.Sprintf("%d instructions, %.1f%% of all; %d with the functions called from here", c.Processed, r.Share(c.Processed), c.WithCalls),
				fmt.Sprintf("%d states kept, %d paths ended here because an earlier state covers them", c.States, c.Pruned),
			}
			for i := range r.Branches {
				if b := &r.Branches[i]; b.File == f.name && b.Place.Line == l.Number {
					l.Notes = append(l.Notes, fmt.Sprintf("branch %d: both sides explored %d times, %d instructions on the second", b.Insn, b.Both, b.Second))
				}
			}
		}
		sourcepage.WriteLines(p, fmt.Sprintf("%sf%d", id, n), f.lines)
	}
}

// htmlRows is how many rows tables have on pages.
const htmlRows = 40

// Table is a table of a profile.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
	// Left is how many rows are left out.
	Left int
}

// Tables returns the profile as tables of at most n rows.
func (r *Profile) Tables(n int) []Table {
	share := func(x int) string { return fmt.Sprintf("%.1f%%", r.Share(x)) }
	lines := Table{Title: "Lines", Head: []string{"LINE", "INSNS", "SHARE", "WITH CALLS", "STATES", "PRUNED", "SOURCE"}}
	for _, l := range r.Lines {
		lines.add(n, l.String(), l.Processed, share(l.Processed), l.WithCalls, l.States, l.Pruned, text(l.Text))
	}
	branches := Table{Title: "Branches", Head: []string{"BRANCH", "INSN", "BOTH SIDES", "SECOND SIDE", "SHARE", "ENDED AT ONCE", "SOURCE"}}
	for _, b := range r.Branches {
		branches.add(n, b.String(), b.Insn, b.Both, b.Second, share(b.Second), b.AtOnce, text(b.Text))
	}
	loops := Table{Title: "Loops", Head: []string{"LOOP", "KIND", "ENTERED", "TURNS", "INSNS", "SHARE", "NEW IN EACH TURN"}}
	for _, l := range r.Loops {
		loops.add(n, l.String(), l.Kind, l.Entered, l.Turns, l.Processed, share(l.Processed), l.Differs)
	}
	calls := Table{Title: "Calls", Head: []string{"CALL", "OF", "KIND", "TIMES", "INSNS", "SHARE", "STATES"}}
	for _, c := range r.Calls {
		calls.add(n, c.String(), c.Callee, c.Kind, c.Times, c.Processed, share(c.Processed), c.States)
	}
	hot := Table{Title: "Hottest path", Head: []string{"BRANCH", "INSN", "SIDE", "TIMES", "BELOW", "OTHER SIDE", "SOURCE"}}
	for _, s := range r.Hot {
		hot.add(n, s.String(), s.Insn, s.Side, s.Times, s.Below, s.Other, text(s.Text))
	}
	apart := Table{Title: "States that almost matched", Head: []string{"AT", "APART BY", "ALONE", "WITH OTHERS", "BECAUSE", "KEPT", "NEW"}}
	for _, a := range r.Apart {
		if !a.Loop && a.Alone > 0 {
			apart.add(n, a.At, a.what(), a.Alone, a.Also, a.Kind, a.Kept, a.Now)
		}
	}
	return []Table{lines, branches, loops, calls, hot, apart}
}

func text(s string) string { return strings.TrimSpace(s) }

func (t *Table) add(n int, cells ...any) {
	if len(t.Rows) == n {
		t.Left++
		return
	}
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.Rows = append(t.Rows, row)
}
