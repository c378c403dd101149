package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// Suite is one scenario file, or the tests inside one object, on one target; for a file whose
// mistakes kept it from running, the target is "".
type Suite struct {
	File, Target string
	Cases        []TestCase
	// Err explains why nothing ran, such as an object that cannot be loaded on the target.
	Err  error
	Took time.Duration
	Exit int
}

// TestCase is one run of a suite.
type TestCase struct {
	Name, Prog string
	Failures   []string // "place: what: want W, got G"
	Skipped    string   // why it did not run
	Doubt      string   // why the kernel may lack the program's hook
	Status     machine.Status
	Notes      []string // further notes on a failure
	Debug      string   // the command that debugs a failure on the suite's target
	Warnings   []string // doubts, whatever the outcome
	Parts      []string // outcomes of its parts
	Detail     string   // what the run executed
	Bare       bool     // it expects only that nothing faults
	Took       time.Duration
	Histograms []Histogram // that it changed
}

// NewTestCase summarises the result of a run.
func NewTestCase(r *scenario.Result) TestCase {
	c := TestCase{Name: r.Run.Name, Prog: r.Run.Prog, Bare: r.Run.ExpectsNothing(), Took: r.Took, Status: r.Status}
	if r.Run.Expect.Status != nil && (r.Status == machine.StatusAbsent || r.Status == machine.StatusUnknownHook) {
		c.Status = machine.StatusOK // the file states what it expects of the hook
	}
	if c.Status == machine.StatusUnknownHook {
		c.Doubt = "the kernel may not have its hook"
		if r.Err != nil {
			c.Doubt = strings.ReplaceAll(r.Err.Error(), "\n", "; ")
		}
	}
	for _, e := range r.Failed() {
		c.Failures = append(c.Failures, e.Pos.String()+": "+e.String())
	}
	if r.Skipped {
		c.Skipped = "not on this kernel"
		if r.Err != nil {
			c.Skipped, _, _ = strings.Cut(r.Err.Error(), "\n")
		}
		return c
	}
	for _, read := range r.StackReads {
		if r.Run.UnsetStack == scenario.WarnUnset {
			c.Warnings = append(c.Warnings, read.String())
		}
	}
	c.Detail = fmt.Sprintf("%d insns", r.Insns)
	if v := r.Validation; v.Reads > 0 {
		c.Detail += fmt.Sprintf(", kernel reads %d, proved %d, baked %d", v.Reads, v.Proved, v.Baked)
	}
	return c
}

// Counts counts the cases of suites by outcome. A suite that could not run counts as one failed
// case.
type Counts struct {
	Passed, Failed, Skipped int
	Bare                    int // passed cases that expect nothing
	Unknown                 int // cases that ran although the kernel may lack the hook
}

// Hooks counts the cases by whether their programs' hooks exist.
func (s *Suite) Hooks() HookCount {
	var h HookCount
	for i := range s.Cases {
		h.Add(s.Cases[i].Status)
	}
	return h
}

// Count counts the cases of suites.
func Count(suites []*Suite) Counts {
	var c Counts
	for _, s := range suites {
		if s.Err != nil {
			c.Failed++
		}
		for i := range s.Cases {
			t := &s.Cases[i]
			if t.Doubt != "" {
				c.Unknown++
			}
			switch {
			case t.Skipped != "":
				c.Skipped++
			case len(t.Failures) > 0:
				c.Failed++
			default:
				c.Passed++
				if t.Bare {
					c.Bare++
				}
			}
		}
	}
	return c
}

// String returns "12 passed, 1 failed, 2 skipped".
func (c Counts) String() string {
	text := fmt.Sprintf("%d passed", c.Passed)
	if c.Bare > 0 {
		text += fmt.Sprintf(" (%d without expectations)", c.Bare)
	}
	text += fmt.Sprintf(", %d failed", c.Failed)
	if c.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", c.Skipped)
	}
	if c.Unknown > 0 {
		text += fmt.Sprintf(", %d unknown-hook", c.Unknown)
	}
	return text
}

// reasons returns the lines below a failed case.
func (t *TestCase) reasons() []string {
	out := append(slices.Clone(t.Failures), t.Notes...)
	if t.Debug != "" {
		out = append(out, t.Debug)
	}
	return out
}

