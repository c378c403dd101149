package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/markup"
)

// WriteRunHTML writes what `run` did as one page, with a profile unless that is nil.
func WriteRunHTML(w io.Writer, d Documents, profile *RunProfile) error {
	title, about := "bpfrun run", fmt.Sprintf("%d runs of an object on a kernel", len(d.Results))
	if len(d.Results) == 1 {
		title, about = d.Results[0].Object, describeTarget(d.Results[0].Target)
	}
	return writePage(w, title, about, documentChips(d.Results), func(p *reportPage) {
		for _, doc := range d.Results {
			if len(d.Results) > 1 {
				p.Printf("<h2>%s</h2>\n<p class=\"mute\">%s</p>\n", doc.Object, describeTarget(doc.Target))
			}
			p.document(doc)
		}
		p.profiles(profile)
	})
}

// statusClass is the colour of a program's status.
func statusClass(status string) string {
	switch status {
	case "ok":
		return "good"
	case "fault", "refused", "failed", "not-simulated":
		return "bad"
	case "disabled":
		return "dim"
	}
	return "odd"
}

// documentChips counts the programs of documents by status, the worst first.
func documentChips(docs []*RunDocument) []chip {
	count := map[string]int{}
	for _, d := range docs {
		for i := range d.Programs {
			if p := &d.Programs[i]; !p.notRun() || p.Status != "ok" {
				count[p.Status]++
			}
		}
	}
	return countChips(count, statusClass)
}

// countChips makes a chip of each count, the worst first.
func countChips(count map[string]int, class func(word string) string) []chip {
	var out []chip
	for _, c := range []string{"bad", "odd", "good", "dim"} {
		var words []string
		for word, n := range count {
			if n > 0 && class(word) == c {
				words = append(words, word)
			}
		}
		slices.Sort(words)
		for _, word := range words {
			out = append(out, chip{c, fmt.Sprintf("%d %s", count[word], word)})
		}
	}
	return out
}

// document writes what an object did on a kernel.
func (p *reportPage) document(d *RunDocument) {
	p.failure(d.Error)
	var rows [][]markup.HTML
	for i := range d.Programs {
		x := &d.Programs[i]
		if x.notRun() {
			continue
		}
		row := programRow(x, style{})
		rows = append(rows, []markup.HTML{
			markup.Escape(x.Name), markup.Escape(x.Hook), markup.Escape(row[2].text), markup.Tag(statusClass(x.Status), row[3].text), markup.Escape(row[4].text),
		})
	}
	p.table([]heading{{name: "program"}, {name: "hook", wide: true}, {name: "CO-RE"}, {name: "result"}, {name: "insns", number: true, wide: true}}, rows)
	if d.Chain != nil {
		p.Printf("<p>chain: %s</p>\n", d.Chain.text())
	}
	p.simulations(d)
	p.runsOverTime(d)
	for i := range d.Histograms {
		p.histogram(&d.Histograms[i])
	}
	for i := range d.Programs {
		if x := &d.Programs[i]; !x.notRun() {
			p.program(x)
		}
	}
	p.texts(d)
	p.maps(d)
	for _, w := range d.Warnings {
		p.Printf("<p><span class=\"tag odd\">warning</span> %s</p>\n", w)
	}
}

// texts writes what has no drawing, as the table on the terminal does.
func (p *reportPage) texts(d *RunDocument) {
	var b strings.Builder
	for _, doc := range d.Simulations.All() {
		if doc.Page() == nil {
			doc.Text(terminal{&b, style{}, TableOptions{Verbose: true}})
		}
	}
	if b.Len() > 0 {
		p.Printf("<pre>%s</pre>\n", strings.Trim(b.String(), "\n"))
	}
}

// program writes what a program did.
func (p *reportPage) program(x *Program) {
	p.Printf("<section class=\"program\">\n<h2>%s %s</h2>\n<p class=\"mute\">%s, %d instructions</p>\n", x.Name, markup.Tag(statusClass(x.Status), x.Status), x.Section, x.Insns)
	p.failure(x.Error)
	if v := x.Verifier; v != nil {
		p.verdict(v, x.Error != nil)
	}
	for _, text := range missingFields(x, true) {
		p.Printf("<pre class=\"odd\">%s</pre>\n", text)
	}
	if c := x.Coverage; c != nil && c.Reachable > 0 {
		p.Printf("<p>covered <span class=\"bar\" aria-hidden=\"true\"><i style=\"width:%.1f%%\"></i></span> %d of %d reachable instructions</p>\n", 100*float64(c.Executed)/float64(c.Reachable), c.Executed, c.Reachable)
	}
	show, left := chosenRuns(x.Runs, false)
	for n, i := range show {
		if n == len(show)-1 && len(left) > 0 {
			p.Printf("<p class=\"mute\">%s; the last one:</p>\n", leftOut(left))
		}
		p.run(&x.Runs[i], len(x.Runs) > 1)
	}
	if x.Replay != nil {
		p.replay(x.Replay)
	}
	p.Write("</section>\n")
}

