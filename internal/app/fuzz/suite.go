package fuzz

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/loader"
)

// writeSuite writes scenarios that reach every branch that was reached, with what they do as
// expectations. Inputs with the same state share a file.
func (f *Fuzzer) writeSuite(ctx context.Context) error {
	if f.opt.Keep == "" {
		return nil
	}
	dir := filepath.Join(f.opt.Keep, "suite")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	type group struct {
		prog string
		list []*entry
	}
	var groups []*group
	at := map[string]*group{}
	for _, e := range f.covering() {
		prog := f.first.runs[e.in.Events[len(e.in.Events)-1].Run].Prog
		key := prog + "\x00" + string((&Input{Maps: e.in.Maps, Globals: e.in.Globals, Fields: e.in.Fields, Texts: e.in.Texts, Links: e.in.Links}).encode())
		if len(e.in.Events) > 1 {
			key += string(e.in.encode())
		}
		g := at[key]
		if g == nil {
			g = &group{prog: prog}
			at[key], groups = g, append(groups, g)
		}
		g.list = append(g.list, e)
	}
	number := map[string]int{}
	written := map[string]bool{}
	for _, g := range groups {
		if ctx.Err() != nil {
			f.note("the suite is not complete: no time was left to write the rest")
			return nil
		}
		text, names, err := f.suiteFile(ctx, dir, g.list)
		if err != nil {
			f.note("a part of the suite is left out: %v", err)
			continue
		}
		if text == nil {
			continue
		}
		number[g.prog]++
		name := fmt.Sprintf("%s-%d.yaml", g.prog, number[g.prog])
		if err := writeFile(filepath.Join(dir, name), text); err != nil {
			return err
		}
		written[name] = true
		f.suite = append(f.suite, SuiteFile{filepath.Join(dir, name), g.prog, names})
	}
	return f.removeStale(dir, written)
}

