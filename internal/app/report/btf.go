package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// WriteType writes the layout of the types with a name or, given the path of a field, the field's
// offset and contents.
func WriteType(w io.Writer, s *btf.Spec, ids []btf.ID, field string, opt btf.LayoutOptions) error {
	for i, id := range ids {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if field == "" {
			if err := writeOneType(w, s, id, opt); err != nil {
				return err
			}
			continue
		}
		f, err := s.ResolvePath(id, field)
		if err != nil {
			return err
		}
		if err := writeField(w, s, id, f, opt); err != nil {
			return err
		}
		break // the path applies to the first type of that name
	}
	return nil
}

func writeOneType(w io.Writer, s *btf.Spec, id btf.ID, opt btf.LayoutOptions) error {
	t, err := s.Type(id)
	if err != nil {
		return err
	}
	switch t.Kind {
	case btf.KindFunc:
		_, err = visible.Fprintf(w, "%s;\n", s.Signature(id))
		return err
	case btf.KindVar:
		_, err = visible.Fprintf(w, "%s;\n", s.Declare(t.Ref, t.Name))
		return err
	case btf.KindTypedef:
		if _, err := visible.Fprintf(w, "typedef %s;\n", s.Declare(t.Ref, t.Name)); err != nil {
			return err
		}
		if in := s.SkipMods(id); !in.Kind.IsComposite() && !in.Kind.IsEnum() {
			return nil
		}
	}
	_, err = btf.WriteLayout(w, s, id, opt)
	return err
}