// run writes one run of a program.
func (p *reportPage) run(r *Run, several bool) {
	if r.titled || several {
		name := r.Name
		if r.Function != "" {
			name += " for " + r.Function
		}
		p.Printf("<h3>%s: %s</h3>\n", name, outcome(r))
	}
	if r.Fault != nil {
		p.Printf("<pre class=\"bad\">fault: %s</pre>\n", r.Fault.Text)
	}
	p.expectations(r.Expectations)
	for i := range r.Findings {
		p.Printf("<pre class=\"odd\">finding: %s</pre>\n", r.Findings[i].line())
	}
	var list []item
	for i := range r.Events {
		list = append(list, item{r.Events[i].Kind, r.Events[i].Map + "  " + r.Events[i].Text()})
	}
	p.items(list)
	p.packets(r.packetIn, r.packetOut, r.PacketChanges)
	list = nil
	for i := range r.Effects {
		list = append(list, item{"effect", effectText(&r.Effects[i])})
	}
	for i := range r.MapChanges {
		if i > mostItems { // texts are made only of what is shown
			list = append(list, make([]item, len(r.MapChanges)-i)...)
			break
		}
		list = append(list, item{"map", r.MapChanges[i].Map + r.MapChanges[i].Text()})
	}
	p.items(list)
	list = nil
	for _, t := range r.Trace {
		list = append(list, item{"trace", t})
	}
	if r.Output != "" {
		for l := range strings.Lines(r.Output) {
			list = append(list, item{"output", strings.TrimSuffix(l, "\n")})
		}
	}
	if r.Reached != nil {
		list = append(list, item{"reached", "by: " + strings.Join(r.Reached.By, ", ")})
	}
	for i, l := range r.WhyNot {
		list = append(list, item{[]string{"why", ""}[min(i, 1)], l})
	}
	for _, t := range r.Warnings {
		list = append(list, item{"warning", t})
	}
	p.items(list)
	list = nil
	for _, a := range r.KernelReads {
		list = append(list, item{"read", accessText(a)})
	}
	for _, a := range r.KernelWrites {
		list = append(list, item{"write", accessText(a)})
	}
	if len(list) > 0 {
		p.Printf("<details><summary>accesses to kernel objects: %d</summary>\n", len(list))
		p.items(list)
		p.Write("</details>\n")
	}
}

func (p *reportPage) expectations(list []Expectation) {
	var rows [][]markup.HTML
	for _, e := range list {
		result := markup.Tag("good", "ok")
		if !e.OK {
			result = markup.Tag("bad", "FAIL")
		}
		rows = append(rows, []markup.HTML{result, markup.Escape(e.What), markup.Escape(e.Want), markup.Escape(e.Got), markup.Escape(e.Place)})
	}
	p.table([]heading{{name: "expected"}, {name: "what"}, {name: "want"}, {name: "got"}, {name: "where", wide: true}}, rows)
}

// replay writes what a program did with a capture.
func (p *reportPage) replay(r *Replay) {
	p.Printf("<p>%s: %s, %d changed, %d skipped</p>\n", r.File, packetsText(r.Packets), r.Changed, r.Skipped)
	names, most := sortedCounts(r.Verdicts), 1
	for _, n := range r.Verdicts {
		most = max(most, n)
	}
	p.Write("<div class=\"hist\">\n")
	for _, n := range names {
		p.Printf("<span>%s</span><span>%d</span><i style=\"width:%.1f%%\"></i>\n", n, r.Verdicts[n], 100*float64(r.Verdicts[n])/float64(most))
	}
	p.Write("</div>\n")
	if r.Fault != nil {
		p.Printf("<pre class=\"bad\">fault on packet %d: %s</pre>\n", r.FaultPacket, r.Fault.Text)
	}
	var list []item
	for _, c := range r.Changes {
		list = append(list, item{"packet " + strconv.Itoa(c.Packet), c.Verdict + ": " + strings.Join(c.Changes, ", ")})
	}
	for i := range r.MapChanges {
		if i > mostItems {
			break
		}
		list = append(list, item{"map", r.MapChanges[i].Map + r.MapChanges[i].Text()})
	}
	p.items(list)
}

// maps writes the contents of maps and variables after the last run.
func (p *reportPage) maps(d *RunDocument) {
	names := make([]string, 0, len(d.Maps))
	for n := range d.Maps {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		m := d.Maps[n]
		about := fmt.Sprintf("%s: %s of at most %d", m.Type, plural(len(m.Entries), "element"), m.MaxEntries)
		if m.LeftOut != "" {
			about = m.Type + ": " + m.LeftOut
		}
		p.Printf("<details><summary>map %s, %s</summary>\n", n, about)
		var rows [][]markup.HTML
		for i := range m.Entries {
			if i == mostItems {
				rows = append(rows, []markup.HTML{markup.Sprintf("%d more", len(m.Entries)-i), ""})
				break
			}
			e := &m.Entries[i]
			key, value := e.Key, ""
			switch t, typed := e.Typed.(TypedEntry); {
			case typed:
				key, value = valueText(t.Key), valueText(t.Value)
			case e.PerCPU != nil:
				value = strings.Join(e.PerCPU, " ")
			case e.Value != nil:
				value = *e.Value
			}
			rows = append(rows, []markup.HTML{markup.Sprintf("<code>%s</code>", key), markup.Sprintf("<code>%s</code>", cut(value, 2000))})
		}
		p.table([]heading{{name: "key"}, {name: "value"}}, rows)
		p.Write("</details>\n")
	}
	if len(d.Globals) == 0 {
		return
	}
	names = names[:0]
	for n := range d.Globals {
		names = append(names, n)
	}
	slices.Sort(names)
	var rows [][]markup.HTML
	for i, n := range names {
		if i == mostItems {
			rows = append(rows, []markup.HTML{markup.Sprintf("%d more", len(names)-i), "", ""})
			break
		}
		g := d.Globals[n]
		value := g.Bytes
		if g.Typed != nil {
			value = valueText(g.Typed)
		}
		rows = append(rows, []markup.HTML{markup.Escape(n), markup.Escape(g.Section), markup.Sprintf("<code>%s</code>", cut(value, 2000))})
	}
	p.Printf("<details><summary>%s</summary>\n", plural(len(names), "global variable"))
	p.table([]heading{{name: "variable"}, {name: "section", wide: true}, {name: "value"}}, rows)
	p.Write("</details>\n")
}
