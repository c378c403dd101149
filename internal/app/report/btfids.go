package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/ids"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// BTFIDsDocument is the JSON of `btf ids`: the lists and sets of .BTF_ids, in file order. Exit is 1
// if any entry or group has an error.
type BTFIDsDocument struct {
	Schema string        `json:"schema"`
	Exit   int           `json:"exit"`
	Groups []BTFIDsGroup `json:"groups"`
}

// BTFIDsGroup is a list, a set or a set8, with the errors of the group as a whole. Kfuncs is true
// for a set8 that registers kfuncs.
type BTFIDsGroup struct {
	Kind    string       `json:"kind"`
	Name    string       `json:"name"`
	Count   uint32       `json:"count"` // entries
	Kfuncs  bool         `json:"kfuncs,omitempty"`
	Wrong   []string     `json:"wrong,omitempty"`
	Entries []BTFIDEntry `json:"entries"`
}

// BTFIDEntry is one ID. Kind and Name describe the type that it refers to or, while it is
// unresolved, the type that its symbol names; an unused entry has neither. Flags are those of a
// kfunc without KF_, joined by |. Wrong is empty for a correct entry.
type BTFIDEntry struct {
	ID    btf.ID `json:"id"`
	Kind  string `json:"kind,omitempty"`
	Name  string `json:"name,omitempty"`
	Flags string `json:"flags,omitempty"`
	Wrong string `json:"wrong,omitempty"`
}

// NewBTFIDsDocument describes a file's .BTF_ids section and checks its IDs against spec.
func NewBTFIDsDocument(s *ids.Section, spec *btf.Spec) *BTFIDsDocument {
	entries := map[*ids.Entry]string{}
	groups := map[*ids.Group][]string{}
	d := &BTFIDsDocument{Schema: Schema, Groups: []BTFIDsGroup{}}
	for _, f := range s.Check(spec) {
		d.Exit = 1
		if e := f.Entry; e != nil {
			entries[e] = fmt.Sprintf("%s %s %s", e.Kind, e.Name, f.What)
		} else {
			groups[f.Group] = append(groups[f.Group], f.What)
		}
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		out := BTFIDsGroup{
			Kind: g.Kind.String(), Name: g.Name, Count: uint32(len(g.Entries)), Wrong: groups[g], Entries: []BTFIDEntry{},
			Kfuncs: g.Kind == ids.Set8 && g.Flags&ids.SetOfKfuncs != 0,
		}
		if g.Kind != ids.List {
			out.Count = g.Count
		}
		for j := range g.Entries {
			out.Entries = append(out.Entries, newBTFIDEntry(g, &g.Entries[j], spec, entries[&g.Entries[j]]))
		}
		d.Groups = append(d.Groups, out)
	}
	return d
}

func newBTFIDEntry(g *ids.Group, e *ids.Entry, spec *btf.Spec, wrong string) BTFIDEntry {
	out := BTFIDEntry{ID: e.ID, Flags: ids.FlagNames(e.Flags), Wrong: wrong}
	switch {
	case e.Kind == btf.KindVoid: // unused
	case g.Kind != ids.List && e.ID != 0: // sets are sorted, so the symbol belongs to another entry
		out.Kind, out.Name = spec.Kind(e.ID).String(), spec.Name(e.ID)
	default:
		out.Kind, out.Name = e.Kind.String(), e.Name
	}
	return out
}

// WriteBTFIDs writes the document as text: one line for each group and entry, with errors after
// "!".
func WriteBTFIDs(w io.Writer, d *BTFIDsDocument) error {
	var b strings.Builder
	for _, g := range d.Groups {
		visible.Fprintf(&b, "%s %s", g.Kind, g.Name)
		if g.Kind != ids.List.String() {
			visible.Fprintf(&b, " (%d)", g.Count)
		}
		if g.Kfuncs {
			b.WriteString(" of kfuncs")
		}
		b.WriteByte('\n')
		for _, what := range g.Wrong {
			visible.Fprintf(&b, "  ! %s\n", what)
		}
		for _, e := range g.Entries {
			b.WriteString(e.line())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (e BTFIDEntry) line() string {
	line := fmt.Sprintf("  [%d] %s %s", e.ID, e.Kind, e.Name)
	if e.Kind == "" {
		line = fmt.Sprintf("  [%d] unused", e.ID)
	}
	if e.Flags != "" {
		line += "  " + e.Flags
	}
	if e.Wrong != "" {
		line += "  ! " + e.Wrong
	}
	return line + "\n"
}
