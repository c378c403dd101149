package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// text says which bytes leave where, and where they come from:
//
//	bpf_ringbuf_submit sends 10 of 24 bytes that this run never wrote to events: event.comm[9..15] (...), padding after event.flags (...)
func (l *leak) text() string {
	offsets := make([]uint32, 0, len(l.why))
	for off := range l.why {
		offsets = append(offsets, off)
	}
	slices.Sort(offsets)
	var groups []string
	for i := 0; i < len(offsets); {
		j := i + 1
		for j < len(offsets) && l.why[offsets[j]] == l.why[offsets[i]] {
			j++
		}
		groups = append(groups, fmt.Sprintf("%s (%s)", l.names(offsets[i:j]), sourceTexts[l.why[offsets[i]]]))
		i = j
	}
	to := ""
	switch {
	case l.to == "":
	case strings.HasSuffix(l.does, "stores"), strings.HasSuffix(l.does, "leaves"):
		to = " in " + l.to
	case strings.HasSuffix(l.does, "sets"):
		to = " as " + l.to
	default:
		to = " to " + l.to
	}
	return fmt.Sprintf("%s %d of %d bytes%s that this run never wrote: %s", l.does, len(offsets), l.size, to, strings.Join(groups, ", "))
}

// names lists the fields that bytes belong to.
func (l *leak) names(offsets []uint32) string {
	if l.typ == 0 || l.spec == nil {
		return byteNames(offsets, l.what)
	}
	root := l.spec.Name(l.spec.SkipID(l.typ))
	if root == "" || l.what == "key" || l.what == "value" {
		root = strings.TrimSpace(l.what + " " + root)
	}
	var out []string
	for i := 0; i < len(offsets); {
		at := fieldOf(l.spec, l.typ, offsets[i])
		j := i + 1
		for j < len(offsets) && offsets[j] == offsets[j-1]+1 && fieldOf(l.spec, l.typ, offsets[j]).name == at.name {
			j++
		}
		out = append(out, at.describe(root, offsets[i], offsets[j-1]))
		i = j
	}
	return fewer(out)
}

// fewer shortens a list of fields.
func fewer(list []string) string {
	const most = 8
	if len(list) > most {
		list = append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(list, ", ")
}

// byteNames names bytes of something without a type: "bytes 4..7, 12 of the record".
func byteNames(offsets []uint32, what string) string {
	var out []string
	for i := 0; i < len(offsets); {
		j := i
		for j+1 < len(offsets) && offsets[j+1] == offsets[j]+1 {
			j++
		}
		if i == j {
			out = append(out, strconv.Itoa(int(offsets[i])))
		} else {
			out = append(out, fmt.Sprintf("%d..%d", offsets[i], offsets[j]))
		}
		i = j + 1
	}
	text := fewer(out)
	if len(offsets) == 1 {
		text = "byte " + text
	} else {
		text = "bytes " + text
	}
	if what != "bytes" {
		text += " of the " + what
	}
	return text
}

// fieldBytes is a field, an array, or padding.
type fieldBytes struct {
	name    string // path from the root; of padding, what is before it
	padding bool
	start   uint32
	size    uint32 // 0 for padding
	elem    uint32 // of an array
}

// fieldOf returns what the byte at an offset of a type belongs to.
func fieldOf(spec *btf.Spec, typ btf.ID, off uint32) fieldBytes {
	path, f, _ := spec.FieldAt(typ, off, 1)
	switch kind := spec.SkipMods(f.Type).Kind; {
	case path == "" && kind != btf.KindStruct && kind != btf.KindUnion && kind != btf.KindArray: // the type is a number
		n, _ := spec.Sizeof(typ)
		return fieldBytes{size: uint32(n)}
	case path == "" || kind == btf.KindStruct || kind == btf.KindUnion:
		for at := off; at > 0; at-- {
			before, g, _ := spec.FieldAt(typ, at-1, 1)
			if k := spec.SkipMods(g.Type).Kind; before != "" && k != btf.KindStruct && k != btf.KindUnion {
				return fieldBytes{name: before, padding: true}
			}
		}
		return fieldBytes{padding: true}
	}
	n, _ := spec.Sizeof(f.Type)
	out := fieldBytes{name: path, start: f.BitOffset / 8, size: uint32(n)}
	if open := strings.LastIndexByte(path, '['); open >= 0 && strings.HasSuffix(path, "]") {
		if i, err := strconv.Atoi(path[open+1 : len(path)-1]); err == nil {
			out.name, out.elem = path[:open], out.size
			out.start -= uint32(i) * out.size
			out.size = 0
		}
	}
	return out
}

// describe names the bytes from first to last of the field.
func (f fieldBytes) describe(root string, first, last uint32) string {
	name := root
	if f.name != "" {
		name += "." + f.name
	}
	switch {
	case f.padding && f.name == "":
		return "padding of " + root
	case f.padding:
		return "padding after " + name
	case f.elem != 0:
		i, j := (first-f.start)/f.elem, (last-f.start)/f.elem
		if i == j {
			return fmt.Sprintf("%s[%d]", name, i)
		}
		return fmt.Sprintf("%s[%d..%d]", name, i, j)
	case first == f.start && last+1 == f.start+f.size || f.size == 0:
		return name
	case first == last:
		return fmt.Sprintf("byte %d of %s", first-f.start, name)
	}
	return fmt.Sprintf("bytes %d..%d of %s", first-f.start, last-f.start, name)
}
