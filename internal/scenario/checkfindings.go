package scenario

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// noFindings is the word for a run that finds nothing.
const noFindings = "none"

// checkFindings checks the kinds that are named.
func (e *Expect) checkFindings() error {
	n := e.Findings
	if n == nil || n.Kind == grammar.Scalar && n.Text == noFindings {
		return nil
	}
	var names []string
	for _, r := range finding.Kinds {
		names = append(names, string(r.Kind))
	}
	if n.Kind != grammar.Sequence {
		return n.Errorf("findings: want none or a list of kinds (%s), got %s", strings.Join(names, ", "), n.Describe())
	}
	var wrong grammar.Mistakes
	for _, item := range n.Items {
		if item.Kind != grammar.Scalar || !slices.Contains(names, item.Text) {
			wrong.Add(item.Unknown("kind of finding", item.Text, names))
		}
	}
	return wrong.Err()
}

// findings compares the kinds of what the run found.
func (j *judge) findings(e *Expect) error {
	n := e.Findings
	if n == nil || j.Checking {
		return nil
	}
	wanted := map[string]bool{}
	for _, item := range n.Items {
		wanted[item.Text] = true
	}
	found := map[string]bool{}
	ok := true
	for _, f := range j.res.Findings {
		found[string(f.Kind)] = true
		if !wanted[string(f.Kind)] {
			ok = false
			j.Expect(n.Pos, "findings", false, noFindings, f.String())
		}
	}
	for _, item := range n.Items {
		if !found[item.Text] {
			ok = false
			j.Expect(item.Pos, "findings", false, item.Text, noFindings)
		}
	}
	if ok {
		j.Expect(n.Pos, "findings", true, "", "")
	}
	return nil
}
