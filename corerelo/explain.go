package corerelo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// HintKind classifies what a Hint suggests instead of the missing item.
type HintKind uint8

// The kinds of hints.
const (
	HintNearMember HintKind = iota // a member with a similar name in the same type
	HintMoved                      // a member of the same name, nested deeper or reached through a pointer
	HintSameType                   // a member of the same pointer or struct type with another name
	HintOtherKind                  // the type exists as another kind (union, typedef, ...)
	HintForward                    // the type is only declared forward
	HintNearType                   // a type with a similar name
	HintNearValue                  // an enumerator with a similar name
	HintOtherEnum                  // the enumerator exists in another enum
	HintChanged                    // the member exists with an incompatible type
	HintFlag                       // an enumerator whose name ends in the member's name
)

var hintNames = [...]string{
	"near-member", "moved", "same-type", "other-kind", "forward", "near-type",
	"near-value", "other-enum", "changed", "flag",
}

// String returns the kind as a word: "near-member".
func (k HintKind) String() string {
	if int(k) < len(hintNames) {
		return hintNames[k]
	}
	return "unknown"
}

// Hint is something that the target has instead of what the relocation asks for.
type Hint struct {
	Kind HintKind
	Path string // "task_struct.__state", "union foo", "enum bpf_func_id::BPF_FUNC_x"
	Type string // C type of the member, if Path is one
	Text string // one sentence
}

// maxHints limits the hints for one relocation.
const maxHints = 4

// Explain explains a relocation's result in one or more lines: why each candidate was rejected, and
// what exists instead. It returns "" if the relocation was resolved as intended.
func (r *Resolver) Explain(rel *Relocation) string {
	var lines []string
	switch {
	case rel.Err != nil:
		lines = append(lines, rel.Err.Error())
	case rel.Target != nil:
		if rel.Result.FailMemSize {
			lines = append(lines, rel.explainMemSize())
		}
	case rel.Kind == TypeIDLocal:
	case rel.Candidates == 0:
		lines = append(lines, fmt.Sprintf("%s does not exist in the kernel", typeText(rel.Local.BTF, rel.Local.Root)))
	}
	if rel.Target == nil {
		for _, rej := range rel.Rejected {
			if why := rej.Why; !slices.Contains(lines, why) {
				lines = append(lines, why)
			}
		}
	}
	for _, h := range r.Hints(rel) {
		lines = append(lines, h.Text)
	}
	return strings.Join(lines, "\n")
}

func (rel *Relocation) explainMemSize() string {
	res := &rel.Result
	return fmt.Sprintf("%s has %d bytes (%s) in the kernel, %d (%s) in the program: a direct load or store cannot be adjusted",
		rel.Target.Field(), res.NewSize, typeText(rel.Target.BTF, res.NewType), res.OrigSize, typeText(rel.Local.BTF, res.OrigType))
}

// Hints returns what the target offers instead of what the relocation asks for, best first, at most
// a few. It returns nil if a candidate matches. It searches the whole target, so call it only for
// relocations to be reported.
func (r *Resolver) Hints(rel *Relocation) []Hint {
	if rel.Err != nil || rel.Target != nil || rel.Kind == TypeIDLocal || rel.Local.BTF == nil {
		return nil
	}
	var hints []Hint
	if rel.Candidates == 0 {
		hints = r.typeHints(rel)
	}
	for _, rej := range rel.Rejected {
		switch rej.Reason {
		case NoMember:
			hints = append(hints, memberHints(rel, rej)...)
		case NoEnumerator:
			hints = append(hints, valueHints(rel, rej)...)
		case IncompatibleType:
			hints = append(hints, changedHints(rel, rej)...)
		}
	}
	if rel.Kind.IsEnumval() {
		hints = append(hints, r.otherEnum(rel)...)
	}
	return distinct(hints)
}

func distinct(hints []Hint) []Hint {
	seen := map[string]bool{}
	var out []Hint
	for _, h := range hints {
		if !seen[h.Path] && len(out) < maxHints {
			seen[h.Path] = true
			out = append(out, h)
		}
	}
	return out
}

