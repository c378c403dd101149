package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/ids"
)

// BTFIDsDocument is the JSON of `btf ids`: the lists and sets of .BTF_ids in the file's order. Exit is 1 when anything in it is wrong.
type BTFIDsDocument struct {
	Schema string        `json:"schema"`
	Exit   int           `json:"exit"`
	Groups []BTFIDsGroup `json:"groups"`
}

// BTFIDsGroup is a list, a set or a set8 with the errors of the whole; Kfuncs is true of a set8 that registers kfuncs.
type BTFIDsGroup struct {
	Kind    string       `json:"kind"`
	Name    string       `json:"name"`
	Count   uint32       `json:"count"` // entries
	Kfuncs  bool         `json:"kfuncs,omitempty"`
	Wrong   []string     `json:"wrong,omitempty"`
	Entries []BTFIDEntry `json:"entries"`
}

// BTFIDEntry is one id. Kind and Name are of the type it leads to, or of the one its symbol names while it is not resolved; an unused place
// has neither. Flags are those of a kfunc without KF_, joined by |. Wrong is empty for a correct entry.
type BTFIDEntry struct {
	ID    btf.ID `json:"id"`
	Kind  string `json:"kind,omitempty"`
	Name  string `json:"name,omitempty"`
	Flags string `json:"flags,omitempty"`
	Wrong string `json:"wrong,omitempty"`
}

// NewBTFIDsDocument describes a file's .BTF_ids and checks it against the BTF that its ids are of.
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
	case g.Kind != ids.List && e.ID != 0: // sets are sorted: the symbol is another entry's
		out.Kind, out.Name = spec.Kind(e.ID).String(), spec.Name(e.ID)
	default:
		out.Kind, out.Name = e.Kind.String(), e.Name
	}
	return out
}

// WriteBTFIDs writes the document as text: a line for each group and entry, errors after "!".
func WriteBTFIDs(w io.Writer, d *BTFIDsDocument) error {
	var b strings.Builder
	for _, g := range d.Groups {
		fmt.Fprintf(&b, "%s %s", g.Kind, g.Name)
		if g.Kind != ids.List.String() {
			fmt.Fprintf(&b, " (%d)", g.Count)
		}
		if g.Kfuncs {
			b.WriteString(" of kfuncs")
		}
		b.WriteByte('\n')
		for _, what := range g.Wrong {
			fmt.Fprintf(&b, "  ! %s\n", what)
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
