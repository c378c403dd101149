package report

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/markup"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// Simulate adds a simulation; run is the name of a scenario's run, or "".
func (d *RunDocument) Simulate(run string, s drive.Simulation) {
	d.AddSimulation(s.Document(run, NewError))
}

// simulated reports whether a program is part of a simulation, and whether that ran.
func (d *RunDocument) simulated(prog string) (ran, known bool) {
	for _, doc := range d.Simulations.All() {
		r, k := doc.Program(prog)
		ran, known = ran || r, known || k
	}
	return ran, known
}

// SetStatus notes what is known of a program that did not run by itself: an operation of a
// scheduler or a discipline.
func (d *RunDocument) SetStatus(prog string, s machine.Status) {
	for i := range d.Programs {
		if d.Programs[i].Name == prog {
			d.Programs[i].Status = string(s)
		}
	}
}

// terminal is where documents of simulations are written.
type terminal struct {
	b *strings.Builder
	style
	opt TableOptions
}

// Printf implements [show.Text], with the methods below.
func (t terminal) Printf(format string, args ...any) { visible.Fprintf(t.b, format, args...) }

// Bold emphasizes text.
func (t terminal) Bold(text string) string { return t.bold(text) }

// Dim is for what matters less.
func (t terminal) Dim(text string) string { return t.dim(text) }

// Red is for what failed.
func (t terminal) Red(text string) string { return t.red(text) }

// Yellow is for what may be wrong.
func (t terminal) Yellow(text string) string { return t.yellow(text) }

// All reports whether long lists are written to their end.
func (t terminal) All() bool { return t.opt.Verbose }

// Table writes rows with aligned columns.
func (t terminal) Table(rows [][]string) {
	cells := make([][]cell, len(rows))
	for i, row := range rows {
		for _, text := range row {
			cells[i] = append(cells[i], cell{text: text})
		}
	}
	writeAligned(t.b, cells)
}

// Failure implements [show.Page], as Table does.
func (p *reportPage) Failure(e *show.Error) { p.failure(e) }

// Table writes a table.
func (p *reportPage) Table(columns []show.Heading, rows [][]markup.HTML) {
	list := make([]heading, len(columns))
	for i, c := range columns {
		list[i] = heading{c.Name, c.Number, c.Wide}
	}
	p.table(list, rows)
}

// simulations draws those simulations of a document that have a drawing.
func (p *reportPage) simulations(d *RunDocument) {
	for _, doc := range d.Simulations.All() {
		if draw := doc.Page(); draw != nil {
			draw(p)
		}
	}
}
