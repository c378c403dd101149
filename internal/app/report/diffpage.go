package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/internal/markup"
)

// WriteDiffHTML writes the comparison of two builds as one page.
func WriteDiffHTML(w io.Writer, d *DiffDocument) error {
	count := map[string]int{}
	for i := range d.Results {
		for j := range d.Results[i].Programs {
			count[d.Results[i].Programs[j].word()]++
		}
	}
	about := fmt.Sprintf("two builds on %s; file %s", plural(len(d.Results), "kernel"), change(int(d.Old.Size), int(d.New.Size), " bytes"))
	return writePage(w, d.Old.Object+" → "+d.New.Object, about, countChips(count, diffClass), func(p *reportPage) {
		for i := range d.Results {
			r := &d.Results[i]
			p.Printf("<h2>%s</h2>\n<p class=\"mute\">%s</p>\n", describeTarget(r.Target), r.summary())
			p.diffPrograms(r)
			var list []item
			for j := range r.Maps {
				list = append(list, item{"map " + r.Maps[j].Name, r.Maps[j].text()})
			}
			for _, l := range r.Left {
				list = append(list, item{"not compared", strings.TrimSpace(l.Program + " with " + l.Input + ": " + l.Reason)})
			}
			p.items(list)
		}
	})
}

// word says in a word what became of a program.
func (p *DiffProgram) word() string {
	switch {
	case p.Refused:
		return "newly refused"
	case len(p.Exceeds) > 0:
		return "above a limit"
	case len(p.Differences) > 0:
		return "with other results"
	case p.Old == nil:
		return "added"
	case p.New == nil:
		return "removed"
	case p.changed():
		return "changed"
	}
	return "the same"
}

func diffClass(word string) string {
	switch word {
	case "newly refused", "above a limit":
		return "bad"
	case "with other results", "removed":
		return "odd"
	case "the same":
		return "dim"
	}
	return "good"
}

func (p *reportPage) diffPrograms(r *DiffResult) {
	most := 1
	for i := range r.Programs {
		for _, f := range []*DiffFacts{r.Programs[i].Old, r.Programs[i].New} {
			if f != nil {
				most = max(most, f.Processed)
			}
		}
	}
	bar := func(f *DiffFacts, class string) markup.HTML {
		if f == nil {
			return ""
		}
		return markup.Sprintf(`<span class="bar" style="display:block;width:8rem;margin:.15rem 0" aria-hidden="true"><i class="%s" style="width:%.1f%%"></i></span>`, class, 100*float64(f.Processed)/float64(most))
	}
	var rows [][]markup.HTML
	for i := range r.Programs {
		x := &r.Programs[i]
		cells := x.row(style{})
		for len(cells) < 7 {
			cells = append(cells, cell{})
		}
		rows = append(rows, []markup.HTML{
			markup.Escape(x.Name), markup.Tag(diffClass(x.word()), x.word()), markup.Escape(cells[1].text), markup.Escape(cells[2].text) + bar(x.Old, "k7") + bar(x.New, "k0"),
			markup.Escape(cells[3].text), markup.Escape(cells[4].text), markup.Escape(cells[5].text), markup.Escape(cells[6].text),
		})
	}
	p.table([]heading{{name: "program"}, {name: ""}, {name: "verdict", wide: true}, {name: "processed"}, {"stack", false, true}, {"instructions", false, true}, {"oldest release", false, true}, {"behaviour", false, true}}, rows)
	p.Write("<ul class=\"keys\"><li><i class=\"k7\"></i>before</li><li><i class=\"k0\"></i>now</li></ul>\n")
	for i := range r.Programs {
		x := &r.Programs[i]
		var list []item
		for _, t := range x.details(false) {
			list = append(list, item(t))
		}
		for _, t := range x.Differences {
			list = append(list, item{"differs", t.Input + ": " + t.Text})
		}
		for j := range x.Exceeds {
			list = append(list, item{"limit", x.Exceeds[j].text()})
		}
		if len(list) > 0 {
			p.Printf("<h3>%s</h3>\n", x.Name)
			p.items(list)
		}
	}
}
