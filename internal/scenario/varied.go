package scenario

import (
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/loader"
)

func (f *File) decodeVaried(n *grammar.Node) error {
	if n == nil {
		return nil
	}
	if n.Kind != grammar.Sequence {
		return n.Errorf("vary: want a list of maps and variables, got %s", n.Describe())
	}
	var wrong grammar.Mistakes
	for _, item := range n.Items {
		if _, err := item.NonEmpty("vary"); wrong.Add(err) {
			f.Varied = append(f.Varied, item)
		}
	}
	return wrong.Err()
}

// checkVaried checks the names of the maps and variables that are input of a search.
func (r *Runner) checkVaried() error {
	var wrong grammar.Mistakes
	obj := r.m.Linked().Object
	for _, n := range r.file.Varied {
		if _, _, ok := loader.FindVariable(obj.Maps, n.Text, (*loader.Map).Settable); ok {
			continue
		}
		var names []string
		known := false
		for _, m := range obj.Maps {
			if m.DataKind == loader.DataNone {
				names = append(names, m.Name)
				known = known || m.Name == n.Text
			}
			for _, v := range m.Vars {
				names = append(names, v.Name)
			}
		}
		if !known {
			wrong.Add(n.Unknown("map or variable", n.Text, names))
		}
	}
	return wrong.Err()
}
