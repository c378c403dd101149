package btf

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// ChangeKind is the kind of a difference between two BTFs: in a type, or in a member, parameter or
// enumerator of it.
type ChangeKind uint8

// The kinds of changes.
const (
	Added ChangeKind = iota
	Removed
	Moved    // a different offset
	Retyped  // a different type
	Resized  // a different size
	Revalued // a different enumerator value
)

var changeNames = [...]string{"added", "removed", "moved", "retyped", "resized", "revalued"}

// String returns the kind in lower case: "added".
func (k ChangeKind) String() string {
	if int(k) < len(changeNames) {
		return changeNames[k]
	}
	return "unknown"
}

// Change is one difference. Path is empty if it concerns the whole type.
type Change struct {
	Kind     ChangeKind
	Path     string // member, enumerator or parameter: "cred", "[2]"
	Old, New string // as text; empty on the side that lacks it
}

// TypeDiff lists the differences of one named type.
type TypeDiff struct {
	Kind    Kind
	Name    string
	Changes []Change
}

// Title names the type: "struct task_struct", "func vfs_read".
func (d *TypeDiff) Title() string { return kindTitle(d.Kind) + d.Name }

func kindTitle(k Kind) string {
	switch k {
	case KindStruct:
		return "struct "
	case KindUnion:
		return "union "
	case KindEnum, KindEnum64:
		return "enum "
	case KindTypedef:
		return "typedef "
	case KindFunc:
		return "func "
	case KindVar:
		return "var "
	}
	return ""
}

// diffKinds are the kinds of named types that Diff compares. ENUM includes ENUM64.
var diffKinds = []Kind{KindStruct, KindUnion, KindEnum, KindTypedef, KindFunc, KindVar, KindInt, KindFloat}

// Diff compares all named types of two BTFs and returns those that differ, sorted by kind and name.
// If several types share a name, equal ones are paired first, then the rest in order.
func Diff(a, b *Spec) []TypeDiff {
	x, y := indexForDiff(a), indexForDiff(b)
	names := map[diffKey]bool{}
	for k := range x {
		names[k] = true
	}
	for k := range y {
		names[k] = true
	}
	var out []TypeDiff
	for k := range names {
		if d := diffNamed(a, b, k, x[k], y[k]); len(d.Changes) > 0 {
			out = append(out, d)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		ki, kj := slices.Index(diffKinds, out[i].Kind), slices.Index(diffKinds, out[j].Kind)
		return ki < kj || ki == kj && out[i].Name < out[j].Name
	})
	return out
}

// DiffNamed compares the types named text. The name may be preceded by a kind: "struct sock". The
// error is a *[PathError] if neither BTF has such a type.
func DiffNamed(a, b *Spec, text string) ([]TypeDiff, error) {
	name, kinds := strings.TrimSpace(text), diffKinds
	if word, rest, ok := strings.Cut(name, " "); ok && lookupWords[word] != nil {
		name, kinds = strings.TrimSpace(rest), lookupWords[word]
	}
	var out []TypeDiff
	found := false
	for _, kind := range kinds {
		if kind == KindEnum64 {
			continue // compared with ENUM
		}
		k := diffKey{kind, name}
		x, y := idsForDiff(a, k), idsForDiff(b, k)
		found = found || len(x) > 0 || len(y) > 0
		if d := diffNamed(a, b, k, x, y); len(d.Changes) > 0 {
			out = append(out, d)
		}
	}
	if !found {
		_, _, err := b.Lookup(text)
		if err == nil {
			err = &PathError{Root: b.rootName(), Path: text, Detail: "only whole types can be compared", Err: ErrNotFound}
		}
		return nil, err
	}
	return out, nil
}

type diffKey struct {
	kind Kind
	name string
}

func diffKind(k Kind) Kind {
	if k == KindEnum64 {
		return KindEnum
	}
	return k
}

