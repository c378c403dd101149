package report

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/app/builds"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// DiffDocument is the JSON of `diff`.
type DiffDocument struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
	Exit   int    `json:"exit"`
	Error  *Error `json:"error"`
	Old    Build  `json:"old"`
	New    Build  `json:"new"`
	// Limits are those of the command line, by the figure they are about, in percent of growth.
	Limits map[string]float64 `json:"limits"`
	// Results has one for each kernel.
	Results []DiffResult `json:"results"`

	// Paths maps the names of the new object and its sources to files in the repository; for
	// annotations.
	Paths map[string]string `json:"-"`
}

// Build is one of two objects.
type Build struct {
	Object string `json:"object"`
	Size   int64  `json:"size"`
}

// DiffResult is the comparison on one kernel.
type DiffResult struct {
	Target   *Target       `json:"target"`
	Programs []DiffProgram `json:"programs"`
	Maps     []DiffMap     `json:"maps"`
	// Left are inputs that were not compared.
	Left []DiffLeft `json:"left_out"`
}

// DiffProgram is a program of one or both builds.
type DiffProgram struct {
	Name string `json:"name"`
	// Old and New are null where the build lacks it.
	Old *DiffFacts `json:"old"`
	New *DiffFacts `json:"new"`
	// Inputs counts those that were run on both builds.
	Inputs      int              `json:"inputs"`
	Differences []DiffDifference `json:"differences"`
	// Exceeds are the limits that the new build is above.
	Exceeds []DiffExcess `json:"exceeds,omitempty"`
	// Refused means that the kernel refuses the program now, and did not before.
	Refused bool `json:"refused"`
}

// DiffFacts are what a program is in one build.
type DiffFacts struct {
	Section   string   `json:"section"`
	Type      string   `json:"type"`
	Optional  bool     `json:"optional"`
	Status    string   `json:"status"`
	Reason    string   `json:"reason,omitempty"`
	Source    string   `json:"source,omitempty"`
	Processed int      `json:"processed_insns"`
	States    int      `json:"total_states"`
	Stack     int      `json:"stack"`
	Insns     int      `json:"insns"`
	Relocs    int      `json:"relocations"`
	Maps      []string `json:"maps"`
	Helpers   []string `json:"helpers"`
	Kfuncs    []string `json:"kfuncs"`
	// Oldest is the oldest release that loads it, by rules if no types of it are at hand; "" if
	// none is known.
	Oldest  string `json:"oldest"`
	ByRules bool   `json:"by_rules"`
	Needs   string `json:"needs,omitempty"`
}

// DiffDifference is an input with different results.
type DiffDifference struct {
	Input string `json:"input"`
	Text  string `json:"text"`
}

// DiffExcess is a figure that grew more than its limit.
type DiffExcess struct {
	What  string  `json:"what"`
	Old   int     `json:"old"`
	New   int     `json:"new"`
	Limit float64 `json:"limit"`
}

// DiffMap is a map that changed.
type DiffMap struct {
	Name    string   `json:"name"`
	Old     string   `json:"old"`
	New     string   `json:"new"`
	Changes []string `json:"changes"`
}

// DiffLeft is an input that was not compared.
type DiffLeft struct {
	Program string `json:"program"`
	Input   string `json:"input"`
	Reason  string `json:"reason"`
}

// The figures that limits are about.
const (
	LimitInsns = "insns" // processed by the verifier
	LimitSize  = "size"  // slots of the program
	LimitStack = "stack"
)

// NewDiffDocument returns a document without results. limits are the growth in percent that is
// allowed, by figure.
func NewDiffDocument(older, newer Build, limits map[string]float64) *DiffDocument {
	return &DiffDocument{Schema: Schema, Kind: "diff", Old: older, New: newer, Limits: limits, Results: []DiffResult{}}
}

// Add adds the comparison on a kernel. Optional programs count for the exit code only if optional
// is set.
func (d *DiffDocument) Add(t *loader.Target, source string, c *builds.Comparison, optional bool) {
	r := DiffResult{Target: NewTarget(t, source), Programs: []DiffProgram{}, Maps: []DiffMap{}, Left: []DiffLeft{}}
	for i := range c.Programs {
		p := &c.Programs[i]
		out := DiffProgram{Name: p.Name, Old: diffFacts(p.Old), New: diffFacts(p.New), Inputs: p.Inputs, Differences: []DiffDifference{}}
		for _, x := range p.Differences {
			out.Differences = append(out.Differences, DiffDifference(x))
		}
		out.Refused = p.New != nil && p.New.Status == machine.StatusRefused && (p.Old == nil || p.Old.Status != machine.StatusRefused)
		if p.Old != nil && p.New != nil {
			out.exceed(LimitInsns, p.Old.Processed, p.New.Processed, d.Limits)
			out.exceed(LimitSize, p.Old.Insns, p.New.Insns, d.Limits)
			out.exceed(LimitStack, p.Old.Stack, p.New.Stack, d.Limits)
		}
		if p.New == nil || !p.New.Optional || optional {
			d.Exit = exitcode.Worse(d.Exit, out.exit())
		}
		r.Programs = append(r.Programs, out)
	}
	for _, m := range c.Maps {
		r.Maps = append(r.Maps, DiffMap{m.Name, m.Old, m.New, append([]string{}, m.Changes...)})
	}
	for _, l := range c.Left {
		r.Left = append(r.Left, DiffLeft{l.Program, l.Input, l.Why})
	}
	d.Results = append(d.Results, r)
}

