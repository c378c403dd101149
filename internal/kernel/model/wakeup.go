package model

import (
	"errors"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// WakeupSources returns the head of the list of wakeup sources: the objects of the type that exist
// when it is first needed, else one with default values.
func (m *Model) WakeupSources() (*object.Object, error) {
	if head := m.Kept("wakeup_sources"); head != nil {
		return head, nil
	}
	head, err := m.NewObjectNamed("wakeup_sources", "list_head")
	if err != nil {
		return nil, err
	}
	var sources []*object.Object
	for _, o := range m.Objects() {
		if o.TypeName() == "wakeup_source" {
			sources = append(sources, o)
		}
	}
	if len(sources) == 0 {
		o, err := m.NewObjectNamed("power_button", "wakeup_source")
		if err != nil {
			return nil, err
		}
		o.MarkBuiltin()
		sources = []*object.Object{o}
	}
	last, lastPath := head, ""
	for _, o := range sources {
		if err := join(last, lastPath, o, "entry."); err != nil {
			return nil, err
		}
		last, lastPath = o, "entry."
	}
	if err := join(last, lastPath, head, ""); err != nil {
		return nil, err
	}
	m.Keep("wakeup_sources", head)
	return head, nil
}

// join makes two list_heads, each at the path of its members' prefix, neighbours.
func join(a *object.Object, at string, b *object.Object, bt string) error {
	next, err := b.FieldAddr(bt + "next")
	if err != nil {
		return err
	}
	prev, err := a.FieldAddr(at + "next")
	if err != nil {
		return err
	}
	return errors.Join(a.SetUint(at+"next", next), b.SetUint(bt+"prev", prev))
}
