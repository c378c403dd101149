package scenario

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine/finding"
)

// noFindings is the word for a run that finds nothing.
const noFindings = "none"

// checkFindings checks the kinds that are named.
func (e *Expect) checkFindings() error {
	n := e.Findings
	if n == nil || n.Kind == Scalar && n.Text == noFindings {
		return nil
	}
	var names []string
	for _, r := range finding.Kinds {
		names = append(names, string(r.Kind))
	}
	if n.Kind != Sequence {
		return n.errorf("findings: want none or a list of kinds (%s), got %s", strings.Join(names, ", "), n.describe())
	}
	var wrong mistakes
	for _, item := range n.Items {
		if item.Kind != Scalar || !slices.Contains(names, item.Text) {
			wrong.add(item.unknown("kind of finding", item.Text, names))
		}
	}
	return wrong.err()
}

// findings compares the kinds of what the run found.
func (j *judge) findings(e *Expect) error {
	n := e.Findings
	if n == nil || j.checking {
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
			j.expect(n.Pos, "findings", false, noFindings, f.String())
		}
	}
	for _, item := range n.Items {
		if !found[item.Text] {
			ok = false
			j.expect(item.Pos, "findings", false, item.Text, noFindings)
		}
	}
	if ok {
		j.expect(n.Pos, "findings", true, "", "")
	}
	return nil
}
