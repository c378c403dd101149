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

// String is "file:line: text".
func (p Place) String() string { return place(fmt.Sprintf("%s:%d", p.File, p.Line), p.Text) }

func place(source, text string) string {
	if text = strings.TrimSpace(text); text != "" {
		return source + ": " + text
	}
	return source
}

// sourceLine finds a line of the file a program is from.
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

// wayLength is how many source lines of a failed test are kept.
const wayLength = 3

// wayTracer keeps the last source lines that were executed of the file each program is from. What headers do on the way, copying a
// message byte by byte, says nothing.
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
	if !ok || l.Line == 0 || l.File != w.file { // line 0 stands for code the compiler made up
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

// explain finds out where failed tests went: it runs all tests once more on a machine of its own, which does the same again, and
// looks at the failed ones step by step.
func (r *Runner) explain(ctx context.Context, results []*Result) error {
	failed := func(res *Result) bool {
		if res.Status < Failed || len(res.Steps) == 0 {
			return false
		}
		last := res.Steps[len(res.Steps)-1].Result
		return last != nil && last.Ran && last.Fault == nil // a fault says its place
	}
	if !slices.ContainsFunc(results, failed) {
		return nil
	}
	again, err := Open(r.object, r.target, r.opt)
	if err != nil {
		return nil // it opened before; the results stand without their ways
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