// writeField writes the offset of a field, and the layout of the struct that it is or points to.
func writeField(w io.Writer, s *btf.Spec, root btf.ID, f btf.Field, opt btf.LayoutOptions) error {
	place := fmt.Sprintf("offset %d", f.Offset())
	if f.BitSize != 0 {
		place = fmt.Sprintf("bits %d to %d of offset %d", f.BitOffset%8, f.BitOffset%8+f.BitSize-1, f.Offset())
	}
	size, err := s.Sizeof(f.Type)
	if err != nil {
		size = 0
	}
	if _, err := visible.Fprintf(w, "%s.%s: %s, %s of %s, %s\n", s.TypeString(root), f.Path, s.TypeString(f.Type), place, s.TypeString(root), plural(int(size), "byte")); err != nil {
		return err
	}
	in := s.SkipMods(f.Type)
	if in.Kind == btf.KindPtr {
		in = s.SkipMods(in.Ref)
	}
	if !in.Kind.IsComposite() && !in.Kind.IsEnum() {
		return nil
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	_, err = btf.WriteLayout(w, s, in.ID, opt)
	return err
}

// WriteFound lists the types whose names match a pattern, one per line, and returns their number.
func WriteFound(w io.Writer, s *btf.Spec, pattern string) (int, error) {
	ids, err := found(s, pattern)
	if err != nil {
		return 0, err
	}
	for n, id := range ids {
		var b strings.Builder
		if err := btf.DumpRawType(&b, s, id); err != nil {
			return n, err
		}
		line, _, _ := strings.Cut(b.String(), "\n")
		if _, err := visible.Fprintln(w, line); err != nil {
			return n, err
		}
	}
	return len(ids), nil
}

// BTFDiffDocument is the JSON of `btf diff`.
type BTFDiffDocument struct {
	Schema string        `json:"schema"`
	Exit   int           `json:"exit"`
	Error  *Error        `json:"error"`
	Old    string        `json:"old"`
	New    string        `json:"new"`
	Types  []BTFDiffType `json:"types"`
}

// BTFDiffType is a type that differs.
type BTFDiffType struct {
	Type    string          `json:"type"`
	Changes []BTFDiffChange `json:"changes"`
}

// BTFDiffChange is one difference between two versions of a type.
type BTFDiffChange struct {
	Kind string `json:"kind"` // added, removed, moved, retyped, resized, revalued
	Path string `json:"path,omitempty"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// NewBTFDiffDocument returns the document of a comparison.
func NewBTFDiffDocument(old, now string, diffs []btf.TypeDiff) *BTFDiffDocument {
	d := &BTFDiffDocument{Schema: Schema, Old: old, New: now, Types: []BTFDiffType{}}
	for i := range diffs {
		t := BTFDiffType{Type: diffs[i].Title()}
		for _, c := range diffs[i].Changes {
			t.Changes = append(t.Changes, BTFDiffChange{c.Kind.String(), c.Path, c.Old, c.New})
		}
		d.Types = append(d.Types, t)
	}
	return d
}

// BTFDiffOptions changes how a comparison is written.
type BTFDiffOptions struct {
	Color bool
	Brief bool // one line per type
}

// WriteBTFDiff writes a comparison as text.
func WriteBTFDiff(w io.Writer, d *BTFDiffDocument, opt BTFDiffOptions) error {
	s := style{opt.Color}
	var b strings.Builder
	visible.Fprintf(&b, "--- %s\n+++ %s\n", d.Old, d.New)
	counts := map[string]int{}
	for _, t := range d.Types {
		whole := len(t.Changes) == 1 && t.Changes[0].Path == "" && (t.Changes[0].Kind == "added" || t.Changes[0].Kind == "removed")
		switch {
		case whole:
			counts[t.Changes[0].Kind]++
			writeDiffChange(&b, "", t.Type, t.Changes[0], s)
			continue
		case opt.Brief:
			counts["changed"]++
			visible.Fprintf(&b, "%s %s: %s\n", s.yellow("~"), t.Type, countChanges(t.Changes))
			continue
		}
		counts["changed"]++
		visible.Fprintf(&b, "%s %s\n", s.yellow("~"), s.bold(t.Type))
		for _, c := range t.Changes {
			writeDiffChange(&b, "    ", c.Path, c, s)
		}
	}
	visible.Fprintf(&b, "\n%d added, %d removed, %d changed\n", counts["added"], counts["removed"], counts["changed"])
	_, err := io.WriteString(w, b.String())
	return err
}

// countChanges summarises a type's changes: "2 added, 14 moved".
func countChanges(list []BTFDiffChange) string {
	var parts []string
	for _, kind := range []string{"added", "removed", "moved", "retyped", "resized", "revalued"} {
		n := 0
		for _, c := range list {
			if c.Kind == kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return strings.Join(parts, ", ")
}

func writeDiffChange(b *strings.Builder, indent, name string, c BTFDiffChange, s style) {
	if name == "" {
		name = "size"
		if c.Kind == "retyped" {
			name = "type"
		}
	}
	switch c.Kind {
	case "added":
		visible.Fprintf(b, "%s%s %s: %s\n", indent, s.green("+"), name, c.New)
	case "removed":
		visible.Fprintf(b, "%s%s %s: %s\n", indent, s.red("-"), name, c.Old)
	default:
		visible.Fprintf(b, "%s%s %s: %s -> %s\n", indent, s.yellow("~"), name, c.Old, c.New)
	}
}

// BTFMinDocument is the JSON of `btf min`.
type BTFMinDocument struct {
	Schema  string   `json:"schema"`
	Exit    int      `json:"exit"`
	Error   *Error   `json:"error"`
	Results []BTFMin `json:"results"`
}

// BTFMin is the reduced BTF of one kernel.
type BTFMin struct {
	BTF         string     `json:"btf"`
	File        string     `json:"file"`
	Relocations int        `json:"relocations"`
	TypesBefore int        `json:"types_before"`
	Types       int        `json:"types"`
	BytesBefore int        `json:"bytes_before"`
	Bytes       int        `json:"bytes"`
	IDs         []BTFMinID `json:"ids"`
}

// BTFMinID is a kept type.
type BTFMinID struct {
	Old  btf.ID `json:"old"`
	New  btf.ID `json:"new"`
	Type string `json:"type"`
}

// WriteBTFMin describes what was written and, if verbose, maps each kept type to its new ID.
func WriteBTFMin(w io.Writer, d BTFMinDocument, verbose bool) error {
	var b strings.Builder
	for _, r := range d.Results {
		visible.Fprintf(&b, "%s: %d of %d types, %d of %d bytes for %s -> %s\n", r.BTF, r.Types, r.TypesBefore, r.Bytes, r.BytesBefore, plural(r.Relocations, "relocation"), r.File)
		if verbose {
			for _, id := range r.IDs {
				visible.Fprintf(&b, "  [%d] -> [%d] %s\n", id.Old, id.New, id.Type)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
