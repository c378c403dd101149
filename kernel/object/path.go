package object

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/nearest"
)

// ErrNoField is the kind of a [PathError] whose path names a field the type has not.
var ErrNoField = errors.New("no such field")

// ErrBadPath is the kind of a [PathError] whose path does not fit the types it meets, such as an index of a struct.
var ErrBadPath = errors.New("path does not fit the type")

// PathError is a path that does not lead to a field.
type PathError struct {
	Type    string // the type in which the walk stopped
	Path    string // the whole path
	Name    string // the step that failed
	Nearest []string
	Err     error // ErrNoField, ErrBadPath
}

// Error reports which step failed in which type, and what comes near.
func (e *PathError) Error() string {
	s := fmt.Sprintf("%s: %v: %q in %s", e.Path, e.Err, e.Name, e.Type)
	if len(e.Nearest) > 0 {
		s += " (nearest: " + strings.Join(e.Nearest, ", ") + ")"
	}
	return s
}

// Unwrap returns the kind.
func (e *PathError) Unwrap() error { return e.Err }

// nextStep cuts the first step off a path: a member name or an index.
func nextStep(path string) (name string, index int64, rest string, ok bool) {
	if after, ok := strings.CutPrefix(path, "->"); ok {
		path = after
	} else {
		path = strings.TrimPrefix(path, ".")
	}
	if strings.HasPrefix(path, "[") {
		end := strings.IndexByte(path, ']')
		if end < 0 {
			return "", 0, "", false
		}
		n, err := strconv.ParseUint(strings.TrimSpace(path[1:end]), 0, 31)
		return "", int64(n), path[end+1:], err == nil
	}
	end := len(path)
	for i := range len(path) {
		if c := path[i]; c == '.' || c == '[' || (c == '-' && i+1 < len(path) && path[i+1] == '>') {
			end = i
			break
		}
	}
	return path[:end], -1, path[end:], end > 0
}

// Place resolves a path inside the type, up to and including the first pointer that has steps after it.
func (l *Layout) Place(path string) (Field, string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, ok := l.places[path]; ok {
		return p.field, p.rest, p.err
	}
	var p place
	p.field, p.rest, p.err = l.walk(path)
	if l.places == nil {
		l.places = make(map[string]place)
	}
	l.places[path] = p
	return p.field, p.rest, p.err
}

func (l *Layout) walk(path string) (Field, string, error) {
	f := Field{Spec: l.Spec, Type: l.Type.ID, Size: l.Size}
	rest := path
	for range MaxNesting {
		if rest == "" {
			return f, "", nil
		}
		t := Strip(l.Spec, f.Type)
		if t == nil {
			return f, "", &PathError{Type: "void", Path: path, Name: rest, Err: ErrBadPath}
		}
		if t.Kind == btf.KindPtr {
			return f, rest, nil
		}
		name, index, next, ok := nextStep(rest)
		if !ok {
			return f, "", &PathError{Type: typeName(l.Spec, t), Path: path, Name: rest, Err: ErrBadPath}
		}
		if index >= 0 {
			if t.Kind != btf.KindArray || (t.Array.Nelems != 0 && uint64(index) >= uint64(t.Array.Nelems)) {
				return f, "", &PathError{Type: typeName(l.Spec, t), Path: path, Name: fmt.Sprintf("[%d]", index), Err: ErrBadPath}
			}
			n, err := l.Spec.Sizeof(t.Ref)
			if err != nil || n < 0 {
				return f, "", &PathError{Type: typeName(l.Spec, t), Path: path, Name: rest, Err: ErrBadPath}
			}
			f = Field{Path: f.Path + "[" + strconv.FormatInt(index, 10) + "]", Spec: l.Spec, Type: t.Ref, Off: f.Off + uint64(index)*uint64(n), Size: uint64(n)}
		} else {
			if t.Kind != btf.KindStruct && t.Kind != btf.KindUnion {
				return f, "", &PathError{Type: typeName(l.Spec, t), Path: path, Name: name, Err: ErrBadPath}
			}
			g, ok := FindMember(l.Spec, t, name, 0)
			if !ok {
				return f, "", &PathError{Type: typeName(l.Spec, t), Path: path, Name: name, Nearest: NearestMembers(l.Spec, t, name), Err: ErrNoField}
			}
			g.Path = join(f.Path, name)
			if g.BitSize != 0 {
				g.BitOff += f.Off * 8
			}
			g.Off += f.Off
			f = g
		}
		rest = next
	}
	return f, "", &PathError{Type: l.Name, Path: path, Name: rest, Err: ErrBadPath}
}

// FindMember finds a named member, depth first through anonymous ones. Off is relative to t.
func FindMember(spec *btf.Spec, t *btf.Type, name string, depth int) (Field, bool) {
	if depth > MaxNesting {
		return Field{}, false
	}
	for i := range t.Members {
		m := &t.Members[i]
		bitOff, width := memberBits(spec, t, m)
		if m.Name == name {
			f := Field{Path: name, Spec: spec, Type: m.Type, Off: bitOff / 8}
			if width != 0 {
				f.BitOff, f.BitSize = bitOff, width
				f.Size = (bitOff+uint64(width)+7)/8 - bitOff/8
			} else if n, err := spec.Sizeof(m.Type); err == nil && n > 0 {
				f.Size = uint64(n)
			}
			return f, true
		}
		if m.Name != "" {
			continue
		}
		if mt := Strip(spec, m.Type); mt != nil && (mt.Kind == btf.KindStruct || mt.Kind == btf.KindUnion) {
			if f, ok := FindMember(spec, mt, name, depth+1); ok {
				if f.BitSize != 0 {
					f.BitOff += bitOff / 8 * 8
				}
				f.Off += bitOff / 8
				return f, true
			}
		}
	}
	return Field{}, false
}

// memberNames collects the names a path may continue with.
func memberNames(spec *btf.Spec, t *btf.Type, depth int) (names []string) {
	for i := range t.Members {
		m := &t.Members[i]
		if m.Name != "" {
			names = append(names, m.Name)
		} else if mt := Strip(spec, m.Type); mt != nil && depth < MaxNesting {
			names = append(names, memberNames(spec, mt, depth+1)...)
		}
	}
	return names
}

// NearestMembers returns up to three member names that look like name.
func NearestMembers(spec *btf.Spec, t *btf.Type, name string) []string {
	return nearest.Like(name, memberNames(spec, t, 0))
}

// typeName is the name of a type as paths and messages use it, without the word struct.
func typeName(spec *btf.Spec, t *btf.Type) string {
	if t.Name != "" {
		return t.Name
	}
	return spec.TypeString(t.ID)
}
