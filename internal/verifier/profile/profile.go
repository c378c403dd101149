// Package profile shows where the verification of a program spends its instructions: by source
// line, branch, loop and call, which path costs most, and what kept states apart that are almost
// equal.
//
// It knows what [verifier.Costs] has, the program's lines and its control flow, and writes formats
// of other tools; it renders no tables.
//
// Start from [New].
package profile

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// Profile is where the verification of a program spent its instructions.
type Profile struct {
	Program string `json:"program"`
	Insns   int    `json:"insns"`
	States  int    `json:"states"`
	// Lines are the source lines, the most expensive first.
	Lines    []Line   `json:"lines"`
	Branches []Branch `json:"branches"`
	Loops    []Loop   `json:"loops"`
	Calls    []Call   `json:"calls"`
	// Hot is the path that costs most: at every branch the side below which more was processed.
	Hot []Step `json:"hot"`
	// Apart are the places that kept states apart which are otherwise equal.
	Apart []Apart `json:"apart"`
	// Advice are changes that would save the most.
	Advice []Advice `json:"advice"`

	p     *verifier.Program
	costs *verifier.Costs
	lines []*verifier.Line // by slot
	loops []loop
}

// Place is an instruction, and its source line if that is known.
type Place struct {
	Insn int    `json:"insn"`
	Func string `json:"func"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text,omitempty"`
}

// String returns "FILE:LINE", or function and instruction.
func (p Place) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d", path.Base(p.File), p.Line)
	}
	return fmt.Sprintf("%s, instruction %d", p.Func, p.Insn)
}

// Line is what a source line costs.
type Line struct {
	Place
	Processed int `json:"processed"`
	// WithCalls are those in the functions called from here, too.
	WithCalls int `json:"with_calls"`
	States    int `json:"states"`
	Pruned    int `json:"pruned"` // paths that ended there because an earlier state covers them
}

// Branch is what a branch costs.
type Branch struct {
	Place
	Taken int `json:"taken"`
	Fell  int `json:"fell"`
	// Both is how often both sides had to be explored.
	Both int `json:"both"`
	// Second is how many instructions were processed on the sides explored second, without those
	// behind further branches.
	Second int `json:"second"`
	// AtOnce is how many of those ended within ten instructions.
	AtOnce int `json:"at_once"`
}

// Loop is what a loop costs.
type Loop struct {
	Place
	Kind    string `json:"kind"` // "counted", "iterator" or "may_goto"
	Entered int    `json:"entered"`
	Turns   int    `json:"turns"`
	// Processed includes functions called from the loop.
	Processed int `json:"processed"`
	// Differs is what is new in each turn: a register or slot, its value and the next.
	Differs string `json:"differs,omitempty"`
}

// Call is what a call costs.
type Call struct {
	Place
	Callee string `json:"callee"`
	// Kind is how the callee is verified: "static" with each call, "callback" each time the helper
	// may call it.
	Kind  string `json:"kind"`
	Times int    `json:"times"`
	// Processed includes its callees.
	Processed int `json:"processed"`
	States    int `json:"states"`
}

// Step is a branch on the hottest path.
type Step struct {
	Place
	// Side is "taken", "not taken", or "again" and "queued" where something else than a branch
	// forks.
	Side string `json:"side"`
	// Times is how often it repeats.
	Times int `json:"times"`
	// Below is how many instructions were processed after the first of them, Other how many on the
	// other sides.
	Below int `json:"below"`
	Other int `json:"other"`
}

// Apart is a place that kept states apart.
type Apart struct {
	At    Place  `json:"at"`
	Place string `json:"place"`
	Kind  string `json:"kind"`
	// Variable is the variable in the place, if debug information has it.
	Variable string `json:"variable,omitempty"`
	Alone    int    `json:"alone"` // how often nothing else differed
	Also     int    `json:"also"`
	Loop     bool   `json:"loop"` // the other state is an earlier turn of the same path
	Kept     string `json:"kept"`
	Now      string `json:"now"`
}

// Names returns the name of the variable in a register ("R3") or slot ("fp-8") at an instruction,
// or "".
type Names func(insn int, place string) string

