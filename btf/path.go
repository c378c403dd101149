package btf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/nearest"
)

// Field is a field within a root type.
type Field struct {
	// Path from the root: "cred.uid.val" or "comm[3]". Anonymous members do not appear in it.
	Path string
	// Type of the field as declared.
	Type ID
	// BitOffset from the start of the root.
	BitOffset uint32
	// BitSize is the width of a bitfield, 0 for others.
	BitSize uint32
	// Parent is the STRUCT or UNION that holds the last named member; 0 for the root itself.
	Parent ID
}

// Offset returns the byte offset of the field; for a bitfield, that of the byte with its first bit.
func (f Field) Offset() uint32 { return f.BitOffset / 8 }

// PathError reports a path that does not exist in a type.
type PathError struct {
	Root    string   // the type the path starts at
	Path    string   // the whole path
	At      string   // the part that could not be resolved
	Step    string   // the first step of At: a name, or an index in brackets
	In      ID       // the type without that step
	Detail  string   // why, if more is known
	Nearest []string // existing names, nearest first
	Err     error    // ErrNotFound, or ErrInvalid for bad syntax
}

// Error describes which part failed and what exists instead.
func (e *PathError) Error() string {
	msg := fmt.Sprintf("btf: %s has no %q: %s", e.Root, e.Path, e.Detail)
	if len(e.Nearest) > 0 {
		msg += "; nearest: " + strings.Join(e.Nearest, ", ")
	}
	return msg
}

// Unwrap returns Err.
func (e *PathError) Unwrap() error { return e.Err }

// ResolvePath finds a field by path: names separated by dots, array indexes in brackets:
// "cred.uid.val", "comm[3]", "[2].x". Members of anonymous structs and unions, at any depth, are
// found by their own names, as are the variables of a DATASEC. Pointers are not followed. The empty
// path is the root. The error is a *[PathError].
func (s *Spec) ResolvePath(root ID, path string) (Field, error) {
	f, rest, err := s.ResolveToPointer(root, path)
	if err == nil && rest != "" {
		step, _ := cutStep(rest)
		err = &PathError{Root: s.TypeString(root), Path: path, At: rest, Step: step, In: f.Type, Err: ErrNotFound,
			Detail: fmt.Sprintf("%s is a pointer (%s)", f.Path, s.TypeString(f.Type))}
	}
	if err != nil {
		return Field{}, err
	}
	return f, nil
}

// ResolveToPointer is [Spec.ResolvePath] up to and including the first pointer that has steps after
// it, separated by a dot or "->". rest is those steps without the separator; it is empty if the
// path crosses no pointer.
func (s *Spec) ResolveToPointer(root ID, path string) (f Field, rest string, err error) {
	w := pathWalk{s: s, root: root, path: path, at: path, f: Field{Type: root}}
	for w.at != "" {
		step, next := cutStep(w.at)
		t := s.SkipMods(w.f.Type)
		switch {
		case t.Kind == KindPtr && w.f.BitSize == 0:
			return w.f, w.at, nil
		case strings.HasPrefix(step, "["):
			err = w.index(t, step)
		default:
			err = w.member(t, step)
		}
		if err != nil {
			return Field{}, "", err
		}
		if w.at, err = w.separator(next); err != nil {
			return Field{}, "", err
		}
	}
	return w.f, "", nil
}

// cutStep cuts the first step off a path: a name, or an index in brackets. An index without its ]
// takes the whole path.
func cutStep(path string) (step, rest string) {
	if strings.HasPrefix(path, "[") {
		if end := strings.IndexByte(path, ']'); end >= 0 {
			return path[:end+1], path[end+1:]
		}
		return path, ""
	}
	end := len(path)
	if i := strings.IndexAny(path, ".["); i >= 0 {
		end = i
	}
	if i := strings.Index(path[:end], "->"); i >= 0 {
		end = i
	}
	return path[:end], path[end:]
}

// pathWalk is the state of resolving a path: f is the field reached so far, at is the unresolved
// rest.
type pathWalk struct {
	s        *Spec
	root     ID
	path, at string
	f        Field
}

func (w *pathWalk) fail(kind error, nearest []string, format string, args ...any) error {
	step, _ := cutStep(w.at)
	return &PathError{Root: w.s.TypeString(w.root), Path: w.path, At: w.at, Step: step, In: w.s.SkipID(w.f.Type),
		Detail: fmt.Sprintf(format, args...), Nearest: nearest, Err: kind}
}

// separator strips the separator between two steps.
func (w *pathWalk) separator(rest string) (string, error) {
	after, ok := strings.CutPrefix(rest, "->")
	if !ok {
		after, ok = strings.CutPrefix(rest, ".")
	}
	if ok && after == "" {
		w.at = rest
		return "", w.fail(ErrInvalid, nil, "it ends in a separator")
	}
	return after, nil
}