// exit is the exit code of a program: that of a refusal if the kernel refuses it only now, that of
// an expectation for a figure above its limit and for other results.
func (p *DiffProgram) exit() int {
	switch {
	case p.Refused:
		return machine.StatusRefused.Exit()
	case len(p.Exceeds) > 0 || len(p.Differences) > 0:
		return exitcode.Expectation
	}
	return exitcode.OK
}

// exceed notes a figure that grew more than its limit. A program that is refused was not verified
// to its end, so that its figures do not count.
func (p *DiffProgram) exceed(what string, older, newer int, limits map[string]float64) {
	limit, ok := limits[what]
	verified := p.Old.Status == string(machine.StatusOK) && p.New.Status == string(machine.StatusOK)
	if ok && (verified || what == LimitSize) && float64(newer) > float64(older)*(1+limit/100) {
		p.Exceeds = append(p.Exceeds, DiffExcess{what, older, newer, limit})
	}
}

func diffFacts(f *builds.Facts) *DiffFacts {
	if f == nil {
		return nil
	}
	return &DiffFacts{
		Section: f.Section, Type: f.Type, Optional: f.Optional, Status: string(f.Status), Reason: f.Why, Source: f.Source, Processed: f.Processed,
		States: f.States, Stack: f.Stack, Insns: f.Insns, Relocs: f.Relocs, Maps: append([]string{}, f.Maps...), Helpers: append([]string{}, f.Helpers...),
		Kfuncs: append([]string{}, f.Kfuncs...), Oldest: f.Oldest, ByRules: f.ByRules, Needs: f.Needs,
	}
}

// changed reports whether a program is not the same in both builds.
func (p *DiffProgram) changed() bool {
	return p.Old == nil || p.New == nil || len(p.Differences) > 0 || len(p.Exceeds) > 0 || len(p.details(true)) > 0 ||
		p.Old.Status != p.New.Status || p.Old.Processed != p.New.Processed || p.Old.Stack != p.New.Stack || p.Old.Insns != p.New.Insns || p.Old.Oldest != p.New.Oldest
}

// details are the lines below a program: what it calls and names now and did not before, and the
// reason of a refusal. Without figures those of the table are left out.
func (p *DiffProgram) details(quiet bool) []detail {
	var out []detail
	add := func(kind, text string) {
		if text != "" {
			out = append(out, detail{kind, text})
		}
	}
	if p.New != nil && p.New.Reason != "" && (p.Old == nil || p.Old.Reason != p.New.Reason) {
		text := p.New.Reason
		if p.New.Source != "" {
			text += " at " + p.New.Source
		}
		add(p.New.Status, text)
	}
	if p.Old == nil || p.New == nil {
		return out
	}
	if p.Old.Section != p.New.Section {
		add("hook", p.Old.Section+" → "+p.New.Section)
	}
	add("helpers", setChange(p.Old.Helpers, p.New.Helpers))
	add("kfuncs", setChange(p.Old.Kfuncs, p.New.Kfuncs))
	add("maps", setChange(p.Old.Maps, p.New.Maps))
	if p.Old.Relocs != p.New.Relocs {
		add("CO-RE", fmt.Sprintf("%d → %d relocations", p.Old.Relocs, p.New.Relocs))
	}
	if !quiet && p.New.Oldest != p.Old.Oldest && p.New.Needs != "" {
		add("needs", p.New.Needs)
	}
	return out
}

type detail struct{ kind, text string }

// setChange lists what a set gained and lost: "+bpf_loop -bpf_ktime_get_ns".
func setChange(older, newer []string) string {
	text := ""
	for _, n := range newer {
		if !slices.Contains(older, n) {
			text += " +" + n
		}
	}
	for _, o := range older {
		if !slices.Contains(newer, o) {
			text += " -" + o
		}
	}
	if text == "" {
		return ""
	}
	return text[1:]
}
