package btf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/nearest"
)

// Field is a place inside of a type.
type Field struct {
	// Path from the root, "cred.uid.val" or "comm[3]"; anonymous members leave
	// no trace.
	Path string
	// Type of the field as declared.
	Type ID
	// BitOffset from the start of the root.
	BitOffset uint32
	// BitSize is the width of a bitfield, 0 for others.
	BitSize uint32
	// Parent is the STRUCT or UNION that holds the last named member, 0 for the
	// root itself.
	Parent ID
}

// Offset returns the byte offset of the field; of a bitfield, of the byte with
// its first bit.
func (f Field) Offset() uint32 { return f.BitOffset / 8 }

// PathError is a path that does not exist in a type.
type PathError struct {
	Root    string   // the type the path starts at
	Path    string   // the whole path
	At      string   // the part that could not be followed
	Detail  string   // why
	Nearest []string // names that exist there, nearest first
	Err     error    // ErrNotFound, or ErrInvalid for bad syntax
}

// Error reports which part failed and what is there instead.
func (e *PathError) Error() string {
	msg := fmt.Sprintf("btf: %s has no %q: %s", e.Root, e.Path, e.Detail)
	if len(e.Nearest) > 0 {
		msg += "; nearest: " + strings.Join(e.Nearest, ", ")
	}
	return msg
}

// Unwrap returns the kind of the error.
func (e *PathError) Unwrap() error { return e.Err }

// ResolvePath finds a field by path: names separated by dots, array indexes in
// brackets, "cred.uid.val", "comm[3]", "[2].x". Members of anonymous structs
// and unions are found by their own names, at any nesting, and variables of a
// DATASEC by theirs. Pointers are not followed. The empty path is the root. The
// error is a *[PathError].
func (s *Spec) ResolvePath(root ID, path string) (Field, error) {
	f := Field{Type: root}
	rest := path
	for rest != "" {
		fail := func(kind error, nearest []string, format string, args ...any) (Field, error) {
			return Field{}, &PathError{Root: s.TypeString(root), Path: path, At: rest,
				Detail: fmt.Sprintf(format, args...), Nearest: nearest, Err: kind}
		}
		if rest[0] == '[' {
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return fail(ErrInvalid, nil, "%q has no ]", rest)
			}
			n, err := strconv.ParseUint(rest[1:end], 0, 32)
			if err != nil {
				return fail(ErrInvalid, nil, "%q is not an index", rest[1:end])
			}
			t := s.SkipMods(f.Type)
			if t.Kind != KindArray || f.BitSize != 0 {
				return fail(ErrNotFound, nil, "%s is not an array", s.TypeString(f.Type))
			}
			if n >= uint64(t.Array.Nelems) && t.Array.Nelems != 0 {
				return fail(ErrNotFound, nil, "index %d of %d elements", n, t.Array.Nelems)
			}
			size, err := s.Sizeof(t.Ref)
			if err != nil {
				return fail(ErrInvalid, nil, "%v", err)
			}
			off := uint64(f.BitOffset) + n*8*uint64(min(size, math.MaxUint32))
			if off > math.MaxUint32 {
				return fail(ErrNotFound, nil, "offset %d bits", off)
			}
			f.Type, f.BitOffset = t.Ref, uint32(off)
			f.Path += rest[:end+1]
			rest = rest[end+1:]
			if strings.HasPrefix(rest, ".") {
				rest = rest[1:]
				if rest == "" {
					return fail(ErrInvalid, nil, "it ends in a dot")
				}
			}
			continue
		}
		end := strings.IndexAny(rest, ".[")
		name := rest
		if end >= 0 {
			name = rest[:end]
		}
		t := s.SkipMods(f.Type)
		m, ok := s.FindMember(t.ID, name)
		if !ok || f.BitSize != 0 {
			switch t.Kind {
			case KindStruct, KindUnion, KindDatasec:
				return fail(ErrNotFound, near(name, s.MemberNames(t.ID)), "no member %q in %s", name, s.TypeString(t.ID))
			case KindPtr:
				return fail(ErrNotFound, nil, "%s is a pointer (%s)", strings.TrimSuffix(f.Path, "."), s.TypeString(f.Type))
			}
			return fail(ErrNotFound, nil, "%s has no members", s.TypeString(f.Type))
		}
		if uint64(m.BitOffset)+uint64(f.BitOffset) > math.MaxUint32 {
			return fail(ErrNotFound, nil, "offset beyond 32 bits")
		}
		if f.Path != "" {
			f.Path += "."
		}
		f.Path += name
		f.Type, f.BitSize, f.Parent = m.Type, m.BitSize, m.Parent
		f.BitOffset += m.BitOffset
		if rest = rest[len(name):]; strings.HasPrefix(rest, ".") {
			if rest = rest[1:]; rest == "" {
				return fail(ErrInvalid, nil, "it ends in a dot")
			}
		}
	}
	return f, nil
}

// FindMember finds a member by name in a STRUCT or UNION (behind modifiers),
// also in its anonymous members, in declaration order; or a variable in a
// DATASEC.
func (s *Spec) FindMember(id ID, name string) (Field, bool) {
	if name == "" {
		return Field{}, false
	}
	budget := maxSteps
	return s.findMember(s.SkipMods(id), name, &budget)
}

// maxSteps bounds the members looked at in one search: anonymous members of
// malformed BTF can hold the same type again and again.
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

// MemberNames returns the names that [Spec.FindMember] finds in a type.
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

// near returns up to three of names that look like name, nearest first.
func near(name string, names []string) []string {
	return nearest.Names(name, names, max(2, len(name)/2))
}
