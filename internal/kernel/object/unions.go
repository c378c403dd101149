package object

import (
	"slices"
	"strings"
)

// member is a field that was set. It distinguishes the members of a union, which share their bytes.
type member struct {
	path      string
	off, size uint64 // in the object's storage
}

// remember records a field that was set. Structs whose members were set by name are recorded member
// by member, and one that is set again once.
func (o *Object) remember(f Field, v any) {
	if _, byName := v.(map[string]any); byName && f.Size > 0 {
		if t := Strip(f.Spec, f.Type); t != nil && t.Kind.IsComposite() {
			return
		}
	}
	const most = 1 << 12
	s := o.touch()
	m := member{f.Path, f.Off, f.Size}
	if f.Path == "" || len(s.members) >= most || slices.Contains(s.members, m) {
		return
	}
	s.members = append(s.members, m)
}

// OtherMember returns the path of the union member that was set, if the access reads a different
// one, else "". meant is the path of the relocation's field in terms of the object's type, or "".
func (a *Access) OtherMember(meant string) string {
	other := ""
	path := a.Path
	if meant != "" {
		path = meant
	}
	size := uint64(a.Size)
	for _, m := range a.Object.st.members {
		if m.off >= a.at+size || a.at >= m.off+m.size {
			continue
		}
		if path == "" || samePath(m.path, path) || meant == "" && m.off == a.at && m.size == size {
			return ""
		}
		other = m.path
	}
	return other
}

// samePath reports whether two paths are equal or one is a prefix of the other.
func samePath(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
