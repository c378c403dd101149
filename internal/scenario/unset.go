package scenario

import (
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// UnsetStack selects how a read of unset stack bytes is reported.
type UnsetStack uint8

const (
	// WarnUnset reports it as a warning of the run.
	WarnUnset UnsetStack = iota
	// FailUnset reports it as a failed expectation.
	FailUnset
	// IgnoreUnset does not report it.
	IgnoreUnset
)

func (r *Run) decodeUnset(n *grammar.Node) error {
	text, err := n.NonEmpty("unset_stack")
	if err != nil {
		return err
	}
	r.UnsetNode = n
	switch text {
	case "warn":
		r.UnsetStack = WarnUnset
	case "fail":
		r.UnsetStack = FailUnset
	case "ignore":
		r.UnsetStack = IgnoreUnset
	default:
		return n.Errorf("unset_stack: want warn, fail or ignore, got %s", n.Describe())
	}
	return nil
}

// unsetStack adds a failed expectation for each read of unset stack bytes.
func (j *judge) unsetStack() {
	for _, r := range j.res.StackReads {
		j.Expect(j.run.UnsetNode.Pos, "stack read at insn "+itoa(r.Insn), false, "written bytes", r.String())
	}
}
