package scenario

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// besides drops consequences of mistakes that were found earlier: errors at the same position,
// about a run that could not be read completely, or about parts that were left out.
func besides(m *grammar.Mistakes, f *File) {
	if len(f.found) == 0 {
		return
	}
	at := map[grammar.Pos]bool{}
	for _, e := range f.found {
		at[e.Pos] = true
	}
	for _, r := range f.Runs {
		if r.damaged {
			at[r.Pos] = true
		}
	}
	m.List = slices.DeleteFunc(f.cut.own(m.List), func(e *grammar.Error) bool { return at[e.Pos] })
	m.List = append(m.List, f.found...)
}
