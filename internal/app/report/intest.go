package report

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/intest"
	"github.com/bpfrun/bpfrun/internal/progtype"
)

// Test is one test inside an object.
type Test struct {
	Name     string     `json:"name"`
	Status   string     `json:"status"` // pass, skip, fail, error
	Exit     int        `json:"exit"`
	Failures []string   `json:"failures,omitempty"`
	Skipped  string     `json:"skipped,omitempty"`
	Parts    []TestPart `json:"parts,omitempty"`
	Logs     []string   `json:"logs,omitempty"`
	Steps    []TestStep `json:"steps"`
	Way      []string   `json:"way,omitempty"`
	Insns    uint64     `json:"insns"`
}

// TestPart is a part of a test with a status of its own.
type TestPart struct {
	Name   string   `json:"name"`
	Status string   `json:"status"`
	Logs   []string `json:"logs,omitempty"`
}

// TestStep is one program of a test.
type TestStep struct {
	Stage   string `json:"stage,omitempty"`
	Prog    string `json:"prog"`
	Status  string `json:"status"`
	Ret     string `json:"ret,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	Insns   uint64 `json:"insns"`
}

// NewTestCaseOf summarises the result of a test inside an object.
func NewTestCaseOf(r *intest.Result) TestCase {
	c := TestCase{Name: r.Test.Name, Prog: r.Test.Prog(), Failures: r.Failures, Skipped: r.Skipped, Took: r.Took}
	if n := len(r.Steps); n > 0 && r.Steps[n-1].Result != nil {
		c.Status = r.Steps[n-1].Result.Status
	}
	if len(r.Failures) > 0 {
		c.Notes = append(c.Notes, r.Logs...)
		if len(r.Way) > 0 {
			c.Notes = append(c.Notes, "last lines:\n"+strings.Join(way(r), "\n"))
		}
	}
	c.Detail = fmt.Sprintf("%d insns", r.Insns)
	for _, p := range r.Parts {
		c.Parts = append(c.Parts, p.String())
	}
	return c
}

func way(r *intest.Result) []string {
	var out []string
	for _, p := range r.Way {
		out = append(out, p.String())
	}
	return out
}

// AddTest adds a test inside the object. Its programs' changes to maps are left out: they are the
// test's input, and large.
func (d *RunDocument) AddTest(r *intest.Result) {
	t := Test{
		Name: r.Test.Name, Status: r.Status.String(), Exit: r.Exit, Failures: r.Failures, Skipped: r.Skipped, Logs: r.Logs, Way: way(r), Insns: r.Insns,
		Steps: []TestStep{},
	}
	for _, p := range r.Parts {
		t.Parts = append(t.Parts, TestPart{p.Name, p.Status.String(), p.Logs})
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		step := TestStep{Stage: string(s.Stage), Prog: s.Prog, Status: "refused"}
		if s.Result != nil {
			step.Status, step.Insns = string(s.Result.Status), s.Result.Insns
			if s.Result.Ran && s.Result.Fault == nil {
				step.Ret = Hex64(s.Result.Ret)
				if s.Stage == intest.Setup { // the return values of the other stages are not verdicts
					step.Verdict = progtype.VerdictName(r.Test.Type(s.Stage), int32(s.Result.Ret))
				}
			}
		}
		t.Steps = append(t.Steps, step)
	}
	d.Tests = append(d.Tests, t)
}
