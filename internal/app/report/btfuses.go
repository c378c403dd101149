package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// BTFUsesDocument is the JSON of `btf who`: the relocations that use a type or field, by kernel.
type BTFUsesDocument struct {
	Schema string   `json:"schema"`
	Exit   int      `json:"exit"`
	Error  *Error   `json:"error"`
	Field  string   `json:"field"`
	Uses   []BTFUse `json:"uses"`
}

// BTFUse is one relocation of a program on one kernel.
type BTFUse struct {
	Kernel  string `json:"kernel"`
	Object  string `json:"object"`
	Program string `json:"program"`
	Insn    int    `json:"insn"`
	Access  string `json:"access"`
	Kind    string `json:"kind"` // field_byte_offset, type_exists, ...
	Value   uint64 `json:"value"`
	// Gone means that the kernel lacks the type or field.
	Gone    bool   `json:"gone"`
	Problem string `json:"problem,omitempty"` // why it cannot be relocated
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Source  string `json:"source,omitempty"`
}

// NewBTFUsesDocument returns an empty document.
func NewBTFUsesDocument(field string) *BTFUsesDocument {
	return &BTFUsesDocument{Schema: Schema, Field: field, Uses: []BTFUse{}}
}

// asking lists the kinds of relocations that may ask for something that does not exist.
var asking = []string{"field_exists", "type_exists", "enumval_exists", "local_type_id"}

// Add adds the uses in a linked object. It reports whether any of them is gone or cannot be
// relocated.
func (d *BTFUsesDocument) Add(l *loader.Linked) (gone bool) {
	for _, p := range l.Programs {
		for i := range p.Relocs {
			r := &p.Relocs[i]
			if !usesField(r, d.Field) {
				continue
			}
			u := BTFUse{Kernel: l.Target.Name, Object: l.Object.Name, Program: p.Name, Insn: r.Insn, Access: r.Local.Field(), Kind: r.Kind.String(), Value: uint64(r.Result.New)}
			u.Gone = r.Err == nil && r.Target == nil && !slices.Contains(asking, u.Kind)
			if r.Err != nil {
				u.Problem = r.Err.Error()
			}
			if at, ok := p.LineAt(r.Insn); ok {
				u.File, u.Line, u.Source = at.File, int(at.Line), strings.TrimSpace(at.Text)
			}
			gone = gone || u.Gone || r.Err != nil
			d.Uses = append(d.Uses, u)
		}
	}
	return gone
}

// usesField reports whether a relocation uses a type, a field, or something inside the field.
func usesField(r *loader.Reloc, field string) bool {
	if r.Relocation == nil || r.Local.BTF == nil {
		return false
	}
	local := r.Local.Field()
	root, rest, _ := strings.Cut(local, ".")
	local = btf.EssentialName(root)
	if rest != "" {
		local += "." + rest
	}
	field = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(field, "struct "), "union "), "enum ")
	next, ok := strings.CutPrefix(local, field)
	return ok && (next == "" || strings.ContainsAny(next[:1], ".[:"))
}

// WriteBTFUses writes one line for each use.
func WriteBTFUses(w io.Writer, d *BTFUsesDocument) error {
	for _, u := range d.Uses {
		what := fmt.Sprintf("%s = %d", u.Kind, u.Value)
		switch {
		case u.Problem != "":
			what = "error: " + u.Problem
		case u.Gone:
			what = "gone"
		}
		line := ""
		if u.File != "" || u.Line != 0 {
			line = fmt.Sprintf("  %s:%d: %s", u.File, u.Line, u.Source)
		}
		if _, err := visible.Fprintf(w, "%s: %s %s: insn %d: %s: %s%s\n", u.Kernel, u.Object, u.Program, u.Insn, u.Access, what, line); err != nil {
			return err
		}
	}
	return nil
}
