package report

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/verifier/profile"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// profileRows is how many rows the tables of a profile have, without -v.
const profileRows = 8

// writeProfile writes where the verification of a program spent its instructions.
func writeProfile(b *strings.Builder, p *profile.Profile, s style, verbose bool) {
	visible.Fprintf(b, "\n%s: %d instructions, %d states\n", s.bold(p.Program), p.Insns, p.States)
	rows := profileRows
	if verbose {
		rows = 1 << 30
	}
	for _, t := range p.Tables(rows) {
		if len(t.Rows) == 0 {
			continue
		}
		visible.Fprintf(b, "\n%s\n", s.bold(t.Title))
		cells := [][]cell{{}}
		for _, h := range t.Head {
			cells[0] = append(cells[0], cell{text: h, paint: s.dim})
		}
		for _, r := range t.Rows {
			row := make([]cell, len(r))
			for i := range r {
				row[i].text = r[i]
			}
			cells = append(cells, row)
		}
		writeAligned(b, cells)
		if t.Left > 0 {
			visible.Fprintf(b, "%s\n", s.dim(fmt.Sprintf("%d more (-v)", t.Left)))
		}
	}
	if len(p.Advice) > 0 {
		visible.Fprintf(b, "\n%s\n", s.bold("What to change"))
	}
	for _, a := range p.Advice {
		visible.Fprintf(b, "  %s: %s\n", a.At, a.Text)
	}
}
