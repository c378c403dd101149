package corerelo

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// Limits of the search for a moved member.
const (
	movedDepth = 3     // structs within structs
	movedTypes = 20000 // members visited
)

// memberHints handles a type that lacks a named member.
func memberHints(rel *Relocation, rej Rejection) []Hint {
	acc := rel.Local.Path[rej.Step]
	field := rej.Spec.Field()
	var near nearest
	eachMember(rej.BTF, rej.at, 0, func(m *btf.Member) { near.offer(acc.Name, m.Name) })
	var alike []Hint
	for _, n := range near.best(3) {
		path := field + "." + n
		typ := memberType(rej.BTF, rej.at, n)
		alike = append(alike, Hint{
			Kind: HintNearMember, Path: path, Type: typ,
			Text: fmt.Sprintf("the kernel has %s (%s)", path, typ),
		})
	}
	if len(alike) > 0 {
		if score, _ := likeness(acc.Name, near.names[0].name); score == 0 {
			return alike[:1] // differs only in underscores
		}
	}
	hints := append(searchMembers(rel, rej, acc), alike...)
	if len(hints) == 0 {
		return flagHints(rej.BTF, acc.Name)
	}
	return hints
}

// flagHints finds enumerators whose names end in the member's name: bitfields have become bits of a
// flag word (inet_sock.freebind, INET_FLAGS_FREEBIND).
func flagHints(spec *btf.Spec, name string) []Hint {
	if len(name) < 5 {
		return nil
	}
	want := "_" + strings.ToUpper(name)
	for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
		if !spec.Kind(id).IsEnum() {
			continue
		}
		t, err := spec.Type(id)
		if err != nil {
			continue
		}
		for i := range t.Values {
			if v := t.Values[i].Name; strings.HasSuffix(v, want) {
				path := "enum " + orAnon(t.Name) + "::" + v
				return []Hint{{Kind: HintFlag, Path: path, Text: "it may have become a flag: the kernel has " + path}}
			}
		}
	}
	return nil
}

// eachMember visits the named members of a composite, including those of its anonymous members.
func eachMember(spec *btf.Spec, id btf.ID, depth int, visit func(*btf.Member)) {
	t := skip(spec, id)
	if t == nil || !t.Kind.IsComposite() || depth > 8 {
		return
	}
	for i := range t.Members {
		if m := &t.Members[i]; m.Name != "" {
			visit(m)
		} else {
			eachMember(spec, m.Type, depth+1, visit)
		}
	}
}

func memberType(spec *btf.Spec, id btf.ID, name string) string {
	text := ""
	eachMember(spec, id, 0, func(m *btf.Member) {
		if m.Name == name && text == "" {
			text = typeText(spec, m.Type)
		}
	})
	return text
}

// place is a struct that can be reached from the type that lacks a member.
type place struct {
	id    btf.ID
	path  string
	depth int
	ptr   bool // reached through a pointer
}

// searchMembers looks for the member, by name and by type, in the structs within the type that
// lacks it and in those one pointer away, breadth first.
func searchMembers(rel *Relocation, rej Rejection, acc Accessor) []Hint {
	owner, err := rel.Local.BTF.Type(acc.Type)
	if err != nil || acc.Index >= len(owner.Members) {
		return nil
	}
	s := memberSearch{
		spec: rej.BTF, name: acc.Name, reject: rej,
		wantType: structName(rel.Local.BTF, owner.Members[acc.Index].Type),
		matcher:  matcher{local: rel.Local.BTF, target: rej.BTF},
		local:    owner.Members[acc.Index].Type,
		queue:    []place{{id: rej.at, path: rej.Spec.Field()}},
		seen:     map[btf.ID]bool{rej.at: true},
	}
	for len(s.queue) > 0 && s.budget < movedTypes {
		p := s.queue[0]
		s.queue = s.queue[1:]
		s.visit(p)
	}
	return append(s.moved, s.sameType...)
}

type memberSearch struct {
	spec            *btf.Spec
	name, wantType  string
	local           btf.ID
	reject          Rejection
	matcher         matcher
	queue           []place
	seen            map[btf.ID]bool
	budget          int
	moved, sameType []Hint
}

func (s *memberSearch) visit(p place) {
	eachMember(s.spec, p.id, 0, func(m *btf.Member) {
		s.budget++
		sep := "."
		if p.ptr && p.depth == 0 {
			sep = "->"
		}
		path := func() string { return p.path + sep + m.Name } // of few members
		inPlace := p.id == s.reject.at
		if m.Name == s.name && !inPlace && len(s.moved) < 2 {
			if ok, f := s.matcher.fieldsCompatible(s.local, m.Type); ok && f == nil {
				at, typ := path(), typeText(s.spec, m.Type)
				s.moved = append(s.moved, Hint{Kind: HintMoved, Path: at, Type: typ, Text: fmt.Sprintf("the kernel has it as %s (%s)", at, typ)})
			}
		}
		if s.wantType != "" && m.Name != s.name && len(s.sameType) < 2 && structName(s.spec, m.Type) == s.wantType {
			at, typ := path(), typeText(s.spec, m.Type)
			s.sameType = append(s.sameType, Hint{Kind: HintSameType, Path: at, Type: typ, Text: fmt.Sprintf("the kernel has a %s in %s", typ, at)})
		}
		s.enter(p, m, path)
	})
}

// enter queues the struct that a member is or, at most once per path, points to.
func (s *memberSearch) enter(p place, m *btf.Member, path func() string) {
	t := skip(s.spec, m.Type)
	if t == nil || p.depth >= movedDepth {
		return
	}
	next := place{depth: p.depth + 1, ptr: p.ptr}
	if t.Kind == btf.KindPtr && !p.ptr {
		t = skip(s.spec, t.Ref)
		next.ptr, next.depth = true, 0
	}
	if t == nil || !t.Kind.IsComposite() || s.seen[t.ID] || p.ptr && next.ptr && p.depth > 0 {
		return
	}
	s.seen[t.ID] = true
	next.id, next.path = t.ID, path()
	s.queue = append(s.queue, next)
}

// structName returns the essential name of a struct, or of the struct a pointer points to with a
// star appended; "" for other types.
func structName(spec *btf.Spec, id btf.ID) string {
	t := skip(spec, id)
	star := ""
	if t != nil && t.Kind == btf.KindPtr {
		star = "*"
		t = skip(spec, t.Ref)
	}
	if t == nil || t.Name == "" || !t.Kind.IsComposite() && t.Kind != btf.KindFwd {
		return ""
	}
	return btf.EssentialName(t.Name) + star
}