func indexForDiff(s *Spec) map[diffKey][]ID {
	out := map[diffKey][]ID{}
	for id := s.FirstID(); int(id) < s.NumTypes(); id++ {
		kind := diffKind(s.Kind(id))
		if name := s.Name(id); name != "" && slices.Contains(diffKinds, kind) {
			out[diffKey{kind, name}] = append(out[diffKey{kind, name}], id)
		}
	}
	return out
}

func idsForDiff(s *Spec, k diffKey) []ID {
	ids := s.IDs(k.kind, k.name)
	if k.kind == KindEnum {
		ids = append(ids, s.IDs(KindEnum64, k.name)...)
	}
	return ids
}

func diffNamed(a, b *Spec, k diffKey, x, y []ID) TypeDiff {
	d := TypeDiff{Kind: k.kind, Name: k.name}
	switch {
	case len(x) == 0 && len(y) == 0:
		return d
	case len(x) == 0:
		d.Changes = []Change{{Kind: Added, New: describeForDiff(b, y[0])}}
		return d
	case len(y) == 0:
		d.Changes = []Change{{Kind: Removed, Old: describeForDiff(a, x[0])}}
		return d
	case len(x) == 1 && len(y) == 1:
		d.Changes = diffTypes(a, b, x[0], y[0])
		return d
	}
	// Several types have this name: pair equal ones first.
	rest := slices.Clone(y)
	var left []ID
	for _, id := range x {
		at := slices.IndexFunc(rest, func(other ID) bool { return len(diffTypes(a, b, id, other)) == 0 })
		if at < 0 {
			left = append(left, id)
			continue
		}
		rest = slices.Delete(rest, at, at+1)
	}
	for i, id := range left {
		if i < len(rest) {
			d.Changes = append(d.Changes, diffTypes(a, b, id, rest[i])...)
		} else {
			d.Changes = append(d.Changes, Change{Kind: Removed, Old: "one of several: " + describeForDiff(a, id)})
		}
	}
	for _, id := range rest[min(len(left), len(rest)):] {
		d.Changes = append(d.Changes, Change{Kind: Added, New: "one of several: " + describeForDiff(b, id)})
	}
	return d
}

// describeForDiff describes a type on one line.
func describeForDiff(s *Spec, id ID) string {
	t := s.MustType(id)
	switch t.Kind {
	case KindStruct, KindUnion:
		return fmt.Sprintf("%d bytes, %s", t.Size, countOf(int64(len(t.Members)), "member"))
	case KindEnum, KindEnum64:
		return countOf(int64(len(t.Values)), "value")
	case KindFunc:
		return s.Signature(id)
	case KindInt, KindFloat:
		return countOf(int64(t.Size), "byte")
	}
	return s.TypeString(t.Ref)
}

// diffTypes compares two types of one kind.
func diffTypes(a, b *Spec, x, y ID) []Change {
	s, t := a.MustType(x), b.MustType(y)
	var out []Change
	if s.Size != t.Size && s.Kind != KindFunc {
		out = append(out, Change{Kind: Resized, Old: countOf(int64(s.Size), "byte"), New: countOf(int64(t.Size), "byte")})
	}
	switch {
	case s.Kind.IsComposite():
		out = append(out, diffMembers(flatMembers(a, s), flatMembers(b, t))...)
	case s.Kind.IsEnum():
		out = append(out, diffValues(s, t)...)
	case s.Kind == KindFunc:
		if o, n := a.Declare(s.Ref, s.Name), b.Declare(t.Ref, t.Name); o != n {
			out = append(out, Change{Kind: Retyped, Old: a.Signature(x), New: b.Signature(y)})
		}
	case s.Kind == KindInt:
		if s.Int != t.Int && s.Size == t.Size {
			out = append(out, Change{Kind: Retyped, Old: encodingText(s), New: encodingText(t)})
		}
	default:
		if o, n := a.TypeString(s.Ref), b.TypeString(t.Ref); o != n {
			out = append(out, Change{Kind: Retyped, Old: o, New: n})
		}
	}
	return out
}

