package report

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// Validation describes how many reads of kernel memory in a run are proved valid.
type Validation struct {
	Reads    int       `json:"reads"`
	Proved   int       `json:"proved"`
	Baked    int       `json:"baked"`
	Findings []Finding `json:"findings"`
}

// Finding is a read that is not proved valid.
type Finding struct {
	Kind string `json:"kind"`
	// Program is the one whose instruction it is; after a tail call or in a callback it is not the
	// one that was started.
	Program string `json:"program"`
	Insn    int    `json:"insn"`
	Source  string `json:"source,omitempty"`
	Text    string `json:"text"`
}

func newValidation(v machine.Validation) *Validation {
	out := &Validation{Reads: v.Reads, Proved: v.Proved, Baked: v.Baked, Findings: []Finding{}}
	for _, f := range v.Findings {
		out.Findings = append(out.Findings, Finding{string(f.Kind), f.Program, f.Insn, f.Source, f.Text})
	}
	return out
}

// AddScenario adds a run of a scenario to its program. m must be in the state after the run.
func (d *RunDocument) AddScenario(m *machine.Machine, res *scenario.Result) {
	sim := res.Simulation
	if sim != nil && sim.Runs() == nil {
		d.Simulate(res.Run.Name, sim)
	}
	for i := range d.Programs {
		p := &d.Programs[i]
		if p.Name != res.Run.Prog {
			continue
		}
		before := len(p.Runs)
		d.Add(m, res.Result)
		if len(p.Runs) == before { // it did not run, but its expectations are still listed
			if len(res.Expectations) == 0 {
				return
			}
			p.Runs = append(p.Runs, d.newRun(m, res.Result))
		}
		r := &p.Runs[len(p.Runs)-1]
		r.Name, r.titled = res.Run.Name, true
		if sim != nil && sim.Runs() != nil {
			d.Simulate(res.Run.Name, sim)
		}
		for _, e := range res.Expectations {
			r.Expectations = append(r.Expectations, Expectation{What: e.What, OK: e.OK, Want: e.Want, Got: e.Got, Place: e.Pos.String()})
		}
		if p.Status == "ok" && !res.Passed() {
			p.Status = "failed"
		}
		if res.Passed() && res.Fault != nil {
			p.Status = "ok" // the fault was expected
		}
		return
	}
}

// NothingRan says why none of the runs of a scenario could run, which is an error where exactly this
// scenario was asked for on this kernel.
func (d *RunDocument) NothingRan(why error) {
	d.Error = NewError(why)
	d.Exit = exitcode.Worse(d.Exit, exitcode.Load)
}

// ScenarioExit returns the exit code of a scenario run: 0, 1 for a failed expectation, or 3, 4 or 5
// for a program that was unexpectedly refused, faulted, or used something not simulated.
// [HookCount] covers hooks.
func ScenarioExit(res *scenario.Result) int {
	if res.Passed() {
		return exitcode.OK
	}
	if code := res.Status.Exit(); code != exitcode.OK && res.Run.Expect.Status == nil && res.Run.Expect.Fault == nil {
		return code
	}
	return exitcode.Expectation
}

// writeValidation writes the number of proved reads, for runs outside scenarios only if some are
// not proved.
func writeValidation(b *strings.Builder, r *Run, item func(kind, text string), s style, opt TableOptions) {
	v := r.Validation
	if v == nil || !opt.Verbose && !r.titled && v.Baked == 0 && v.Proved == v.Reads {
		return
	}
	item("kernel", fmt.Sprintf("reads %d, proved %d, baked %d", v.Reads, v.Proved, v.Baked))
	seen := map[string]bool{}
	for _, f := range v.Findings {
		if f.Kind == string(machine.NeverSet) {
			continue // reported as a warning
		}
		text := f.Kind + ": " + f.Text
		if f.Source != "" {
			text += " at " + f.Source
		}
		if f.Program != r.program {
			text += " in " + f.Program
		}
		if !seen[text] {
			seen[text] = true
			visible.Fprintf(b, "  %s %s\n", s.yellow("warning:"), text)
		}
	}
}

// writeExpectations writes the failed expectations, or with -v all of them.
func writeExpectations(b *strings.Builder, r *Run, s style, opt TableOptions) {
	for _, e := range r.Expectations {
		switch {
		case !e.OK:
			visible.Fprintf(b, "  %s %s: want %s, got %s\n           %s\n", s.red("failed: "), e.What, e.Want, e.Got, s.dim(e.Place))
		case opt.Verbose:
			visible.Fprintf(b, "  %s %s\n", s.green("expected"), e.What)
		}
	}
}