// New returns the profile of a verification. names may be nil.
func New(k *verifier.Kernel, p *verifier.Program, v *verifier.Verdict, c *verifier.Costs, names Names) *Profile {
	r := &Profile{Program: p.Name, Insns: v.ProcessedInsns, States: v.TotalStates, p: p, costs: c, lines: make([]*verifier.Line, len(c.Insns))}
	if names == nil {
		names = func(int, string) string { return "" }
	}
	for i := range p.Lines {
		end := len(r.lines)
		if i+1 < len(p.Lines) {
			end = p.Lines[i+1].Insn
		}
		for at := p.Lines[i].Insn; at < end && at < len(r.lines); at++ {
			r.lines[at] = &p.Lines[i]
		}
	}
	r.Lines, r.Branches, r.Loops, r.Calls, r.Hot, r.Apart, r.Advice = []Line{}, []Branch{}, []Loop{}, []Call{}, []Step{}, []Apart{}, []Advice{}
	r.addLines()
	r.addBranches()
	r.addCalls()
	r.addApart(names)
	r.addLoops()
	r.addHot()
	r.advise(k)
	return r
}

// place returns where an instruction is.
func (r *Profile) place(insn int) Place {
	at := Place{Insn: insn, Func: r.function(insn)}
	if insn >= 0 && insn < len(r.lines) && r.lines[insn] != nil {
		l := r.lines[insn]
		at.File, at.Line, at.Text = l.File, l.Line, l.Text
	}
	return at
}

// function returns the name of the function that an instruction belongs to.
func (r *Profile) function(insn int) string {
	name := r.p.Name
	for _, f := range r.p.Funcs {
		if f.Insn > insn {
			break
		}
		name = f.Name
	}
	return name
}

type lineKey struct {
	file string
	line int
	fn   string // where the line is not known
}

func (r *Profile) key(insn int) lineKey {
	if insn >= 0 && insn < len(r.lines) && r.lines[insn] != nil && r.lines[insn].Line > 0 {
		return lineKey{file: r.lines[insn].File, line: r.lines[insn].Line}
	}
	return lineKey{fn: r.function(insn)}
}

func (r *Profile) addLines() {
	by := map[lineKey]*Line{}
	at := func(insn int) *Line {
		k := r.key(insn)
		l := by[k]
		if l == nil {
			l = &Line{Place: r.place(insn)}
			by[k] = l
		}
		return l
	}
	for i, c := range r.costs.Insns {
		if c.Processed == 0 {
			continue
		}
		l := at(i)
		l.Processed += c.Processed
		l.WithCalls += c.Processed
		l.States += c.States
		l.Pruned += c.Pruned
	}
	for i := range r.costs.Calls {
		n := sum(r.costs.Calls[i].Insns)
		seen := map[*Line]bool{}
		for c := &r.costs.Calls[i]; c.Parent >= 0; c = &r.costs.Calls[c.Parent] {
			if l := at(c.Site); !seen[l] {
				seen[l] = true
				l.WithCalls += n
			}
		}
	}
	for _, l := range by {
		r.Lines = append(r.Lines, *l)
	}
	slices.SortFunc(r.Lines, func(a, b Line) int {
		return cmp.Or(b.Processed-a.Processed, cmp.Compare(a.File, b.File), a.Line-b.Line, a.Insn-b.Insn)
	})
}

func sum(n []int) int {
	all := 0
	for _, x := range n {
		all += x
	}
	return all
}

func (r *Profile) addBranches() {
	for i, c := range r.costs.Insns {
		if c.Taken+c.Fell == 0 {
			continue
		}
		b := Branch{Place: r.place(i), Taken: c.Taken, Fell: c.Fell}
		if f := r.costs.Forks[i]; f != nil {
			b.Both, b.Second, b.AtOnce = f.Count, f.Insns, f.Pruned
		}
		if b.Both > 0 {
			r.Branches = append(r.Branches, b)
		}
	}
	slices.SortFunc(r.Branches, func(a, b Branch) int { return cmp.Or(b.Second-a.Second, b.Both-a.Both, a.Insn-b.Insn) })
}

