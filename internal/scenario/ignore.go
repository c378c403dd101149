package scenario

import (
	"github.com/bpfrun/bpfrun/internal/machine/finding"
)

// Ignored is an entry of ignore: findings that are no mistakes, with the reason.
type Ignored struct {
	finding.Ignore
	Pos
	Reason string

	prog *Node
}

func (f *File) decodeIgnored(n *Node) error {
	if n == nil {
		return nil
	}
	if n.Kind != Sequence {
		return n.errorf("ignore: want a list of {kind, prog, reason}, got %s", n.describe())
	}
	var wrong mistakes
	for _, item := range n.Items {
		if wrong.add(item.fields(ignoreForm)) {
			i, err := item.ignored()
			if wrong.add(err) {
				f.Ignored = append(f.Ignored, i)
			}
		}
	}
	return wrong.err()
}

// ignored reads {kind, prog, reason}.
func (n *Node) ignored() (i Ignored, err error) {
	i.Pos, i.prog = n.Pos, n.Get("prog")
	kind := n.Get("kind")
	name, err := kind.text("kind")
	if err != nil {
		return i, err
	}
	if i.Ignore, err = finding.ParseIgnore(name); err != nil || i.Program != "" {
		return i, kind.unknown("kind of finding", name, finding.Names())
	}
	if i.prog != nil {
		if i.Program, err = i.prog.text("prog"); err != nil {
			return i, err
		}
	}
	i.Reason, err = n.Get("reason").text("reason")
	return i, err
}

// setIgnored silences findings of the file's runs.
func (r *Runner) setIgnored() error {
	var wrong mistakes
	for _, i := range r.file.Ignored {
		if _, ok := r.m.Linked().Object.Program(i.Program); i.Program != "" && !ok {
			wrong.add(i.prog.unknown("program", i.Program, programNames(r.m.Linked().Object)))
			continue
		}
		r.m.Ignore(i.Ignore)
	}
	return wrong.err()
}