// removeStale removes files of an earlier suite.
func (f *Fuzzer) removeStale(dir string, written map[string]bool) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if written[e.Name()] || !e.Type().IsRegular() || filepath.Ext(e.Name()) != ".yaml" {
			continue
		}
		p := filepath.Join(dir, e.Name())
		if data, err := os.ReadFile(p); err == nil && bytes.HasPrefix(data, []byte("# "+header)) {
			if err := os.Remove(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// covering selects inputs that together reach everything: those without a branch of their own are
// left out.
func (f *Fuzzer) covering() []*entry {
	var out []*entry
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[edge]bool{}
	for _, e := range f.corpus {
		if !f.allInput(e.in) {
			continue
		}
		n := len(seen)
		for _, x := range e.edges {
			seen[f.branch(x)] = true
		}
		if len(seen) > n { // the others are about further calls of a function
			out = append(out, e)
		}
	}
	return out
}

// allInput reports whether only user space writes the maps and variables that an input sets.
func (f *Fuzzer) allInput(in *Input) bool {
	for _, e := range in.Maps {
		if f.written[e.Map] && !f.varies[e.Map] {
			return false
		}
	}
	for _, g := range in.Globals {
		if f.written[g.Name] && !f.varies[g.Name] {
			return false
		}
	}
	return true
}

// suiteFile writes runs for inputs with one state, and returns their names. It returns nil if none
// of them can be written.
func (f *Fuzzer) suiteFile(ctx context.Context, dir string, list []*entry) (text []byte, names []string, err error) {
	d := f.newDraft(dir, list[0].in)
	for _, e := range list {
		for i := range e.in.Events {
			n := d.event(&e.in.Events[i])
			name := f.inWords(e.edges)
			if i < len(e.in.Events)-1 {
				name = "before: " + f.first.runs[e.in.Events[i].Run].Prog
			}
			d.name(n, name)
		}
	}
	sequence := len(list[0].in.Events) > 1
	comment := header + ": what the object does today, a run for each branch that was reached.\nChange the expectations where that is wrong."
	if f.flags != "" {
		comment += "\nThe runs need " + f.flags + "."
	}
	opt := f.opt.Scenario
	file, err := scenario.Parse(filepath.Join(dir, "suite.yaml"), d.text(comment, sequence))
	if err != nil {
		return nil, nil, err
	}
	opt.Engine = machine.EngineInterpreter
	r, err := scenario.Open(file, f.obj, f.target, opt)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	i := 0
	var kept []*grammar.Node
	_, err = r.All(ctx, func(res *scenario.Result) {
		n := d.runs[i]
		i++
		e, err := r.Observed(res.Result)
		if err != nil || len(res.Findings) > 0 || !res.Passed() {
			return // a finding is no behaviour to expect
		}
		n.Put("expect", e)
		kept = append(kept, n)
		names = append(names, n.Get("name").Text)
	})
	if err != nil {
		return nil, nil, err
	}
	if d.runs = kept; len(kept) == 0 {
		return nil, nil, nil
	}
	linked, err := f.obj.Load(f.target, opt.Load)
	if err != nil {
		return nil, nil, err
	}
	text, err = scenario.Settle(ctx, d.text(comment, sequence), linked, opt)
	return text, names, err
}

// inWords describes what an input reached first: the line of its first branch, and how many more.
func (f *Fuzzer) inWords(edges []edge) string {
	seen := map[edge]bool{}
	list := slices.DeleteFunc(slices.Clone(edges), func(e edge) bool {
		b := f.branch(e)
		was := seen[b]
		seen[b] = true
		return e.pc == entered || was
	})
	if len(list) == 0 {
		return edges[0].prog
	}
	slices.SortFunc(list, func(a, b edge) int { return f.plainAt(a.prog, a.pc) - f.plainAt(b.prog, b.pc) })
	best := list[0]
	l := f.first.fast.Machine().Linked()
	text := f.words(l, best)
	if n := len(list) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

// words describes a branch by its source line.
func (f *Fuzzer) words(l *loader.Linked, e edge) string {
	lp, ok := l.Program(e.prog)
	side := "goes on"
	if e.taken {
		side = "jumps"
	}
	if !ok {
		return fmt.Sprintf("%s %s at insn %d", e.prog, side, f.plainAt(e.prog, e.pc))
	}
	line, ok := lp.LineAt(e.pc)
	if !ok || line.Line == 0 {
		return fmt.Sprintf("%s %s at insn %d", e.prog, side, f.plainAt(e.prog, e.pc))
	}
	text := strings.Join(strings.Fields(line.Text), " ")
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "..."
	}
	return fmt.Sprintf("%s %s at %s:%d: %s", e.prog, side, path.Base(line.File), line.Line, text)
}

// sourceOf is "file:line" of an instruction, or its number.
func (f *Fuzzer) sourceOf(l *loader.Linked, prog string, pc int) string {
	if lp, ok := l.Program(prog); ok {
		if line, ok := lp.LineAt(pc); ok && line.Line != 0 {
			return fmt.Sprintf("%s:%d", path.Base(line.File), line.Line)
		}
	}
	return fmt.Sprintf("insn %d", f.plainAt(prog, pc))
}

// Report is what a search did.
type Report struct {
	Runs     uint64
	Seconds  float64
	Programs []ProgramReport
	Findings []*Finding
	Skipped  []Skipped
	// Unconfirmed counts findings that did not happen again in their scenarios.
	Unconfirmed int
	// Corpus is the number of inputs that reached something new.
	Corpus int
	// Suite are the files of the suite.
	Suite []SuiteFile
}

// SuiteFile is a file of the suite with its runs, which end with one of the program.
type SuiteFile struct {
	Path, Program string
	Runs          []string
}

// ProgramReport is how far a search got in a program.
type ProgramReport struct {
	Name string
	// Runs is the number of inputs that end with a run of the program.
	Runs                               uint64
	Total, Reachable, Default, Reached int
	Unreached                          []Unreached
}

// Unreached is a branch that was not reached although its condition was.
type Unreached struct{ Source, Needs string }

func (f *Fuzzer) report(took float64) *Report {
	r := &Report{Runs: f.runs.Load(), Seconds: took, Findings: f.found, Skipped: f.skip, Unconfirmed: f.lost, Corpus: len(f.corpus), Suite: f.suite}
	l := f.first.fast.Machine().Linked()
	for _, name := range f.programs() {
		p := ProgramReport{Name: name, Runs: f.progRuns[name], Total: 2 * len(f.jumps[name])}
		p.Reachable, p.Reached, p.Default = f.count(name)
		seen := map[Unreached]bool{}
		for _, j := range f.jumps[name] {
			for _, taken := range []bool{true, false} {
				e, other := edge{name, j.pc, taken}, edge{name, j.pc, !taken}
				if taken && !j.taken || !taken && !j.fell || f.branches[e] || !f.branches[other] {
					continue
				}
				u := Unreached{f.sourceOf(l, name, j.at), f.needs[e]}
				if u.Needs == "" {
					u.Needs = "a value that no single input decides"
				}
				if !seen[u] {
					seen[u] = true
					p.Unreached = append(p.Unreached, u)
				}
			}
		}
		r.Programs = append(r.Programs, p)
	}
	return r
}

// count counts the branches of a program: those that are possible, with variables of .rodata as
// they are or as an input had them, those that were reached, and those that the seeds reach.
func (f *Fuzzer) count(prog string) (reachable, reached, byDefault int) {
	for _, j := range f.jumps[prog] {
		for _, taken := range []bool{true, false} {
			e := edge{prog, j.pc, taken}
			if f.branches[e] {
				reached++
			}
			if f.defaults[e] {
				byDefault++
			}
			if f.branches[e] || taken && j.taken || !taken && j.fell {
				reachable++
			}
		}
	}
	return reachable, reached, byDefault
}
