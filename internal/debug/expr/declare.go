package expr

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// Declare returns the declaration of a struct, union or enum; for other types, the name.
func (ty *Types) Declare(t Type) string {
	b := t.base()
	if t.Ptr > 0 || t.Elems > 0 || !b.Kind.IsComposite() && !b.Kind.IsEnum() {
		return t.String()
	}
	var lines []string
	lines = append(lines, t.Spec.TypeString(b.ID)+" {")
	lines = declareMembers(lines, t.Spec, b, 0, 1)
	for _, v := range b.Values {
		lines = append(lines, fmt.Sprintf("  %s = %s,", v.Name, btf.Int{V: v.Value, Bits: 64, Signed: b.Signed()}))
	}
	lines = append(lines, "}")
	if n, err := t.Size(); err == nil && b.Kind.IsComposite() {
		lines[len(lines)-1] += fmt.Sprintf(" /* %d bytes */", n)
	}
	return strings.Join(lines, "\n")
}

// declareMembers appends the members of a struct that begins at bit at; members of anonymous types
// are written out.
func declareMembers(lines []string, spec *btf.Spec, b *btf.Type, at uint32, depth int) []string {
	const deepest = 8
	indent := strings.Repeat("  ", depth-1)
	for i := range b.Members {
		m := &b.Members[i]
		bit, width := spec.MemberBits(b, m)
		bit += at
		if in, err := spec.Type(m.Type); err == nil && in.Kind.IsComposite() && in.Name == "" && depth < deepest {
			lines = append(lines, fmt.Sprintf("              %s%s {", indent, strings.ToLower(in.Kind.String())))
			lines = declareMembers(lines, spec, in, bit, depth+1)
			end := "}"
			if m.Name != "" {
				end += " " + m.Name
			}
			lines = append(lines, fmt.Sprintf("              %s%s;", indent, end))
			continue
		}
		text := spec.Declare(m.Type, m.Name)
		if width > 0 {
			text += fmt.Sprintf(" : %d", width)
		}
		lines = append(lines, fmt.Sprintf("  /* %5d */ %s%s;", bit/8, indent, text))
	}
	return lines
}
