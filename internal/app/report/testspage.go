package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/markup"
)

// WriteTestsHTML writes the results of tests as one page: what failed first, a row for each file
// with a cell for each kernel, histograms, and what runs did where there are documents.
func WriteTestsHTML(w io.Writer, suites []*Suite, docs []*RunDocument, covered ...Covered) error {
	c := Count(suites)
	var chips []chip
	for _, x := range []struct {
		n           int
		class, word string
	}{{c.Failed, "bad", "failed"}, {c.Unknown, "odd", "unknown-hook"}, {c.Passed, "good", "passed"}, {c.Skipped, "dim", "skipped"}} {
		if x.n > 0 {
			chips = append(chips, chip{x.class, fmt.Sprintf("%d %s", x.n, x.word)})
		}
	}
	var targets, files []string
	seen := map[string]bool{}
	by := map[string]map[string]*Suite{}
	took := time.Duration(0)
	for _, s := range suites {
		took += s.Took
		if s.Target != "" && !seen["t"+s.Target] {
			seen["t"+s.Target] = true
			targets = append(targets, s.Target)
		}
		if by[s.File] == nil {
			by[s.File] = map[string]*Suite{}
			files = append(files, s.File)
		}
		by[s.File][s.Target] = s
	}
	about := fmt.Sprintf("%s on %s, %.2f s of tests", plural(len(files), "file"), plural(len(targets), "kernel"), took.Seconds())
	return writePage(w, "bpfrun test", about, chips, func(p *reportPage) {
		p.coverage(covered)
		p.failures(suites)
		columns := []heading{{name: "file"}}
		for _, t := range targets {
			columns = append(columns, heading{name: t})
		}
		var rows [][]markup.HTML
		for _, f := range files {
			row := []markup.HTML{breakable(f)}
			for _, t := range targets {
				s := by[f][t]
				if s == nil {
					s = by[f][""] // it failed before it had a kernel
				}
				row = append(row, suiteCell(s))
			}
			rows = append(rows, row)
		}
		if len(targets) > 0 {
			p.Write("<h2>all files</h2>\n")
			p.table(columns, rows)
		}
		for _, s := range suites {
			p.cases(s)
		}
		for _, d := range docs {
			p.recorded(d)
		}
	})
}

func suiteCell(s *Suite) markup.HTML {
	if s == nil {
		return markup.Tag("dim", "–")
	}
	c := Count([]*Suite{s})
	switch {
	case c.Failed > 0:
		return markup.Tag("bad", fmt.Sprintf("%d of %d failed", c.Failed, c.Failed+c.Passed))
	case c.Passed == 0:
		return markup.Tag("dim", "skipped")
	}
	return markup.Tag("good", fmt.Sprintf("%d passed", c.Passed))
}

func (p *reportPage) coverage(covered []Covered) {
	for _, c := range covered {
		if c.All > 0 {
			p.Printf("<p>%s covered <span class=\"bar\" aria-hidden=\"true\"><i style=\"width:%.1f%%\"></i></span> %s (%d of %d)</p>\n", c.What, 100*float64(c.Hit)/float64(c.All), c.Percent, c.Hit, c.All)
		}
	}
}

// failures writes what failed. What failed in the same way on several kernels is one block.
func (p *reportPage) failures(suites []*Suite) {
	for _, group := range alike(suites) {
		s := group[0]
		if Count([]*Suite{s}).Failed == 0 {
			continue
		}
		p.Printf("<section class=\"program\">\n<h2>%s %s</h2>\n<p class=\"mute\">%s</p>\n", s.File, markup.Tag("bad", "FAIL"), kernels(targetsOf(group)))
		if s.Err != nil {
			p.Printf("<pre class=\"bad\">%s</pre>\n", s.Err.Error())
		}
		for i := range s.Cases {
			if t := &s.Cases[i]; len(t.Failures) > 0 {
				p.Printf("<h3>%s</h3>\n<pre class=\"bad\">%s</pre>\n", t.Name, strings.Join(t.reasons(), "\n"))
			}
		}
		p.Write("</section>\n")
	}
}

// cases writes the tests of a file on a kernel, folded, and the histograms that they made.
func (p *reportPage) cases(s *Suite) {
	if len(s.Cases) == 0 {
		return
	}
	p.Printf("<details><summary>%s on %s: %s</summary>\n", s.File, s.Target, Count([]*Suite{s}).String())
	var rows [][]markup.HTML
	for i := range s.Cases {
		if i == mostItems {
			rows = append(rows, []markup.HTML{"", markup.Sprintf("%d more", len(s.Cases)-i), ""})
			break
		}
		t := &s.Cases[i]
		word, detail := markup.Tag("good", "ok"), t.Detail
		switch {
		case len(t.Failures) > 0:
			word = markup.Tag("bad", "FAIL")
		case t.Skipped != "":
			word, detail = markup.Tag("dim", "skip"), t.Skipped
		case t.Doubt != "":
			word, detail = markup.Tag("odd", "? hook"), t.Doubt
		}
		rows = append(rows, []markup.HTML{word, markup.Escape(t.Name), markup.Escape(detail)})
	}
	p.table([]heading{{name: "result"}, {name: "test"}, {name: "", wide: true}}, rows)
	for i := range s.Cases {
		for j := range s.Cases[i].Histograms {
			p.histogram(&s.Cases[i].Histograms[j])
		}
	}
	p.Write("</details>\n")
}

// recorded draws the schedules, traffic and runs of a document.
func (p *reportPage) recorded(d *RunDocument) {
	if d == nil || len(d.Programs) == 0 {
		return
	}
	on := ""
	if d.Target != nil {
		on = " on " + d.Target.Name
	}
	p.Printf("<details><summary>what the runs of %s did%s</summary>\n", strings.TrimPrefix(d.Scenario+" "+d.Object, " "), on)
	p.simulations(d)
	for i := range d.Programs {
		if x := &d.Programs[i]; len(x.Runs) > 0 {
			p.program(x)
		}
	}
	p.texts(d)
	p.profiles(d.profile)
	p.Write("</details>\n")
}

// breakable is a path that may be divided after its slashes.
func breakable(path string) markup.HTML {
	return markup.HTML(strings.ReplaceAll(string(markup.Escape(path)), "/", "/<wbr>"))
}
