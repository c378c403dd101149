package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/internal/markup"
)

// verdictClass is the colour of a verdict.
func verdictClass(verdict string) string {
	switch verdict {
	case "accepted":
		return "good"
	case "refused":
		return "bad"
	}
	return "odd"
}

// WriteVerifyHTML writes verdicts as one page: a refusal with the path that leads to it.
func WriteVerifyHTML(w io.Writer, d VerifyDocuments) error {
	title, about := "bpfrun verify", fmt.Sprintf("%d objects on kernels", len(d.Results))
	if len(d.Results) == 1 {
		title, about = d.Results[0].Object, "the verifier of "+describeTarget(d.Results[0].Target)
	}
	count := map[string]int{}
	for _, doc := range d.Results {
		for i := range doc.Programs {
			count[doc.Programs[i].Verdict.Verdict]++
		}
	}
	return writePage(w, title, about, countChips(count, verdictClass), func(p *reportPage) {
		for _, doc := range d.Results {
			if len(d.Results) > 1 {
				p.Printf("<h2>%s</h2>\n<p class=\"mute\">%s</p>\n", doc.Object, describeTarget(doc.Target))
			}
			p.failure(doc.Error)
			p.verdicts(doc)
		}
	})
}

func (p *reportPage) verdicts(d *VerifyDocument) {
	most := 1
	for i := range d.Programs {
		most = max(most, d.Programs[i].ProcessedInsns)
	}
	var rows [][]markup.HTML
	for i := range d.Programs {
		x := &d.Programs[i]
		rows = append(rows, []markup.HTML{
			markup.Escape(x.Name), markup.Escape(x.Section), markup.Tag(verdictClass(x.Verdict.Verdict), x.Verdict.Verdict),
			markup.Sprintf(`<span class="bar" aria-hidden="true"><i style="width:%.1f%%"></i></span> %d`, 100*float64(x.ProcessedInsns)/float64(most), x.ProcessedInsns),
			markup.Sprintf("%d", x.TotalStates), markup.Sprintf("%d", x.PeakStates),
		})
	}
	p.table([]heading{{name: "program"}, {name: "section", wide: true}, {name: "verdict"}, {"processed", true, false}, {"states", true, true}, {"peak", true, true}}, rows)
	for i := range d.Programs {
		x := &d.Programs[i]
		if x.Verdict.Verdict == "accepted" && x.NotLoaded == "" && x.Assumes == "" {
			continue
		}
		p.Printf("<section class=\"program\">\n<h2>%s %s</h2>\n<p class=\"mute\">%s</p>\n", x.Name, markup.Tag(verdictClass(x.Verdict.Verdict), x.Verdict.Verdict), x.Section)
		p.verdict(&x.Verdict, false)
		p.Write("</section>\n")
	}
}

// verdict writes a verdict with its reason and path. A page that has shown the reason asks for the
// rest only.
func (p *reportPage) verdict(v *Verdict, known bool) {
	if v.Assumes != "" {
		p.Printf("<p>assumes %s</p>\n", v.Assumes)
	}
	if v.NotLoaded != "" {
		p.Printf("<p>%s %s</p>\n", markup.Tag("odd", "not loaded"), v.NotLoaded)
	}
	if v.Verdict == "accepted" {
		p.Printf("<p class=\"mute\">the verifier accepts it: %s processed, %s</p>\n", plural(v.ProcessedInsns, "instruction"), plural(v.TotalStates, "state"))
		return
	}
	if !known {
		if v.Message != "" {
			at := ""
			if v.Insn != nil {
				at = fmt.Sprintf(" at instruction %d", *v.Insn)
			}
			p.Printf("<pre class=\"bad\">%s (%s%s)</pre>\n", v.Message, v.Errno, at)
		}
		if v.Reason != "" {
			p.Printf("<p>%s</p>\n", v.Reason)
		}
	}
	if s := v.Source; s != nil {
		p.Printf("<pre>%s:%d\n%s</pre>\n", s.File, s.Line, s.Text)
	}
	if v.Mend != nil {
		p.Printf("<p>%s %s</p>\n", markup.Tag("good", "mend"), v.Mend.Text)
	}
	if v.Registers != "" {
		p.Printf("<h3>registers there</h3>\n<pre>%s</pre>\n", v.Registers)
	}
	if len(v.History) > 0 {
		p.Write("<h3>where the value came from</h3>\n<ol class=\"path\">\n")
		for _, c := range v.History {
			p.Printf("<li><code>%d: %s</code> <span class=\"mute\">%s = %s</span>", c.Insn, c.Text, c.What, c.Now)
			if c.Source != nil {
				p.Printf("<br><span class=\"mono\">%d: %s</span>", c.Source.Line, c.Source.Text)
			}
			p.Write("</li>\n")
		}
		p.Write("</ol>\n")
	}
	p.path(v)
}

// mostBranches is the number of the last branches of a path that a page shows.
const mostBranches = 60

// path draws the branches that lead to a refusal.
func (p *reportPage) path(v *Verdict) {
	if len(v.Path) == 0 {
		return
	}
	p.Write("<h3>the path</h3>\n<ol class=\"path\">\n")
	from := max(0, len(v.Path)-mostBranches)
	if from > 0 {
		p.Printf("<li class=\"mute\">%d earlier branches</li>\n", from)
	}
	for _, x := range v.Path[from:] {
		word := markup.Tag("dim", "not taken")
		if x.Taken {
			word = markup.Tag("odd", "taken")
		}
		p.Printf("<li>%s instruction %d", word, x.Insn)
		if s := x.source; s != nil {
			p.Printf(" <span class=\"mono\">%d: %s</span>", s.Line, strings.TrimSpace(s.Text))
		}
		p.Write("</li>\n")
	}
	if v.Insn != nil {
		p.Printf("<li class=\"end\">%s instruction %d", markup.Tag("bad", "refused"), *v.Insn)
		if s := v.Source; s != nil {
			p.Printf(" <span class=\"mono\">%d: %s</span>", s.Line, s.Text)
		}
		p.Write("</li>\n")
	}
	p.Write("</ol>\n")
}
