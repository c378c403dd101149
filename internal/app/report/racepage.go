package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/internal/markup"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
)

// WriteRaceHTML writes what `race` found as one page: for each finding the order as a timeline, the
// lines that interfere side by side in the order in which they are executed, and what this order
// and the sequential ones lead to.
func WriteRaceHTML(w io.Writer, d *RaceDocument) error {
	count := map[string]int{}
	benign := 0
	for i := range d.Findings {
		if d.Findings[i].Benign {
			benign++
			continue
		}
		count[d.Findings[i].Kind]++
	}
	chips := countChips(count, func(string) string { return "bad" })
	if len(chips) == 0 {
		chips = append(chips, chip{"good", "no findings"})
	}
	if benign > 0 {
		chips = append(chips, chip{"dim", fmt.Sprintf("%d benign", benign)})
	}
	about := fmt.Sprintf("%s: %s, %s (%s)", describeTarget(d.Target), plural(len(d.Races), "race"), plural(d.Orders, "order"), d.bound())
	return writePage(w, d.Object, about, chips, func(p *reportPage) {
		p.failure(d.Error)
		for i := range d.Findings {
			if f := &d.Findings[i]; !f.Benign {
				p.raceFinding(f)
			}
		}
		p.benign(d.Findings, benign)
		p.races(d)
	})
}

// raceFinding writes a finding.
func (p *reportPage) raceFinding(f *RaceFinding) {
	p.Printf("<section class=\"program\">\n<h2>%s</h2>\n<pre class=\"bad\">%s</pre>\n<p class=\"mute\">%s</p>\n", markup.Tag("bad", f.Kind), f.Message, f.Race)
	var list []item
	if f.Simulation != "" {
		list = append(list, item{"in", f.Simulation})
	}
	if f.AfterRuns {
		list = append(list, item{"before", "each program has run once"})
	}
	if len(f.Before) > 0 {
		list = append(list, item{"before", strings.Join(f.Before, ", ")})
	}
	for _, text := range f.Inputs {
		list = append(list, item{"input", text})
	}
	for _, text := range f.Assumes {
		list = append(list, item{"assumed", text})
	}
	for _, name := range f.Also {
		list = append(list, item{"also", name})
	}
	p.items(list)
	c := show.Colours{}
	for i := range f.Actors {
		c.Of(f.Actors[i].Name)
	}
	p.turns(f, c)
	p.sides(f, c)
	var rows [][]markup.HTML
	for _, x := range f.Differs {
		rows = append(rows, []markup.HTML{markup.Escape(x.What), markup.Tag("bad", x.Here), markup.Tag("good", strings.Join(x.Sequential, " or "))})
	}
	p.table([]heading{{name: "outcome"}, {name: "in this order"}, {name: "one after the other"}}, rows)
	list = nil
	for i, a := range f.Advice {
		list = append(list, item{[]string{"to do", "or"}[min(i, 1)], strings.TrimPrefix(a, "or ")})
	}
	if f.Scenario != "" {
		list = append(list, item{"again", "bpfrun test " + f.Scenario})
	}
	p.items(list)
	p.Write("</section>\n")
}

// turns draws who executes how many instructions before another one goes on.
func (p *reportPage) turns(f *RaceFinding, c show.Colours) {
	lanes := make([]show.Lane, len(f.Actors))
	for i := range f.Actors {
		lanes[i].Name = f.Actors[i].Name
	}
	end := uint64(0)
	for _, t := range f.Order {
		for i := range lanes {
			if lanes[i].Name == t.Actor && t.Insns > 0 {
				lanes[i].Spans = append(lanes[i].Spans, show.Span{From: end, To: end + t.Insns, What: t.Actor, Title: fmt.Sprintf("%s executes %s", t.Actor, plural(int(t.Insns), "instruction"))})
			}
		}
		end += t.Insns
	}
	if end == 0 {
		return
	}
	p.Write("<h3>the order, in instructions</h3>\n")
	show.Timeline(p, "which actor executes its instructions when", lanes, end, c, show.Count)
}

// sides draws the lines that interfere: a column for each actor, a row for each step. On narrow
// screens they are one below the other.
func (p *reportPage) sides(f *RaceFinding, c show.Colours) {
	if len(f.Sides) == 0 {
		return
	}
	n := len(f.Actors)
	p.Printf("<ol class=\"steps\" style=\"--actors:%d\">\n", n)
	for i := range f.Actors {
		p.Printf("<li class=\"who\" style=\"grid-column:%d\"><i class=\"%s\"></i>%s</li>\n", i+1, c.Of(f.Actors[i].Name), f.Actors[i].title())
	}
	for i, s := range f.Sides {
		p.Printf("<li class=\"step\" style=\"grid-column:%d;grid-row:%d\"><i class=\"%s\"></i><small>%d. <b>%s</b> %s</small>", s.number+1, i+2, c.Of(s.Actor), i+1, s.Actor, s.at())
		if s.Line != "" {
			p.Printf("<code>%s</code>", s.Line)
		}
		p.Printf("<span>%s</span></li>\n", s.What)
	}
	p.Write("</ol>\n")
}

// benign writes the findings that are no failure.
func (p *reportPage) benign(findings []RaceFinding, n int) {
	if n == 0 {
		return
	}
	p.Printf("<details><summary>%s, no failure without --strict</summary>\n", plural(n, "benign finding"))
	var list []item
	for i := range findings {
		if f := &findings[i]; f.Benign {
			list = append(list, item{f.Kind, f.Message + f.places()})
		}
	}
	p.items(list)
	p.Write("</details>\n")
}

// races writes what ran against what, and what took no part.
func (p *reportPage) races(d *RaceDocument) {
	p.Write("<h2>races</h2>\n")
	var rows [][]markup.HTML
	for i := range d.Races {
		r := &d.Races[i]
		result := markup.Tag("good", "none")
		if r.Findings > 0 {
			result = markup.Tag("bad", fmt.Sprint(r.Findings))
		}
		all := "all"
		if !r.Complete {
			all = "not all"
		}
		rows = append(rows, []markup.HTML{markup.Escape(r.Name), result, markup.Sprintf("%d", r.Orders), markup.Escape(all), markup.Escape(r.Why)})
	}
	p.table([]heading{{name: "race"}, {name: "findings"}, {"orders", true, false}, {name: "within the bound", wide: true}, {name: "why they meet", wide: true}}, rows)
	var list []item
	for _, l := range d.Left {
		list = append(list, item{l.Program, "takes no part: " + l.Status})
	}
	p.items(list)
}