func (w *pathWalk) index(t *Type, step string) error {
	digits, ok := strings.CutSuffix(step[1:], "]")
	if !ok {
		return w.fail(ErrInvalid, nil, "%q has no ]", step)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(digits), 0, 32)
	if err != nil {
		return w.fail(ErrInvalid, nil, "%q is not an index", digits)
	}
	if t.Kind != KindArray || w.f.BitSize != 0 {
		return w.fail(ErrNotFound, nil, "%s is not an array", w.s.TypeString(w.f.Type))
	}
	if n >= uint64(t.Array.Nelems) && t.Array.Nelems != 0 {
		return w.fail(ErrNotFound, nil, "index %d of %d elements", n, t.Array.Nelems)
	}
	size, err := w.s.Sizeof(t.Ref)
	if err != nil {
		return w.fail(ErrInvalid, nil, "%v", err)
	}
	off := uint64(w.f.BitOffset) + n*8*uint64(min(size, math.MaxUint32))
	if off > math.MaxUint32 {
		return w.fail(ErrNotFound, nil, "offset %d bits", off)
	}
	w.f.Type, w.f.BitOffset = t.Ref, uint32(off)
	w.f.Path += "[" + strconv.FormatUint(n, 10) + "]"
	return nil
}

func (w *pathWalk) member(t *Type, name string) error {
	if name == "" {
		return w.fail(ErrInvalid, nil, "a name is missing")
	}
	m, ok := w.s.FindMember(t.ID, name)
	if !ok || w.f.BitSize != 0 {
		if t.Kind.IsComposite() || t.Kind == KindDatasec {
			return w.fail(ErrNotFound, near(name, w.s.MemberNames(t.ID)), "no member %q in %s", name, w.s.TypeString(t.ID))
		}
		return w.fail(ErrNotFound, nil, "%s has no members", w.s.TypeString(t.ID))
	}
	if uint64(m.BitOffset)+uint64(w.f.BitOffset) > math.MaxUint32 {
		return w.fail(ErrNotFound, nil, "offset beyond 32 bits")
	}
	w.f.Path = joinPath(w.f.Path, name)
	w.f.Type, w.f.BitSize, w.f.Parent = m.Type, m.BitSize, m.Parent
	w.f.BitOffset += m.BitOffset
	return nil
}

// FindMember finds a member by name in a STRUCT or UNION (after modifiers) and in its anonymous
// members, in declaration order, or a variable in a DATASEC.
func (s *Spec) FindMember(id ID, name string) (Field, bool) {
	if name == "" {
		return Field{}, false
	}
	budget := maxSteps
	return s.findMember(s.SkipMods(id), name, &budget)
}

// maxSteps limits the members visited in one search: anonymous members of malformed BTF can hold
// the same type again and again.
const maxSteps = 1 << 17

func (s *Spec) findMember(t *Type, name string, budget *int) (Field, bool) {
	if *budget -= 1 + len(t.Members); *budget < 0 {
		return Field{}, false
	}
	if t.Kind == KindDatasec {
		for _, v := range t.Vars {
			if s.Name(v.Type) == name && v.Offset <= math.MaxUint32/8 {
				return Field{Path: name, Type: s.MustType(v.Type).Ref, BitOffset: v.Offset * 8, Parent: t.ID}, true
			}
		}
		return Field{}, false
	}
	for i := range t.Members {
		m := &t.Members[i]
		if m.Name == name {
			off, bits := s.MemberBits(t, m)
			return Field{Path: name, Type: m.Type, BitOffset: off, BitSize: bits, Parent: t.ID}, true
		}
		if m.Name != "" {
			continue
		}
		if in := s.SkipMods(m.Type); in.Kind.IsComposite() {
			if f, ok := s.findMember(in, name, budget); ok && uint64(f.BitOffset)+uint64(m.BitOffset) <= math.MaxUint32 {
				f.BitOffset += m.BitOffset
				return f, true
			}
		}
	}
	return Field{}, false
}

// MemberNames returns the names that [Spec.FindMember] can find in a type.
func (s *Spec) MemberNames(id ID) []string {
	var names []string
	budget := maxSteps
	s.memberNames(s.SkipMods(id), &budget, &names)
	return names
}

func (s *Spec) memberNames(t *Type, budget *int, names *[]string) {
	if *budget -= 1 + len(t.Members); *budget < 0 {
		return
	}
	for _, v := range t.Vars {
		*names = append(*names, s.Name(v.Type))
	}
	for i := range t.Members {
		if m := &t.Members[i]; m.Name != "" {
			*names = append(*names, m.Name)
		} else if in := s.SkipMods(m.Type); in.Kind.IsComposite() {
			s.memberNames(in, budget, names)
		}
	}
}

// near returns up to three of names that resemble name, nearest first.
func near(name string, names []string) []string {
	return nearest.Names(name, names, max(2, len(name)/2))
}
