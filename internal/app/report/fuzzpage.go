package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/cover"
	"github.com/bpfrun/bpfrun/internal/markup"
)

// WriteFuzzHTML writes what `fuzz` found as one page: findings with their scenarios, how far the
// search got in each program, the suite, and the source lines that the kept inputs executed.
// sources reads source files; nil is from where the object says.
func WriteFuzzHTML(w io.Writer, d *FuzzDocument, covered *cover.Profile, sources func(string) ([]string, bool)) error {
	count := map[string]int{}
	for i := range d.Findings {
		count[d.Findings[i].Kind]++
	}
	chips := countChips(count, func(string) string { return "bad" })
	if len(d.Findings) == 0 {
		chips = []chip{{"good", "no findings"}}
	}
	about := fmt.Sprintf("%s, %s runs in %.2f s, %s kept", describeTarget(d.Target), grouped(d.Runs), d.Seconds, plural(d.Corpus, "input"))
	if d.Interrupted {
		about += ", interrupted"
	}
	return writePage(w, d.Object, about, chips, func(p *reportPage) {
		p.failure(d.Error)
		for i := range d.Findings {
			p.fuzzFinding(d, &d.Findings[i])
		}
		if d.Unconfirmed > 0 {
			p.Printf("<p class=\"mute\">%s did not happen again in a scenario and %s left out</p>\n", plural(d.Unconfirmed, "finding"), isAre(d.Unconfirmed))
		}
		p.searched(d)
		p.suite(d)
		if covered != nil {
			p.Write("<h2 id=\"coverage\">what the kept inputs execute</h2>\n")
			covered.WriteLines(&p.Page, "counts are kept inputs", sources)
		}
	})
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// fuzzFinding writes a finding and how to see it again.
func (p *reportPage) fuzzFinding(d *FuzzDocument, f *FuzzFinding) {
	p.Printf("<section class=\"program\">\n<h2>%s %s</h2>\n", markup.Tag("bad", f.Kind), f.Program)
	p.Printf("<pre class=\"bad\">%s</pre>\n", f.Message)
	var list []item
	if f.Source != "" {
		list = append(list, item{"source", strings.TrimSpace(f.Source + "  " + strings.TrimSpace(f.Line))})
	}
	if f.Insn >= 0 {
		list = append(list, item{"instruction", fmt.Sprint(f.Insn)})
	}
	list = append(list, item{"found after", fmt.Sprintf("%s runs, %.2f s", grouped(f.AfterRuns), f.AfterSeconds)})
	if f.Scenario != "" {
		list = append(list, item{"scenario", f.Scenario}, item{"fails", "bpfrun test " + f.Scenario}, item{"shows it", "bpfrun debug " + d.Path + " -s " + f.Scenario})
	}
	p.items(list)
	if f.Input != "" {
		p.Printf("<details><summary>the input as a scenario</summary><pre>%s</pre></details>\n", strings.TrimRight(f.Input, "\n"))
	}
	p.Write("</section>\n")
}

// searched writes how far the search got in each program, and what it did not reach.
func (p *reportPage) searched(d *FuzzDocument) {
	p.Write("<h2>programs</h2>\n")
	var rows [][]markup.HTML
	for i := range d.Programs {
		x := &d.Programs[i]
		n := max(x.Branches.Reachable, 1)
		share, first := 100*float64(x.Branches.Reached)/float64(n), 100*float64(x.Branches.Default)/float64(n)
		if x.Branches.Reachable == 0 {
			share, first = 100, 100 // it has none
		}
		rows = append(rows, []markup.HTML{
			markup.Escape(x.Name), markup.Sprintf(`<span class="bar" aria-hidden="true"><i style="width:%.1f%%"></i></span> %d of %d`, share, x.Branches.Reached, x.Branches.Reachable),
			markup.Sprintf(`<span class="bar" aria-hidden="true"><i class="k7" style="width:%.1f%%"></i></span> %d`, first, x.Branches.Default),
			markup.Escape(grouped(x.Runs)),
		})
	}
	for _, k := range d.Skipped {
		rows = append(rows, []markup.HTML{markup.Escape(k.Run), markup.Tag("dim", "not searched"), markup.Escape(k.Why), ""})
	}
	p.table([]heading{{name: "program"}, {name: "branches reached"}, {name: "by default", wide: true}, {"runs", true, true}}, rows)
	for i := range d.Programs {
		x := &d.Programs[i]
		if len(x.Unreached) == 0 {
			continue
		}
		var list []item
		for _, u := range x.Unreached {
			list = append(list, item{u.Source, "needs " + u.Needs})
		}
		p.Printf("<h3>%s: not reached</h3>\n", x.Name)
		p.items(list)
	}
}

// suite writes the files of the suite with their runs.
func (p *reportPage) suite(d *FuzzDocument) {
	if len(d.Suite) == 0 {
		return
	}
	runs := 0
	for _, s := range d.Suite {
		runs += len(s.Runs)
	}
	p.Printf("<h2>suite</h2>\n<p>%s with %s for the branches that were reached, which pass: <code>bpfrun test %s</code></p>\n", plural(len(d.Suite), "file"), plural(runs, "run"), d.Keep+"/suite")
	for i, s := range d.Suite {
		if i == mostItems {
			p.Printf("<p class=\"mute\">%d more files</p>\n", len(d.Suite)-i)
			break
		}
		p.Printf("<details><summary>%s: %s</summary>\n", s.File, plural(len(s.Runs), "run"))
		var list []item
		for n, name := range s.Runs {
			list = append(list, item{fmt.Sprint(n + 1), name})
		}
		p.items(list)
		p.Write("</details>\n")
	}
}