func encodingText(t *Type) string {
	var words []string
	for _, e := range []struct {
		bit  uint8
		word string
	}{{IntSigned, "signed"}, {IntChar, "char"}, {IntBool, "bool"}} {
		if t.Int.Encoding&e.bit != 0 {
			words = append(words, e.word)
		}
	}
	if words == nil {
		words = []string{"unsigned"}
	}
	return fmt.Sprintf("%s, %d bits", strings.Join(words, " "), t.Int.Bits)
}

// flatMember is a named member, including those of anonymous structs and unions.
type flatMember struct {
	name, typ  string
	bit, width uint32
	bytes      int64
}

func (m *flatMember) place() string {
	text := fmt.Sprintf("offset %d", m.bit/8)
	if m.width != 0 {
		return fmt.Sprintf("bit %d of offset %d", m.bit%8, m.bit/8)
	}
	return text
}

func flatMembers(s *Spec, t *Type) []flatMember {
	var out []flatMember
	budget := maxSteps
	s.flatten(t, 0, &out, &budget)
	return out
}

func (s *Spec) flatten(t *Type, base uint32, out *[]flatMember, budget *int) {
	if *budget -= 1 + len(t.Members); *budget < 0 {
		return
	}
	for i := range t.Members {
		m := &t.Members[i]
		off, width := s.MemberBits(t, m)
		in := s.SkipMods(m.Type)
		if m.Name == "" { // padding, which has no members, or a struct or union
			s.flatten(in, base+off, out, budget)
			continue
		}
		typ := s.TypeString(m.Type)
		if width != 0 {
			typ += fmt.Sprintf(":%d", width)
		}
		*out = append(*out, flatMember{name: m.Name, typ: typ, bit: base + off, width: width, bytes: s.size(m.Type)})
	}
}

// diffMembers pairs members by name.
func diffMembers(a, b []flatMember) []Change {
	var out []Change
	used := make([]bool, len(b))
	find := func(name string) int {
		for i := range b {
			if !used[i] && b[i].name == name {
				used[i] = true
				return i
			}
		}
		return -1
	}
	for i := range a {
		m := &a[i]
		at := find(m.name)
		if at < 0 {
			out = append(out, Change{Kind: Removed, Path: m.name, Old: m.typ + " at " + m.place()})
			continue
		}
		n := &b[at]
		if m.bit != n.bit {
			out = append(out, Change{Kind: Moved, Path: m.name, Old: m.place(), New: n.place()})
		}
		switch {
		case m.typ != n.typ:
			out = append(out, Change{Kind: Retyped, Path: m.name, Old: m.typ, New: n.typ})
		case m.bytes != n.bytes:
			out = append(out, Change{Kind: Resized, Path: m.name, Old: countOf(m.bytes, "byte"), New: countOf(n.bytes, "byte")})
		}
	}
	for i := range b {
		if !used[i] {
			out = append(out, Change{Kind: Added, Path: b[i].name, New: b[i].typ + " at " + b[i].place()})
		}
	}
	return out
}

func diffValues(a, b *Type) []Change {
	var out []Change
	values := map[string]uint64{}
	for _, v := range b.Values {
		values[v.Name] = v.Value
	}
	seen := map[string]bool{}
	for _, v := range a.Values {
		seen[v.Name] = true
		n, ok := values[v.Name]
		switch {
		case !ok:
			out = append(out, Change{Kind: Removed, Path: v.Name, Old: valueText(a, v.Value)})
		case n != v.Value:
			out = append(out, Change{Kind: Revalued, Path: v.Name, Old: valueText(a, v.Value), New: valueText(b, n)})
		}
	}
	for _, v := range b.Values {
		if !seen[v.Name] {
			out = append(out, Change{Kind: Added, Path: v.Name, New: valueText(b, v.Value)})
		}
	}
	return out
}

func valueText(t *Type, v uint64) string {
	if t.Signed() || int64(v) < 0 {
		return fmt.Sprint(int64(v))
	}
	return fmt.Sprint(v)
}
