package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/bpfrun/bpfrun/internal/markup"
)

// WriteBenchHTML writes a measurement as one page: the time of a run, batch by batch, and how the
// batches are spread.
func WriteBenchHTML(w io.Writer, d *BenchDocument) error {
	var chips []chip
	if c := d.Compared; c != nil {
		chips = append(chips, chip{map[string]string{"slower": "bad", "faster": "good"}[c.Verdict], c.Verdict})
		if chips[0].class == "" {
			chips[0].class = "dim"
		}
	}
	about := d.Object
	if d.Target != nil {
		about += " on " + describeTarget(d.Target)
	}
	return writePage(w, "bpfrun bench: "+d.Program, about, chips, func(p *reportPage) {
		perInsn := 0.0
		if d.Insns > 0 {
			perInsn = d.Min / float64(d.Insns)
		}
		rows := [][]markup.HTML{}
		row := func(what, value string) {
			rows = append(rows, []markup.HTML{markup.Escape(what), markup.Escape(value)})
		}
		row("best batch", nanoseconds(d.Min)+" a run")
		row("median batch", nanoseconds(d.Median)+" a run")
		row("an instruction", fmt.Sprintf("%.2f ns", perInsn))
		row("instructions", fmt.Sprint(d.Insns))
		row("returned", d.Ret)
		row("engine", d.Engine+fmt.Sprintf(", %.0f %% of the instructions native", 100*d.Native))
		row("load", nanoseconds(float64(d.LoadNS))+", of that compile "+nanoseconds(float64(d.CompileNS)))
		if d.Compared != nil {
			row("compared", d.Compared.String())
		}
		p.table([]heading{{name: "figure"}, {name: ""}}, rows)
		p.batches(d.Batches)
	})
}

// batches draws the times of batches: in their order as points, and how often each time occurred.
func (p *reportPage) batches(ns []float64) {
	if len(ns) == 0 {
		return
	}
	low, high := slices.Min(ns), slices.Max(ns)
	width := max(high-low, 0.1)
	p.Printf("<h3>%d batches in their order, from %s to %s</h3>\n<svg class=\"chart\" viewBox=\"0 0 1000 150\" role=\"img\" aria-label=\"time of a run by batch\">\n", len(ns), nanoseconds(low), nanoseconds(high))
	for i, t := range ns {
		x := 12 + 976*float64(i)/float64(max(len(ns)-1, 1))
		p.Printf("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>batch %d: %s</title></circle>", x, 138-126*(t-low)/width, i+1, nanoseconds(t))
	}
	p.Write("</svg>\n")
	const bins = 12
	count, most := [bins]int{}, 1
	for _, t := range ns {
		n := min(int(bins*(t-low)/width), bins-1)
		count[n]++
		most = max(most, count[n])
	}
	p.Write("<h3>how often</h3>\n<div class=\"hist\">\n")
	for n, c := range count {
		class := markup.HTML("")
		if c == 0 {
			class = ` class="z"`
		}
		p.Printf("<span>%s</span><span>%d</span><i%s style=\"width:%.1f%%\"></i>\n", nanoseconds(low+width*float64(n)/bins), c, class, 100*float64(c)/float64(most))
	}
	p.Write("</div>\n")
}
