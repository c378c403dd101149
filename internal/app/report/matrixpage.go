package report

import (
	_ "embed"
	"strings"

	"github.com/bpfrun/bpfrun/internal/markup"
)

//go:embed matrix.css
var matrixCSS string

func (page *htmlMatrix) write(w *markup.Page) {
	frame := markup.Frame{Title: page.Title, CSS: matrixCSS}
	w.Begin(frame)
	page.writeHead(w)
	page.writeTable(w)
	for _, p := range page.Panels {
		p.write(w)
	}
	w.End(frame)
}

func (page *htmlMatrix) writeHead(w *markup.Page) {
	w.Printf(`<header>
<h1>%s</h1>
<p>%s</p>
<p class="mute">Click a cell for details: the verdict of that release's verifier, the CO-RE relocations, and what the program did compared
with %s<span class="order"> (the cell's three small marks, in this order)</span>.</p>
<ul class="legend">
`, page.Title, page.Summary, page.Base)
	for _, x := range page.Words {
		w.Printf("<li class=\"%s\" title=\"%s\">%s %s %d</li>\n", x.Class, x.Meaning, x.Symbol, x.Word, x.Count)
	}
	w.Write("</ul>\n<label><input type=\"checkbox\" id=\"only\"> only programs with a problem somewhere</label>\n")
	for _, k := range page.Kernels {
		if k.Error != "" {
			w.Printf("<p class=\"tag bad\">%s</p>\n", k.Full)
		}
	}
	w.Write("</header>\n")
}

func (page *htmlMatrix) writeTable(w *markup.Page) {
	w.Write("<div class=\"wrap\">\n<table>\n<thead><tr><th>program</th>")
	for _, k := range page.Kernels {
		w.Printf(`<th title="%s">%s<small>%s</small></th>`, k.Full, k.Release, k.Rest)
	}
	w.Write("</tr></thead>\n")
	for _, o := range page.Objects {
		w.Printf("<tbody>\n<tr class=\"object\"><th colspan=\"%d\">%s</th></tr>\n", page.Columns, o.Name)
		for _, r := range o.Rows {
			r.write(w)
		}
		w.Write("</tbody>\n")
	}
	w.Write("</table>\n</div>\n")
}

func (r *htmlRow) write(w *markup.Page) {
	class, optional := "row", markup.HTML("")
	if r.Fine {
		class = "row fine"
	}
	if r.Optional {
		optional = " <small>optional</small>"
	}
	w.Printf(`<tr class="%s" id="%s"><th title="%s">%s%s</th>`, class, r.ID, r.Hook, r.Program, optional)
	for _, c := range r.Cells {
		w.Printf(`<td><a class="cell %s" href="#%s"><span class="kernel">%s</span>%s %s<span class="marks">`, c.Class, c.Panel, c.Kernel, c.Symbol, c.Word)
		for _, m := range c.Marks {
			w.Printf(`<span title="%s: %s">%s</span>`, m.Name, m.Text, m.Symbol)
		}
		w.Write("</span></a></td>")
	}
	w.Write("</tr>\n")
}

func (p *htmlPanel) write(w *markup.Page) {
	w.Printf(`<section class="panel" id="%s" aria-label="%s: %s">
<a class="close" href="#%s" aria-label="close">×</a>
<h2>%s</h2>
<p class="mute">%s · %s</p>
<p><span class="tag %s">%s %s</span> %s</p>
<p class="mute">on %s</p>
`, p.ID, p.Program, p.Word, p.Row, p.Program, p.Object, p.Hook, p.Class, p.Symbol, p.Word, p.Meaning, strings.Join(p.Kernels, ", "))
	for _, line := range p.Detail {
		w.Printf("<pre>%s</pre>\n", line)
	}
	for i, m := range p.Marks {
		w.Printf("<h3>%s</h3>\n<p><span class=\"tag %s\">%s</span> %s</p>\n", m.Name, m.Class, m.Symbol, m.Text)
		if i == 0 && p.Verdict != nil {
			p.writeVerdict(w)
		}
	}
	w.Write("</section>\n")
}

// writeVerdict writes the details of the verifier's verdict.
func (p *htmlPanel) writeVerdict(w *markup.Page) {
	v := p.Verdict
	shown := func(format, text string) {
		if text != "" {
			w.Printf(format, text)
		}
	}
	shown("<pre>%s</pre>\n", v.Message)
	shown("<p class=\"mute\">%s</p>\n", p.Where)
	if v.Verdict == "refused" {
		shown("<p>%s</p>\n", v.Reason)
	}
	if s := v.Source; s != nil {
		w.Printf("<pre>%s:%d\n%s</pre>\n", s.File, s.Line, s.Text)
	}
	shown("<pre>%s</pre>\n", v.Registers)
	shown("<p class=\"mute\">branches: %s</p>\n", p.Branches)
}
