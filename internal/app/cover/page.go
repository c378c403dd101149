package cover

import (
	"os"
	"strings"

	"github.com/bpfrun/bpfrun/internal/markup"
	"github.com/bpfrun/bpfrun/internal/sourcepage"
)

// bar draws the executed share of something.
func bar(c Count) markup.HTML {
	p, ok := c.Percent()
	if !ok {
		return `<span class="none">–</span>`
	}
	return markup.Sprintf(`<span class="bar" aria-hidden="true"><i style="width:%.1f%%"></i></span> <b>%.1f&nbsp;%%</b> <small>%d / %d</small>`, p, p, c.Hit, c.All)
}

func (d *document) write(name string) error {
	var w markup.Page
	sourcepage.Begin(&w, d.Title)
	d.writeHead(&w)
	w.Write("<main>\n")
	if d.File != "" {
		writeKey(&w, runCounts)
	}
	for i := range d.Views {
		v := &d.Views[i]
		w.Printf("<section data-view=\"%s\"%s>\n", v.ID, hidden(i))
		if d.File != "" {
			sourcepage.WriteLines(&w, v.ID, v.Lines)
		} else {
			v.writeFiles(&w)
		}
		w.Write("</section>\n")
	}
	w.Write("</main>\n")
	sourcepage.End(&w)
	return os.WriteFile(name, []byte(w.String()), 0o644)
}

// runCounts is what the counts of most pages are.
const runCounts = "counts are runs; click one for its branches"

// writeKey writes what the colours and the counts mean.
func writeKey(w *markup.Page, counts string) {
	w.Printf(`<p class="key"><span><i style="background:var(--hit);border-color:var(--hitc)"></i>executed</span><span><i style="background:var(--part);border-color:var(--partc)"></i>a branch went one way only</span><span><i style="background:var(--miss);border-color:var(--missc)"></i>not executed</span><span><i style="background:var(--dead);border-color:var(--deadc)"></i>dead on the kernel</span><span>%s</span></p>`+"\n", counts)
}

// hidden returns an attribute that hides all views but the first.
func hidden(i int) markup.HTML {
	if i == 0 {
		return ""
	}
	return " hidden"
}

// writeHead writes the page's title, the choice of kernels, and the totals for each.
func (d *document) writeHead(w *markup.Page) {
	w.Write("<header>\n<h1>")
	if d.File != "" {
		w.Printf(`<a href="index.html">Coverage</a> / %s`, d.File)
	} else {
		w.Printf("%s", d.Title)
	}
	w.Write("</h1>\n")
	if len(d.Views) > 1 {
		w.Write(`<label>Kernel <select id="kernel">`)
		for _, v := range d.Views {
			w.Printf(`<option value="%s">%s</option>`, v.ID, v.Name)
		}
		w.Write("</select></label>\n")
	} else {
		for _, v := range d.Views {
			w.Printf("<label>Kernel %s</label>\n", v.Name)
		}
	}
	for i, v := range d.Views {
		t := &v.Totals
		w.Printf(`<dl data-view="%s"%s>
<div><dt>Lines</dt><dd>%s</dd></div><div><dt>Branches</dt><dd>%s</dd></div>
<div><dt>Functions</dt><dd>%s</dd></div><div><dt>Instructions</dt><dd>%s</dd></div>
`, v.ID, hidden(i), bar(t.Lines), bar(t.Branches), bar(t.Functions), bar(t.Insns))
		if t.Insns.Dead > 0 {
			w.Printf("<div><dt>Dead on the kernel</dt><dd>%d instructions</dd></div>", t.Insns.Dead)
		}
		w.Write("</dl>\n")
	}
	w.Write("</header>\n")
}

func (v *view) writeFiles(w *markup.Page) {
	w.Write(`<div class="scroll"><table class="files"><thead><tr><th>File</th><th>Lines</th><th>Branches</th><th class="wide">Functions</th><th class="wide">Instructions</th></tr></thead><tbody>` + "\n")
	for _, f := range v.Files {
		t := &f.Totals
		w.Printf(`<tr><td><a href="%s">%s</a></td><td>%s</td><td>%s</td><td class="wide">%s</td><td class="wide">%s</td></tr>`+"\n",
			f.Page, f.Path, bar(t.Lines), bar(t.Branches), bar(t.Functions), bar(t.Insns))
	}
	w.Write("</tbody></table></div>\n")
	if len(v.Unmapped) > 0 {
		w.Printf("<p><small>Without line information: %s</small></p>\n", strings.Join(v.Unmapped, ", "))
	}
}
