package scenario

import (
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// Ignored is an entry of ignore: findings that are no mistakes, with the reason.
type Ignored struct {
	finding.Ignore
	grammar.Pos
	Reason string

	prog *grammar.Node
}

func (f *File) decodeIgnored(n *grammar.Node) error {
	if n == nil {
		return nil
	}
	if n.Kind != grammar.Sequence {
		return n.Errorf("ignore: want a list of {kind, prog, reason}, got %s", n.Describe())
	}
	var wrong grammar.Mistakes
	for _, item := range n.Items {
		if wrong.Add(item.Fields(ignoreForm)) {
			i, err := decodeIgnored(item)
			if wrong.Add(err) {
				f.Ignored = append(f.Ignored, i)
			}
		}
	}
	return wrong.Err()
}

// ignored reads {kind, prog, reason}.
func decodeIgnored(n *grammar.Node) (i Ignored, err error) {
	i.Pos, i.prog = n.Pos, n.Get("prog")
	kind := n.Get("kind")
	name, err := kind.NonEmpty("kind")
	if err != nil {
		return i, err
	}
	if i.Ignore, err = finding.ParseIgnore(name); err != nil || i.Program != "" {
		return i, kind.Unknown("kind of finding", name, finding.Names())
	}
	if i.prog != nil {
		if i.Program, err = i.prog.NonEmpty("prog"); err != nil {
			return i, err
		}
	}
	i.Reason, err = n.Get("reason").NonEmpty("reason")
	return i, err
}

// setIgnored silences findings of the file's runs.
func (r *Runner) setIgnored() error {
	var wrong grammar.Mistakes
	for _, i := range r.file.Ignored {
		if _, ok := r.m.Linked().Object.Program(i.Program); i.Program != "" && !ok {
			wrong.Add(i.prog.Unknown("program", i.Program, programNames(r.m.Linked().Object)))
			continue
		}
		r.m.Ignore(i.Ignore)
	}
	return wrong.Err()
}