// typeHints handles a root type without candidates.
func (r *Resolver) typeHints(rel *Relocation) []Hint {
	name := btf.EssentialName(rel.Local.BTF.Name(rel.TypeID))
	if name == "" {
		return nil
	}
	want := rel.Local.BTF.Kind(rel.TypeID)
	var hints []Hint
	r.target.each(func(spec *btf.Spec, source string) {
		for _, id := range spec.Named(name) {
			kind := spec.Kind(id)
			if id < spec.FirstID() || kind == btf.KindFunc || kind == btf.KindVar || kind == btf.KindDatasec || kind == btf.KindDeclTag || kind == btf.KindTypeTag {
				continue
			}
			text := kindWord(kind) + " " + name
			hint := Hint{Kind: HintOtherKind, Path: text, Text: source + " has " + text + ", which is not a candidate for a " + kindWord(want)}
			if kind == btf.KindFwd {
				hint = Hint{Kind: HintForward, Path: text, Text: source + " only declares " + name + " without its members"}
			}
			hints = append(hints, hint)
		}
	})
	if len(hints) > 0 {
		return hints
	}
	var near nearest
	r.target.each(func(spec *btf.Spec, _ string) {
		for id := spec.FirstID(); int(id) < spec.NumTypes(); id++ {
			if id != 0 && sameKind(spec.Kind(id), want) {
				near.offer(name, spec.Name(id))
			}
		}
	})
	for _, n := range near.best(3) {
		hints = append(hints, Hint{Kind: HintNearType, Path: n, Text: "the nearest name in " + r.target.sourceOf(n, want) + " is " + kindWord(want) + " " + n})
	}
	return hints
}

// sourceOf names the first source with a type of a kind and name.
func (t *Target) sourceOf(name string, kind btf.Kind) string {
	first := ""
	t.each(func(spec *btf.Spec, source string) {
		if first == "" && slices.ContainsFunc(spec.Named(btf.EssentialName(name)), func(id btf.ID) bool {
			return id >= spec.FirstID() && sameKind(spec.Kind(id), kind) && spec.Name(id) == name
		}) {
			first = source
		}
	})
	return first
}

// each visits the types of the kernel and of its modules; source names their origin in messages.
func (t *Target) each(visit func(spec *btf.Spec, source string)) {
	if t.BTF != nil {
		visit(t.BTF, "the kernel")
	}
	for i, m := range t.Modules {
		if m != nil {
			visit(m, "module "+t.name(i))
		}
	}
}

// valueHints handles an enum that lacks the enumerator.
func valueHints(rel *Relocation, rej Rejection) []Hint {
	t, err := rej.BTF.Type(rej.at)
	if err != nil {
		return nil
	}
	var near nearest
	for i := range t.Values {
		near.offer(btf.EssentialName(rel.Local.Last().Name), t.Values[i].Name)
	}
	var hints []Hint
	for _, n := range near.best(3) {
		path := "enum " + orAnon(t.Name) + "::" + n
		hints = append(hints, Hint{Kind: HintNearValue, Path: path, Text: "the kernel has " + path})
	}
	return hints
}

// otherEnum looks for the enumerator in other enums of the target.
func (r *Resolver) otherEnum(rel *Relocation) []Hint {
	spec := r.target.BTF
	if spec == nil || len(rel.Local.Path) == 0 {
		return nil
	}
	want := btf.EssentialName(rel.Local.Last().Name)
	for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
		if !spec.Kind(id).IsEnum() {
			continue
		}
		t, err := spec.Type(id)
		if err != nil || sameEssential(t.Name, rel.Local.BTF.Name(rel.TypeID)) {
			continue
		}
		for i := range t.Values {
			if t.Values[i].Name == want {
				path := "enum " + orAnon(t.Name) + "::" + want
				return []Hint{{Kind: HintOtherEnum, Path: path, Text: "the kernel has it in another enum: " + path}}
			}
		}
	}
	return nil
}

// changedHints handles a member that exists with a type of another kind. A member of the expected
// type elsewhere may be what the program needs.
func changedHints(rel *Relocation, rej Rejection) []Hint {
	acc := rel.Local.Path[rej.Step]
	path := rej.Spec.Field() + "." + acc.Name
	hints := []Hint{{
		Kind: HintChanged, Path: path, Type: typeText(rej.BTF, rej.have),
		Text: path + " has another type: " + typeText(rej.BTF, rej.have),
	}}
	return append(hints, searchMembers(rel, rej, acc)...)
}
