package report

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/flame"
	"github.com/bpfrun/bpfrun/internal/markup"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// RunProfile counts the instructions that runs execute, in their chains of calls. It implements
// [machine.Tracer]; its zero value is ready.
type RunProfile struct {
	// Named says that names of programs are to be followed by those of their object and kernel:
	// there are several.
	Named bool

	programs []*profiled
	by       map[*loader.LinkedProgram]*profiled
}

// profiled are the counts of a program.
type profiled struct {
	name   string
	p      *loader.LinkedProgram
	chains []chainCosts
	// now are the chains of the frames that run, and the last instruction of each.
	now  []int
	last []int
	all  int
}

// chainCosts is a chain of calls: the one it continues, the call's instruction, and how often each
// instruction ran in it.
type chainCosts struct {
	parent, site int
	insns        []int
	calls        map[int]int // chains that continue it, by the call's instruction
}

// Step counts an instruction.
func (r *RunProfile) Step(p *loader.LinkedProgram, pc, depth int, _, _ *[11]uint64) {
	x := r.by[p]
	if x == nil {
		x = &profiled{name: p.Name, p: p}
		if r.Named {
			x.name = fmt.Sprintf("%s of %s on %s", p.Name, p.Linked().Object.Name, p.Linked().Target.Name)
		}
		x.chains = []chainCosts{{parent: -1, insns: make([]int, len(p.Insns)), calls: map[int]int{}}}
		if r.by == nil {
			r.by = map[*loader.LinkedProgram]*profiled{}
		}
		r.by[p], r.programs = x, append(r.programs, x)
	}
	if pc < 0 || pc >= len(p.Insns) || depth < 0 {
		return
	}
	if len(x.now) == 0 {
		x.now, x.last = []int{0}, []int{0}
	}
	for len(x.now) <= depth {
		top := len(x.now) - 1
		from, site := x.now[top], x.last[top]
		n, ok := x.chains[from].calls[site]
		if !ok {
			n = len(x.chains)
			x.chains[from].calls[site] = n
			x.chains = append(x.chains, chainCosts{parent: from, site: site, insns: make([]int, len(p.Insns)), calls: map[int]int{}})
		}
		x.now, x.last = append(x.now, n), append(x.last, 0)
	}
	x.now, x.last = x.now[:depth+1], x.last[:depth+1]
	x.last[depth] = pc
	x.chains[x.now[depth]].insns[pc]++
	x.all++
}

// place is where an instruction is.
func (x *profiled) place(pc int) flame.Place {
	at := flame.Place{Insn: pc, Func: x.p.Name, Name: fmt.Sprintf("instruction %d", pc)}
	if f, ok := x.p.FuncAt(pc); ok {
		at.Func = f.Name
	}
	if l, ok := x.p.LineAt(pc); ok && l.Line > 0 {
		at.File, at.Line, at.Name = l.File, int(l.Line), fmt.Sprintf("%s:%d", path.Base(l.File), l.Line)
	}
	return at
}

// Flames returns the profiles of the programs that ran, in the order in which they first did.
func (r *RunProfile) Flames() []flame.Profile {
	var out []flame.Profile
	for _, x := range r.programs {
		out = append(out, flame.Profile{Program: x.name, Insns: len(x.p.Insns), Values: []string{"instructions"}, Each: func(f func([]flame.Place, []int)) {
			for i := range x.chains {
				var sites []flame.Place
				for c := &x.chains[i]; c.parent >= 0; c = &x.chains[c.parent] {
					sites = append(sites, x.place(c.site))
				}
				for pc, n := range x.chains[i].insns {
					if n > 0 {
						f(append([]flame.Place{x.place(pc)}, sites...), []int{n})
					}
				}
			}
		}})
	}
	return out
}

// lineCost is what a line costs.
type lineCost struct {
	name, text string
	n          int
}

// lines adds up the instructions of lines, the most first.
func (x *profiled) lines() []lineCost {
	at := map[string]int{}
	var out []lineCost
	for i := range x.chains {
		for pc, n := range x.chains[i].insns {
			if n == 0 {
				continue
			}
			place := x.place(pc)
			k, ok := at[place.Name]
			if !ok {
				k = len(out)
				at[place.Name] = k
				text := ""
				if l, ok := x.p.LineAt(pc); ok {
					text = strings.TrimSpace(l.Text)
				}
				out = append(out, lineCost{name: place.Name, text: text})
			}
			out[k].n += n
		}
	}
	slices.SortStableFunc(out, func(a, b lineCost) int { return cmp.Or(b.n-a.n, cmp.Compare(a.name, b.name)) })
	return out
}

// hotLines is the number of lines of a program that are shown.
const hotLines = 12

// WriteRunProfile writes the lines that execute most instructions.
func WriteRunProfile(w io.Writer, r *RunProfile, opt TableOptions) error {
	s := style{opt.Color}
	var b strings.Builder
	for _, x := range r.programs {
		visible.Fprintf(&b, "\n%s: %s by line\n", s.bold("profile of "+x.name), plural(x.all, "instruction"))
		lines := x.lines()
		for i, l := range lines {
			if i == hotLines && len(lines) > hotLines+1 && !opt.Verbose {
				visible.Fprintf(&b, "  ... and %d more lines (-v shows all)\n", len(lines)-i)
				break
			}
			visible.Fprintf(&b, "%8d  %5.1f %%  %s  %s\n", l.n, 100*float64(l.n)/float64(x.all), l.name, l.text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Profile adds what its runs executed to the document's page; nil adds nothing.
func (d *RunDocument) Profile(r *RunProfile) { d.profile = r }

// profiles draws the profiles of runs.
func (p *reportPage) profiles(r *RunProfile) {
	if r == nil {
		return
	}
	for i, f := range r.Flames() {
		x := r.programs[i]
		p.Printf("<section class=\"program\">\n<h2>profile of %s</h2>\n<p class=\"mute\">%s: functions and the lines in them, as wide as what they and their callees executed</p>\n", x.name, plural(x.all, "instruction"))
		flame.Draw(&p.Page, &f)
		var rows [][]markup.HTML
		for _, l := range x.lines() {
			if len(rows) == mostItems {
				break
			}
			share := 100 * float64(l.n) / float64(x.all)
			rows = append(rows, []markup.HTML{
				markup.Sprintf("%d", l.n), markup.Sprintf(`<span class="bar" aria-hidden="true"><i style="width:%.1f%%"></i></span> %.1f&nbsp;%%`, share, share), markup.Escape(l.name), markup.Sprintf("<code>%s</code>", l.text),
			})
		}
		p.table([]heading{{"instructions", true, false}, {name: "share"}, {name: "line"}, {"", false, true}}, rows)
		p.Write("</section>\n")
	}
}
