package object

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/nearest"
)

// ErrNoField means that a path names a field that the type lacks.
var ErrNoField = errors.New("no such field")

// ErrBadPath means that a path does not fit the types on it, such as an index into a struct.
var ErrBadPath = errors.New("path does not fit the type")

// PathError is a path that does not lead to a field.
type PathError struct {
	Type    string // the type in which the walk stopped
	Path    string // the whole path
	Name    string // the step that failed
	Nearest []string
	Err     error // ErrNoField, ErrBadPath
}

// Error names the step that failed, its type, and similar names.
func (e *PathError) Error() string {
	s := fmt.Sprintf("%s: %v: %q in %s", e.Path, e.Err, e.Name, e.Type)
	if len(e.Nearest) > 0 {
		s += " (nearest: " + strings.Join(e.Nearest, ", ") + ")"
	}
	return s
}

// Unwrap returns Err.
func (e *PathError) Unwrap() error { return e.Err }

// cutIndex cuts an index, and the separator after it, off the start of a path, for an object that
// is one of several.
func cutIndex(path string) (index uint64, rest string, ok bool) {
	digits, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
	if !ok || !strings.HasPrefix(path, "[") {
		return 0, "", false
	}
	index, err := strconv.ParseUint(strings.TrimSpace(digits), 0, 31)
	if after, ok := strings.CutPrefix(rest, "->"); ok {
		return index, after, err == nil
	}
	return index, strings.TrimPrefix(rest, "."), err == nil
}

// Place resolves a path inside the type, up to and including the first pointer that has steps after
// it.
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
	f, rest, err := l.Spec.ResolveToPointer(l.Type.ID, path)
	var wrong *btf.PathError
	if errors.As(err, &wrong) {
		return Field{}, "", pathError(l.Spec, path, wrong)
	}
	return l.field(f), rest, nil
}

// pathError converts an error of btf about one type to an error of a path that may cross several.
func pathError(spec *btf.Spec, path string, wrong *btf.PathError) error {
	e := &PathError{Type: "void", Path: path, Name: wrong.At, Err: ErrBadPath}
	t := Strip(spec, wrong.In)
	if t == nil {
		return e
	}
	e.Type = t.Name
	if e.Type == "" {
		e.Type = spec.TypeString(t.ID)
	}
	if errors.Is(wrong, btf.ErrNotFound) {
		e.Name = wrong.Step
		if t.Kind.IsComposite() && !strings.HasPrefix(wrong.Step, "[") {
			e.Err, e.Nearest = ErrNoField, NearestMembers(spec, t, wrong.Step)
		}
	}
	return e
}

// field converts a btf.Field to a Field.
func (l *Layout) field(f btf.Field) Field {
	out := Field{Path: f.Path, Spec: l.Spec, Type: f.Type, Off: uint64(f.Offset())}
	if f.BitSize != 0 {
		out.BitOff, out.BitSize = uint64(f.BitOffset), f.BitSize
		out.Size = (out.BitOff+uint64(f.BitSize)+7)/8 - out.Off
	} else if n, err := l.Spec.Sizeof(f.Type); err == nil && n > 0 {
		out.Size = uint64(n)
	}
	return out
}

// NearestMembers returns up to three member names that resemble name.
func NearestMembers(spec *btf.Spec, t *btf.Type, name string) []string {
	return nearest.Like(name, spec.MemberNames(t.ID))
}
