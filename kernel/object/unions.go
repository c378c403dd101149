package object

import "strings"

// member is a field that was given a value: what tells the members of a union apart, which share their bytes.
type member struct {
	path      string
	off, size uint64 // in the object's storage
}

// remember notes a field that was set. Structs whose members were set by name are noted member by member.
func (o *Object) remember(f Field, v any) {
	if _, byName := v.(map[string]any); byName && f.Size > 0 {
		if t := Strip(f.Spec, f.Type); t != nil && t.Kind.IsComposite() {
			return
		}
	}
	const most = 1 << 12
	s := o.touch()
	if f.Path == "" || len(s.members) >= most {
		return
	}
	s.members = append(s.members, member{f.Path, f.Off, f.Size})
}

// OtherMember returns the path of a field that was set where the access reads, if the access means another one: a union has one value, and it is
// not the one that was read. meant is the path of the field a relocation means, in the terms of the object's type; empty without. Empty
// means that there is nothing to say.
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

// samePath reports whether two paths are the same or one leads into the other.
func samePath(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
