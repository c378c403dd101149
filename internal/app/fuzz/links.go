package fuzz

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// Link is a pointer: a field of a kernel object, as OBJECT.path, or an argument of an event.
type Link struct {
	Name string `json:"name"`
	// To is where it leads: null, new for an object of its own, or the name of an object of the
	// scenario as $NAME.
	To string `json:"to"`
}

const (
	toNull = "null"
	toNew  = "new"
)

// setLink sets a pointer by name.
func setLink(list []Link, name, to string) []Link {
	for i := range list {
		if list[i].Name == name {
			list[i].To = to
			return list
		}
	}
	if len(list) >= maxNumbers {
		return list
	}
	return append(list, Link{name, to})
}

// node is where a link leads, as a scenario has it.
func (l Link) node() *grammar.Node {
	switch l.To {
	case toNull:
		return grammar.Word("null")
	case toNew:
		return &grammar.Node{Kind: grammar.Mapping}
	}
	return grammar.Word(l.To)
}

// target is the object that a link leads to; ok is false for new ones and for names that the
// scenario lacks.
func (s *side) target(r *scenario.Runner, l Link) (o *object.Object, ok bool) {
	if l.To == toNull {
		return nil, true
	}
	name, named := strings.CutPrefix(l.To, "$")
	if !named {
		return nil, false
	}
	o = r.Object(name)
	return o, o != nil
}

// link makes pointers of kernel objects lead where an input says.
func (s *side) link(r *scenario.Runner, links []Link) {
	for _, l := range links {
		o, path := s.field(r, l.Name)
		if o == nil {
			continue
		}
		if l.To == toNew {
			_ = o.Set(path, map[string]any{})
		} else if to, ok := s.target(r, l); ok {
			_ = o.SetPtr(path, to)
		}
	}
}

// linkArgs makes pointers among the arguments of an event lead where an input says, in a context
// that exists. It is false for arguments that are set only when a context is made.
func (s *side) linkArgs(r *scenario.Runner, e *Event, set func(name string, v uint64) bool) bool {
	for _, l := range e.Links {
		addr := uint64(0)
		if to, ok := s.target(r, l); ok && to != nil {
			addr = to.Addr()
		} else if !ok {
			continue
		}
		if !set(l.Name, addr) {
			return false
		}
	}
	return true
}

// inObject finds a field of a kernel object that the scenario names, or that a pointer leads to
// from there.
func (s *side) inObject(w search.Wish) (spot, bool) {
	o, _, path, ok := s.whole.Machine().Kernel().Resolve(w.Addr)
	if !ok || path == "" {
		return spot{}, false
	}
	path, _, _ = strings.Cut(path, ",")
	name := s.nameOf(o)
	if name == "" {
		return spot{part: nowhere, text: o.Role() + "." + path}, true
	}
	name += "." + path
	sp := spot{part: Kernel, name: name, text: name}
	if f, _, err := o.Peek(path); err == nil && f.Spec != nil && f.Spec.SkipMods(f.Type).Kind == btf.KindPtr {
		sp.pointer, sp.typ = true, f.Spec.SkipMods(f.Spec.SkipMods(f.Type).Ref).Name
	}
	return sp, true
}

// nameOf is the name of an object in the scenario, with the pointers that lead to it from there;
// empty if there is none.
func (s *side) nameOf(o *object.Object) string {
	for _, p := range s.f.file.Objects {
		if s.whole.Object(p.Key.Text) == o {
			return p.Key.Text
		}
	}
	name, path, ok := strings.Cut(o.Role(), ".")
	if from := s.whole.Object(name); ok && from != nil {
		if to, err := from.Pointee(path); err == nil && to == o {
			return o.Role()
		}
	}
	return ""
}

// named is the object of the scenario at an address, as the target of a link.
func (s *side) named(addr uint64) (string, bool) {
	for _, p := range s.f.file.Objects {
		if o := s.whole.Object(p.Key.Text); o != nil && o.Addr() == addr {
			return "$" + p.Key.Text, true
		}
	}
	return "", false
}

// relinked is where a pointer should lead so that a comparison for equality goes the other way.
func (s *side) relinked(cmp search.Comparison, sp spot, w search.Wish) (to string, ok bool) {
	op := cmp.Program.Insns[cmp.PC].Op()
	if !isEqual(op) && !isUnequal(op) {
		return "", false
	}
	equal := isEqual(op) != cmp.Taken
	switch name, known := s.named(w.Value); {
	case w.Value == 0:
		return toNull, true
	case equal:
		return name, known
	case w.Was == 0 && sp.part == Kernel:
		return toNew, true
	}
	for _, p := range s.f.file.Objects { // any other one
		o := s.whole.Object(p.Key.Text)
		if o != nil && o.Addr() != w.Was && o.TypeName() == sp.typ {
			return "$" + p.Key.Text, true
		}
	}
	return toNew, sp.part == Kernel
}

// needLink says where a pointer should lead.
func needLink(sp spot, to string) string {
	switch to {
	case toNull:
		return sp.text + " == null"
	case toNew:
		return "another object in " + sp.text
	}
	return sp.text + " == " + to
}

// grantLink changes where a pointer leads.
func (in *Input) grantLink(sp spot, to string) {
	if sp.part == Kernel {
		in.Links = setLink(in.Links, sp.name, to)
		return
	}
	e := &in.Events[len(in.Events)-1]
	e.Links = setLink(e.Links, sp.name, to)
}

// checkLinks checks the names of links that come from outside.
func (f *Fuzzer) checkLinks(in *Input) error {
	for _, l := range in.Links {
		if o, path := f.first.field(f.first.whole, l.Name); o == nil || !o.Has(path) || !f.isTarget(l) {
			return &noLinkError{l}
		}
	}
	for _, e := range in.Events {
		for _, l := range e.Links {
			if !slices.Contains(f.space.runs[e.Run].pointers, l.Name) || l.To == toNew || !f.isTarget(l) {
				return &noLinkError{l}
			}
		}
	}
	return nil
}

func (f *Fuzzer) isTarget(l Link) bool {
	_, ok := f.first.target(f.first.whole, l)
	return ok || l.To == toNew
}

type noLinkError struct{ l Link }

func (e *noLinkError) Error() string { return "no pointer " + e.l.Name + " leads to " + e.l.To }
