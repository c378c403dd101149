package report

import (
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// RunFinding is something that a run found without being asked.
type RunFinding struct {
	Kind    string `json:"kind"`
	Program string `json:"program"`
	// Insn is the instruction in the final program, -1 where the finding is about the whole run.
	Insn   int    `json:"insn"`
	Source string `json:"source,omitempty"`
	Text   string `json:"message"`

	found finding.Finding
}

func newFindings(found []finding.Finding) []RunFinding {
	out := make([]RunFinding, len(found))
	for i, f := range found {
		out[i] = RunFinding{string(f.Kind), f.Program, f.Insn, f.Source, f.Text, f}
	}
	return out
}

func (f *RunFinding) line() string { return visible.Text(f.found.String()) }
