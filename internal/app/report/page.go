package report

import (
	_ "embed"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/internal/markup"
	"github.com/bpfrun/bpfrun/internal/sourcepage"
)

// The style of pages of reports, beyond what all pages share.
//
//go:embed report.css
var reportCSS string

// reportPage is a report as a self-contained page. Timelines have a script that zooms; all else
// needs none.
type reportPage struct{ markup.Page }

// writePage writes a page to w: the title, what contents writes into the header, and what it
// returns into the body.
func writePage(w io.Writer, title, about string, chips []chip, contents func(p *reportPage)) error {
	var p, body reportPage
	contents(&body)
	frame := markup.Frame{Title: title + " · bpfrun", CSS: sourcepage.LinesCSS + markup.TimelineCSS + reportCSS}
	if strings.Contains(body.String(), string(markup.TimelineMark)) {
		frame.Script = markup.TimelineScript()
	}
	p.Begin(frame)
	p.Printf("<header>\n<h1>%s</h1>\n<p class=\"mute\">%s</p>\n", title, about)
	p.chips(chips)
	p.Write("</header>\n<main>\n")
	p.Write(markup.HTML(body.String()))
	p.Write("</main>\n")
	p.End(frame)
	_, err := io.WriteString(w, p.String())
	return err
}

// chip is a short text in the colour of a class: good, odd, bad or dim.
type chip struct{ class, text string }

func (p *reportPage) chips(list []chip) {
	if len(list) == 0 {
		return
	}
	p.Write("<ul class=\"legend\">\n")
	for _, c := range list {
		p.Printf("<li class=\"%s\">%s</li>\n", c.class, c.text)
	}
	p.Write("</ul>\n")
}

// heading is the head of a column of a table: numbers are aligned to the right, wide ones are left
// out on narrow screens.
type heading struct {
	name         string
	number, wide bool
}

func (c heading) class() markup.HTML {
	switch {
	case c.number && c.wide:
		return ` class="n wide"`
	case c.number:
		return ` class="n"`
	case c.wide:
		return ` class="wide"`
	}
	return ""
}

// table writes a table; no rows, no table.
func (p *reportPage) table(columns []heading, rows [][]markup.HTML) {
	if len(rows) == 0 {
		return
	}
	p.Write("<div class=\"scroll\"><table class=\"list\">\n<thead><tr>")
	for _, c := range columns {
		p.Printf("<th%s>%s</th>", c.class(), c.name)
	}
	p.Write("</tr></thead>\n<tbody>\n")
	for _, row := range rows {
		p.Write("<tr>")
		for i, cell := range row {
			p.Printf("<td%s>%s</td>", columns[i].class(), cell)
		}
		p.Write("</tr>\n")
	}
	p.Write("</tbody>\n</table></div>\n")
}

// item is a line of a list: what it is, and its text.
type item struct{ kind, text string }

// mostItems is the number of items of one list on a page.
const mostItems = 200

// items writes a list, and how many of it are left out.
func (p *reportPage) items(list []item) {
	if len(list) == 0 {
		return
	}
	p.Write("<ul class=\"items\">\n")
	for i, x := range list {
		if i == mostItems {
			p.Printf("<li><b></b><span class=\"mute\">%d more are not shown (--json has all)</span></li>\n", len(list)-i)
			break
		}
		p.Printf("<li><b>%s</b><span>%s</span></li>\n", x.kind, x.text)
	}
	p.Write("</ul>\n")
}

// failure writes an error.
func (p *reportPage) failure(e *Error) {
	if e == nil {
		return
	}
	class := "bad"
	if e.Note {
		class = "odd"
	}
	p.Printf("<pre class=\"%s\">%s</pre>\n", class, e.Text())
}

// histogram draws a histogram.
func (p *reportPage) histogram(h *Histogram) {
	p.Printf("<div class=\"keep\"><h3>%s</h3>\n<div class=\"hist\" role=\"img\" aria-label=\"histogram of %s\">\n", h.title(), h.title())
	from, to, most := h.shown()
	for i := from; i < to; i++ {
		n := h.Slots[i]
		class := markup.HTML("")
		if n == 0 {
			class = ` class="z"`
		}
		p.Printf("<span>%s</span><span>%d</span><i%s style=\"width:%.1f%%\" title=\"slot %d: %d\"></i>\n", slotText(i), n, class, 100*float64(n)/float64(max(most, 1)), i, n)
	}
	p.Write("</div></div>\n")
}
