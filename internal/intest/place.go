package intest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/loader"
)

// Place is a source line.
type Place struct {
	File string
	Line uint32
	Text string
}

// String returns "file:line: text".
func (p Place) String() string { return place(fmt.Sprintf("%s:%d", p.File, p.Line), p.Text) }

func place(source, text string) string {
	if text = strings.TrimSpace(text); text != "" {
		return source + ": " + text
	}
	return source
}

// sourceLine returns a line of the source file that a program comes from.
func (r *Runner) sourceLine(prog string, line uint32) (Place, bool) {
	for _, p := range r.m.Linked().Programs {
		if p.Name != prog {
			continue
		}
		own, ok := p.LineAt(0)
		for pc := range p.Insns {
			if l, found := p.LineAt(pc); ok && found && l.Line == line && l.File == own.File {
				return Place{l.File, l.Line, l.Text}, true
			}
		}
		if ok {
			return Place{File: own.File, Line: line}, true
		}
	}
	return Place{}, false
}

// wayLength is the number of source lines that are kept for a failed test.
const wayLength = 3

// wayTracer keeps the last executed source lines of the file that each program comes from. Lines of
// headers, such as a byte-by-byte message copy, are left out: they explain nothing.
type wayTracer struct {
	prog  *loader.LinkedProgram
	file  string
	lines []Place
}

// Step implements [machine.Tracer].
func (w *wayTracer) Step(p *loader.LinkedProgram, pc, _ int, _, _ *[11]uint64) {
	if w.prog != p {
		own, _ := p.LineAt(0)
		w.prog, w.file = p, own.File
	}
	l, ok := p.LineAt(pc)
	if !ok || l.Line == 0 || l.File != w.file { // the compiler uses line 0 for code without a source line
		return
	}
	if strings.Trim(l.Text, "{} \t;") == "" && l.Text != "" {
		return
	}
	at := Place{l.File, l.Line, l.Text}
	if i := slices.Index(w.lines, at); i >= 0 {
		w.lines = slices.Delete(w.lines, i, i+1)
	}
	if len(w.lines) == wayLength {
		w.lines = slices.Delete(w.lines, 0, 1)
	}
	w.lines = append(w.lines, at)
}

// explain finds the last source lines of failed tests: it runs all tests again, in the same order,
// on a machine of its own, and traces the failed ones.
func (r *Runner) explain(ctx context.Context, results []*Result) error {
	failed := func(res *Result) bool {
		if res.Status < Failed || len(res.Steps) == 0 {
			return false
		}
		last := res.Steps[len(res.Steps)-1].Result
		return last != nil && last.Ran && last.Fault == nil // a fault has its own source line
	}
	if !slices.ContainsFunc(results, failed) {
		return nil
	}
	again, err := Open(r.object, r.target, r.opt)
	if err != nil {
		return nil // it opened before; keep the results without their last lines
	}
	defer again.Close()
	last := 0
	for i, res := range results {
		if failed(res) {
			last = i
		}
	}
	for i, res := range results[:last+1] {
		t := again.tests[i]
		if !failed(res) {
			if t.Plain == nil {
				if _, err := again.one(ctx, t, nil); err != nil {
					return err
				}
			}
			continue
		}
		var w wayTracer
		if _, err := again.one(ctx, t, &w); err != nil {
			return err
		}
		res.Way = w.lines
	}
	return nil
}