// kernels returns the targets that a block of text is about.
func kernels(targets []string) string {
	text := strings.Join(targets, ", ")
	if len(targets) > 1 {
		text += fmt.Sprintf(" (%d kernels)", len(targets))
	}
	return text
}

// where returns " on TARGETS", or "" for a file that could not run anywhere.
func where(targets []string) string {
	if text := kernels(targets); text != "" {
		return " on " + text
	}
	return ""
}

// alike groups suites in the order of their first member. Those of a file that failed in the same
// way on several targets are one group.
func alike(suites []*Suite) [][]*Suite {
	var out [][]*Suite
	at := map[string]int{}
	for _, s := range suites {
		if c := Count([]*Suite{s}); c.Failed > 0 && s.Target != "" {
			var b strings.Builder
			visible.Fprintf(&b, "%q %v %q", s.File, c, fmt.Sprint(s.Err))
			for i := range s.Cases {
				t := &s.Cases[i]
				visible.Fprintf(&b, "%q %q %q %q %q %q %q\n", t.Name, t.Failures, t.Notes, t.Skipped, t.Doubt, t.Warnings, t.Parts)
			}
			if n, ok := at[b.String()]; ok {
				out[n] = append(out[n], s)
				continue
			}
			at[b.String()] = len(out)
		}
		out = append(out, []*Suite{s})
	}
	return out
}

func targetsOf(group []*Suite) []string {
	var out []string
	for _, s := range group {
		out = append(out, s.Target)
	}
	return out
}

// WriteSuites writes the suites of a file as text. Targets on which the same tests failed in the
// same way share a block, which shows the first.
func WriteSuites(w io.Writer, suites []*Suite, opt TableOptions) error {
	for _, group := range alike(suites) {
		if err := writeSuite(w, group[0], kernels(targetsOf(group)), opt); err != nil {
			return err
		}
	}
	return nil
}

// writeSuite writes one suite: one line, followed by the failures, or with Verbose by every case.
func writeSuite(w io.Writer, s *Suite, targets string, opt TableOptions) error {
	st := style{opt.Color}
	var b strings.Builder
	c := Count([]*Suite{s})
	word, paint := "ok  ", st.green
	switch {
	case c.Failed > 0:
		word, paint = "FAIL", st.red
	case c.Passed == 0:
		word, paint = "skip", st.yellow
	}
	if opt.Quiet && c.Failed == 0 {
		return nil
	}
	if targets != "" {
		targets += "  "
	}
	visible.Fprintf(&b, "%s %s  %s%s\n", paint(word), st.bold(s.File), targets, c)
	if s.Err != nil {
		visible.Fprintf(&b, "     %s %s\n", st.red("error:"), visible.Indent(s.Err.Error(), "       "))
	}
	doubted := map[string]bool{}
	for i := range s.Cases {
		t := &s.Cases[i]
		switch {
		case len(t.Failures) > 0:
			visible.Fprintf(&b, "     %s %s\n", st.red("FAIL"), t.Name)
			for _, f := range t.reasons() {
				visible.Fprintf(&b, "       %s\n", visible.Indent(f, "         "))
			}
		case t.Skipped != "" && (opt.Verbose || c.Passed == 0):
			visible.Fprintf(&b, "     %s %s: %s\n", st.yellow("skip"), t.Name, t.Skipped)
		case t.Skipped == "" && opt.Verbose:
			detail := t.Detail
			if t.Bare {
				detail += ", expects nothing"
			}
			visible.Fprintf(&b, "     %s %s (%s)\n", st.green("ok  "), t.Name, detail)
			for _, p := range t.Parts {
				visible.Fprintf(&b, "          %s\n", visible.Indent(p, "            "))
			}
			writeHistograms(&b, t.Histograms, st, "          ")
		}
		for _, w := range t.Warnings {
			visible.Fprintf(&b, "     %s %s: %s\n", st.yellow("warning"), t.Name, w)
		}
		if t.Doubt != "" && !doubted[t.Prog] {
			doubted[t.Prog] = true
			visible.Fprintf(&b, "     %s %s\n", st.yellow("? hook"), t.Doubt)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
