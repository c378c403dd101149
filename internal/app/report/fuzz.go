package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/app/fuzz"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// FuzzDocument is the JSON of `fuzz`.
type FuzzDocument struct {
	Schema string  `json:"schema"`
	Kind   string  `json:"kind"`
	Exit   int     `json:"exit"`
	Error  *Error  `json:"error"`
	Object string  `json:"object"`
	Target *Target `json:"target,omitempty"`
	// Runs is the number of inputs that were tried, Seconds the time of the search.
	Runs     uint64        `json:"runs"`
	Seconds  float64       `json:"seconds"`
	Programs []FuzzProgram `json:"programs"`
	Findings []FuzzFinding `json:"findings"`
	// Skipped are the runs that were not searched.
	Skipped []FuzzSkipped `json:"skipped"`
	// Unconfirmed counts findings that did not happen again in a scenario and are left out.
	Unconfirmed int `json:"unconfirmed"`
	// Corpus is the number of inputs that reached something new. Keep is the directory with
	// findings and the suite.
	Corpus int    `json:"corpus"`
	Keep   string `json:"keep,omitempty"`
	// Suite are the files of the suite.
	Suite []FuzzSuite `json:"suite"`
	// Path is the path of the object's file.
	Path string `json:"-"`
	// Interrupted means that the search ended before its budget was spent.
	Interrupted bool `json:"interrupted"`
}

// FuzzProgram is how far the search got in a program. Runs are those of inputs that end with it.
type FuzzProgram struct {
	Name      string          `json:"name"`
	Runs      uint64          `json:"runs"`
	Branches  FuzzBranches    `json:"branches"`
	Unreached []FuzzUnreached `json:"unreached"`
}

// FuzzBranches counts sides of conditional jumps: all, those that constants do not rule out on the
// kernel, those that the seeds reach, and those that were reached.
type FuzzBranches struct {
	Total     int `json:"total"`
	Reachable int `json:"reachable"`
	Default   int `json:"default"`
	Reached   int `json:"reached"`
}

// FuzzUnreached is a branch that was not taken although its condition was evaluated, and what it
// would need.
type FuzzUnreached struct {
	Source string `json:"source"`
	Needs  string `json:"needs"`
}

// FuzzFinding is a finding of a search.
type FuzzFinding struct {
	Kind    string `json:"kind"`
	Program string `json:"program"`
	Insn    int    `json:"insn"`
	Source  string `json:"source,omitempty"`
	Message string `json:"message"`
	// Invariant is the name of the invariant that does not hold.
	Invariant *string `json:"invariant"`
	// Scenario is the file that shows it, empty if none is kept.
	Scenario     string  `json:"scenario"`
	AfterRuns    uint64  `json:"after_runs"`
	AfterSeconds float64 `json:"after_seconds"`

	// Line is the text of the source line, Input the scenario, for pages.
	Line  string `json:"-"`
	Input string `json:"-"`
}

// FuzzSuite is a file of the suite with its runs, which end with one of the program.
type FuzzSuite struct {
	File    string   `json:"file"`
	Program string   `json:"program"`
	Runs    []string `json:"runs"`
}

// FuzzSkipped is a run that is not searched, and why.
type FuzzSkipped struct {
	Run string `json:"run"`
	Why string `json:"why"`
}

// leastRated is the shortest search, in seconds, whose rate says something.
const leastRated = 5

// mostUnreached is how many branches of a program the text lists.
const mostUnreached = 8

