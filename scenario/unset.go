package scenario

// UnsetStack describes what becomes of a read of stack bytes that nobody wrote.
type UnsetStack uint8

const (
	// WarnUnset makes it a warning of the run.
	WarnUnset UnsetStack = iota
	// FailUnset makes it a failed expectation.
	FailUnset
	// IgnoreUnset says nothing.
	IgnoreUnset
)

func (r *Run) decodeUnset(n *Node) error {
	text, err := n.text("unset_stack")
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
		return n.errorf("unset_stack: want warn, fail or ignore, got %s", n.describe())
	}
	return nil
}

// unsetStack fails for each read of stack bytes that nobody wrote.
func (j *judge) unsetStack() {
	for _, r := range j.res.StackReads {
		j.expect(j.run.UnsetNode.Pos, "stack read at insn "+itoa(r.Insn), false, "written bytes", r.String())
	}
}