func (r *Profile) addCalls() {
	type key struct {
		at    lineKey // a compiler may repeat the call of a line
		start int
	}
	by := map[key]*Call{}
	for i := range r.costs.Calls {
		own := sum(r.costs.Calls[i].Insns)
		states := sum(r.costs.Calls[i].States)
		seen := map[key]bool{}
		for c := &r.costs.Calls[i]; c.Parent >= 0; c = &r.costs.Calls[c.Parent] {
			k := key{r.key(c.Site), c.Start}
			if seen[k] {
				continue
			}
			seen[k] = true
			call := by[k]
			if call == nil {
				call = &Call{Place: r.place(c.Site), Callee: r.function(c.Start), Kind: "static"}
				if r.p.Insns[c.Site].Op() != decode.OpCallLocal {
					call.Kind = "callback"
				}
				by[k] = call
			}
			call.Processed += own
			call.States += states
			if c == &r.costs.Calls[i] {
				call.Times += c.Times
			}
		}
	}
	for _, c := range by {
		r.Calls = append(r.Calls, *c)
	}
	slices.SortFunc(r.Calls, func(a, b Call) int { return cmp.Or(b.Processed-a.Processed, a.Insn-b.Insn) })
}

// addApart joins what happened at several instructions of a line.
func (r *Profile) addApart(names Names) {
	type key struct {
		lineKey
		place, variable string
		kind            verifier.ApartKind
		loop            bool
	}
	by := map[key]int{}
	for _, a := range r.costs.Apart {
		x := Apart{At: r.place(a.Insn), Place: a.Place, Kind: a.Kind.String(), Alone: a.Count, Also: a.Also, Loop: a.Loop, Kept: a.Kept, Now: a.Now, Variable: names(a.In, a.Place[strings.LastIndexByte(a.Place, ' ')+1:])}
		k := key{r.key(a.Insn), a.Place, x.Variable, a.Kind, a.Loop}
		if n, ok := by[k]; ok {
			r.Apart[n].Alone += a.Count
			r.Apart[n].Also += a.Also
			continue
		}
		by[k] = len(r.Apart)
		r.Apart = append(r.Apart, x)
	}
	slices.SortStableFunc(r.Apart, func(a, b Apart) int { return cmp.Or(b.Alone-a.Alone, b.Also-a.Also) })
}

func (r *Profile) addHot() {
	for _, s := range r.costs.Hot {
		side := "again"
		switch in := &r.p.Insns[s.Insn]; {
		case isConditional(in) && s.Queued:
			side = "taken"
		case isConditional(in):
			side = "not taken"
		case s.Queued:
			side = "queued"
		}
		if n := len(r.Hot); n > 0 && r.Hot[n-1].Insn == s.Insn && r.Hot[n-1].Side == side {
			r.Hot[n-1].Times++
			r.Hot[n-1].Other += s.Other
			continue
		}
		r.Hot = append(r.Hot, Step{Place: r.place(s.Insn), Side: side, Times: 1, Below: s.Below, Other: s.Other})
	}
	r.Hot = fold(r.Hot)
}

// fold joins turns of a loop: runs of steps that repeat one by one.
func fold(steps []Step) []Step {
	const longest = 12
	same := func(a, b *Step) bool { return a.Insn == b.Insn && a.Side == b.Side }
	var out []Step
	for _, s := range steps {
		out = append(out, s)
		for n := 1; n <= longest && 2*n <= len(out); n++ {
			a, b := out[len(out)-2*n:len(out)-n], out[len(out)-n:]
			equal := true
			for i := range a {
				equal = equal && same(&a[i], &b[i])
			}
			if !equal {
				continue
			}
			for i := range a {
				a[i].Times += b[i].Times
				a[i].Other += b[i].Other
			}
			out = out[:len(out)-n]
			break
		}
	}
	return out
}

func isConditional(in *decode.Insn) bool { return in.Info().Has(decode.FlagBranch) }

// Share returns a part of all processed instructions in percent.
func (r *Profile) Share(n int) float64 {
	if r.Insns == 0 {
		return 0
	}
	return 100 * float64(n) / float64(r.Insns)
}