// WriteFuzz writes the document as text.
func WriteFuzz(w io.Writer, d *FuzzDocument, opt TableOptions) error {
	s := style{opt.Color}
	var b strings.Builder
	rate := ""
	if d.Seconds >= leastRated {
		rate = fmt.Sprintf(" (%s a second)", grouped(uint64(float64(d.Runs)/d.Seconds)))
	}
	visible.Fprintf(&b, "%s on %s: %s runs%s in %.2f s\n", d.Object, d.Target.Name, grouped(d.Runs), rate, d.Seconds)
	for _, p := range d.Programs {
		visible.Fprintf(&b, "  %s: %d of %d branches reached, %d of them by default\n", p.Name, p.Branches.Reached, p.Branches.Reachable, p.Branches.Default)
		if opt.Quiet {
			continue
		}
		for i, u := range p.Unreached {
			if i == mostUnreached && !opt.Verbose {
				visible.Fprintf(&b, "    %d more branches not reached (-v lists them)\n", len(p.Unreached)-i)
				break
			}
			visible.Fprintf(&b, "    %s: needs %s\n", u.Source, u.Needs)
		}
	}
	for _, k := range d.Skipped {
		visible.Fprintf(&b, "  %s is not searched: %s\n", k.Run, k.Why)
	}
	for _, f := range d.Findings {
		where := f.Program
		if f.Source != "" {
			where += ", " + f.Source
		}
		visible.Fprintf(&b, "%s %s: %s (%s)\n", s.yellow("finding:"), f.Kind, f.Message, where)
		if f.Scenario != "" {
			visible.Fprintf(&b, "  after %s runs; bpfrun test %s fails, bpfrun debug %s -s %s shows it\n", grouped(f.AfterRuns), f.Scenario, d.Path, f.Scenario)
		}
	}
	if len(d.Findings) == 0 {
		b.WriteString("no findings\n")
	}
	if d.Unconfirmed > 0 {
		visible.Fprintf(&b, "%s did not happen again in a scenario and %s left out\n", plural(d.Unconfirmed, "finding"), isAre(d.Unconfirmed))
	}
	if d.Keep != "" && !opt.Quiet {
		visible.Fprintf(&b, "suite and findings are in %s\n", d.Keep)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// grouped writes a number with commas.
func grouped(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// NewFuzzDocument describes what a search did.
func NewFuzzDocument(obj *loader.Object, target *Target, r *fuzz.Report) *FuzzDocument {
	doc := &FuzzDocument{
		Schema: Schema, Kind: "fuzz", Object: obj.Name, Target: target, Runs: r.Runs, Seconds: r.Seconds, Unconfirmed: r.Unconfirmed, Corpus: r.Corpus,
		Programs: []FuzzProgram{}, Findings: []FuzzFinding{}, Skipped: []FuzzSkipped{}, Suite: []FuzzSuite{},
	}
	for _, s := range r.Suite {
		doc.Suite = append(doc.Suite, FuzzSuite{File: filepath.ToSlash(s.Path), Program: s.Program, Runs: s.Runs})
	}
	for _, p := range r.Programs {
		out := FuzzProgram{Name: p.Name, Runs: p.Runs, Branches: FuzzBranches{Total: p.Total, Reachable: p.Reachable, Default: p.Default, Reached: p.Reached}, Unreached: []FuzzUnreached{}}
		for _, u := range p.Unreached {
			out.Unreached = append(out.Unreached, FuzzUnreached{Source: u.Source, Needs: u.Needs})
		}
		doc.Programs = append(doc.Programs, out)
	}
	for _, f := range r.Findings {
		out := FuzzFinding{
			Kind: string(f.Kind), Program: f.Program, Insn: f.Insn, Source: f.Source, Message: f.Text, Line: f.Line, Input: f.Input(), Scenario: f.Scenario, AfterRuns: f.AfterRuns, AfterSeconds: f.AfterSeconds,
		}
		if f.Invariant != "" {
			out.Invariant = &f.Invariant
		}
		doc.Findings = append(doc.Findings, out)
	}
	for _, s := range r.Skipped {
		doc.Skipped = append(doc.Skipped, FuzzSkipped{Run: s.Run, Why: s.Why})
	}
	return doc
}

// Tests returns the search as a suite of tests, one for each program, which fail with its findings.
func (d *FuzzDocument) Tests() *Suite {
	s := &Suite{File: d.Path, Target: d.Target.Name, Took: time.Duration(d.Seconds * float64(time.Second)), Exit: d.Exit}
	for _, p := range d.Programs {
		t := TestCase{Name: p.Name, Prog: p.Name}
		for _, f := range d.Findings {
			if f.Program == p.Name {
				t.Failures = append(t.Failures, strings.TrimSpace(f.Source+" "+f.Kind+": "+f.Message))
				t.Notes = append(t.Notes, f.Scenario)
			}
		}
		s.Cases = append(s.Cases, t)
	}
	for _, k := range d.Skipped {
		s.Cases = append(s.Cases, TestCase{Name: k.Run, Skipped: k.Why})
	}
	return s
}
