package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/ids"
)

// WriteIDs shows the lists and sets of .BTF_ids with what is wrong with them; wrong reports whether anything is.
func WriteIDs(w io.Writer, s *ids.Section, spec *btf.Spec) (wrong bool, err error) {
	entries := map[*ids.Entry]string{}
	groups := map[*ids.Group][]string{}
	for _, f := range s.Check(spec) {
		wrong = true
		if f.Entry != nil {
			entries[f.Entry] = f.What
		} else {
			groups[f.Group] = append(groups[f.Group], f.What)
		}
	}
	var b strings.Builder
	for i := range s.Groups {
		g := &s.Groups[i]
		fmt.Fprintf(&b, "%s %s", g.Kind, g.Name)
		if g.Kind != ids.List {
			fmt.Fprintf(&b, " (%d)", g.Count)
		}
		if g.Kind == ids.Set8 && g.Flags&ids.SetOfKfuncs != 0 {
			b.WriteString(" of kfuncs")
		}
		b.WriteByte('\n')
		for _, what := range groups[g] {
			fmt.Fprintf(&b, "  ! %s\n", what)
		}
		for j := range g.Entries {
			b.WriteString(idLine(g, &g.Entries[j], spec, entries[&g.Entries[j]]))
		}
	}
	_, err = io.WriteString(w, b.String())
	return wrong, err
}

func idLine(g *ids.Group, e *ids.Entry, spec *btf.Spec, wrong string) string {
	kind, name := e.Kind, e.Name
	if g.Kind != ids.List && e.ID != 0 {
		kind, name = spec.Kind(e.ID), spec.Name(e.ID) // sets are sorted: the symbol is another entry's
	}
	line := fmt.Sprintf("  [%d] %s %s", e.ID, kind, name)
	if e.Kind == btf.KindVoid {
		line = fmt.Sprintf("  [%d] unused", e.ID)
	}
	if flags := ids.FlagNames(e.Flags); flags != "" {
		line += "  " + flags
	}
	if wrong != "" {
		line += fmt.Sprintf("  ! %s %s %s", e.Kind, e.Name, wrong)
	}
	return line + "\n"
}
