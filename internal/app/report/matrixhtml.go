package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/internal/markup"
)

// htmlMatrix is the contents of the page. Equal cells of a row share a panel, which a link opens
// without scripts.
type htmlMatrix struct {
	Title, Summary, Base string
	Columns              int
	Words                []htmlWord
	Kernels              []htmlKernel
	Objects              []htmlObject
	Panels               []*htmlPanel
}

type htmlWord struct {
	Word, Symbol, Meaning, Class string
	Count                        int
}

type htmlKernel struct{ Release, Rest, Full, Error string }

type htmlObject struct {
	Name string
	Rows []htmlRow
}

type htmlRow struct {
	ID, Program, Hook string
	Optional, Fine    bool
	Cells             []htmlCell
}

type htmlCell struct {
	Kernel, Panel, Word, Symbol, Class string
	Marks                              [3]htmlMark // verdict, CO-RE, behaviour
}

type htmlMark struct{ Name, Symbol, Class, Text string }

type htmlPanel struct {
	ID, Row, Object, Program, Hook string
	Kernels                        []string
	Word, Symbol, Class, Meaning   string
	Marks                          [3]htmlMark
	Verdict                        *Verdict
	Where                          string // instruction and error of a refusal
	Branches                       string
	Detail                         []string

	key string
}

// WriteMatrixHTML writes the matrix as one self-contained page that needs neither network nor
// scripts.
func WriteMatrixHTML(w io.Writer, d *MatrixDocument) error {
	page := htmlMatrix{Title: "bpfrun matrix", Summary: matrixSummary(d), Base: d.Base, Columns: len(d.Kernels) + 1}
	for _, x := range matrixWords {
		if n := d.Summary[x.word]; n > 0 {
			page.Words = append(page.Words, htmlWord{x.word, x.symbol, x.meaning, htmlClass(x.word), n})
		}
	}
	heads := kernelHeads(d)
	for i := range d.Kernels {
		k := &d.Kernels[i]
		page.Kernels = append(page.Kernels, htmlKernel{heads[i][0], heads[i][1], kernelText(k), k.Error})
	}
	for i := range d.Rows {
		r := &d.Rows[i]
		if n := len(page.Objects); n == 0 || page.Objects[n-1].Name != r.Object {
			page.Objects = append(page.Objects, htmlObject{Name: r.Object})
		}
		o := &page.Objects[len(page.Objects)-1]
		o.Rows = append(o.Rows, page.row(r, heads, i))
	}
	var out markup.Page
	page.write(&out)
	_, err := io.WriteString(w, out.String())
	return err
}

func (page *htmlMatrix) row(r *MatrixRow, heads [][2]string, n int) htmlRow {
	row := htmlRow{ID: fmt.Sprintf("r%d", n), Program: r.Program, Hook: r.Hook, Optional: r.Optional, Fine: !troubled(*r)}
	first := len(page.Panels)
	for i := range r.Cells {
		c := &r.Cells[i]
		p := page.panel(first, r, c, row.ID)
		p.Kernels = append(p.Kernels, headText(heads[i]))
		row.Cells = append(row.Cells, htmlCell{headText(heads[i]), p.ID, c.Word, matrixSymbol(c.Word), htmlClass(c.Word), p.Marks})
	}
	return row
}

// panel returns the row's panel for cells with the same contents as c. It adds one if there is
// none.
func (page *htmlMatrix) panel(first int, r *MatrixRow, c *MatrixCell, row string) *htmlPanel {
	key := fmt.Sprintf("%s\x00%s\x00%v", c.Word, c.Detail, c.Relocations)
	if c.Verifier != nil {
		key += fmt.Sprintf("\x00%s\x00%d\x00%d", c.Verifier.summary, c.Verifier.ProcessedInsns, c.Verifier.TotalStates)
	}
	for _, p := range page.Panels[first:] {
		if p.key == key {
			return p
		}
	}
	p := &htmlPanel{
		ID: fmt.Sprintf("p%d", len(page.Panels)), Row: row, Object: r.Object, Program: r.Program, Hook: r.Hook,
		Word: c.Word, Symbol: matrixSymbol(c.Word), Class: htmlClass(c.Word), Marks: cellMarks(c), Verdict: c.Verifier, key: key,
	}
	for _, x := range matrixWords {
		if x.word == c.Word {
			p.Meaning = x.meaning
		}
	}
	if v := c.Verifier; v != nil && v.Insn != nil {
		p.Where = fmt.Sprintf("%s at instruction %d", v.Errno, *v.Insn)
		p.Branches = branchText(v.Path, false)
	}
	for line := range strings.SplitSeq(c.Detail, "\n") {
		if line != "" && !strings.HasPrefix(line, "the verifier refuses it: ") { // shown with the verdict
			p.Detail = append(p.Detail, line)
		}
	}
	page.Panels = append(page.Panels, p)
	return p
}

// cellMarks returns the three marks of a cell: the verifier's verdict, the result of CO-RE
// relocation, and the program's behaviour.
func cellMarks(c *MatrixCell) [3]htmlMark {
	verdict := htmlMark{"verdict", "–", "dim", "not asked"}
	if v := c.Verifier; v != nil {
		switch v.Verdict {
		case "accepted":
			verdict = htmlMark{"verdict", "✓", "good", v.summary}
		case "refused":
			verdict = htmlMark{"verdict", "✗", "bad", "refused"}
		default:
			verdict = htmlMark{"verdict", "?", "odd", v.summary}
		}
	}
	r := Relocations{
		Total:   c.Relocations.OK + c.Relocations.PoisonedDead + c.Relocations.PoisonedMay + c.Relocations.PoisonedReached + c.Relocations.Errors,
		Changed: c.Relocations.Changed, PoisonedDead: c.Relocations.PoisonedDead, PoisonedMay: c.Relocations.PoisonedMay,
		PoisonedReached: c.Relocations.PoisonedReached, Errors: c.Relocations.Errors,
	}
	core := htmlMark{"CO-RE", "✓", "good", relocationCell(r, style{}).text}
	switch {
	case r.Total == 0:
		core = htmlMark{"CO-RE", "–", "dim", "no relocations"}
	case r.PoisonedReached > 0 || r.Errors > 0:
		core.Symbol, core.Class = "✗", "bad"
	case r.PoisonedMay > 0:
		core.Symbol, core.Class = "!", "odd"
	}
	if baked := max(c.Baked, c.BakedFound); baked > 0 {
		core.Text += fmt.Sprintf(", %d baked", baked)
		if core.Class != "bad" {
			core.Symbol, core.Class = "!", "odd"
		}
	}
	did := htmlMark{"behaviour", "✓", "good", "the same as on the base kernel"}
	switch c.Result {
	case "differs":
		did = htmlMark{"behaviour", "≠", "odd", "differs from the base kernel"}
	case "fault":
		did = htmlMark{"behaviour", "✗", "bad", "a fault"}
	case "not-simulated":
		did = htmlMark{"behaviour", "?", "odd", "not simulated"}
	case "n/a":
		did = htmlMark{"behaviour", "–", "dim", "not run"}
	}
	return [3]htmlMark{verdict, core, did}
}

// htmlClass returns the CSS class of a word.
func htmlClass(word string) string {
	switch word {
	case "BREAK", "error", "refused", "fault":
		return "bad"
	case "not-simulated", "unknown-hook", "differs", "may-break":
		return "odd"
	case "ok", "changed", "dead":
		return "good"
	}
	return "dim"
}
