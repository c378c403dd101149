package scenario

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/loader"
)

// innerKey is the key that defines the inner map of a map of maps.
const innerKey = "inner"

// innerMaps adds the file's definitions of inner maps to the load options.
func (f *File) innerMaps(obj *loader.Object, o *loader.LoadOptions) error {
	var wrong grammar.Mistakes
	for _, p := range f.Maps {
		m, ok := obj.Map(p.Key.Text)
		if !ok || !m.OfMaps() || p.Value.Kind != grammar.Mapping {
			continue
		}
		n := p.Value.Get(innerKey)
		if n == nil {
			continue
		}
		text, err := innerText(n)
		if !wrong.Add(err) {
			continue
		}
		set := map[string]string{m.Name: text}
		for name, t := range o.InnerMaps {
			if _, given := set[name]; !given {
				set[name] = t
			}
		}
		o.InnerMaps = set
	}
	return wrong.Err()
}

// innerText returns a definition in command-line form. The node is a string or {type: hash,
// key_size: 4, ...}.
func innerText(n *grammar.Node) (string, error) {
	if n.Kind == grammar.Scalar {
		return n.Text, nil
	}
	pairs, err := n.Members(innerKey)
	if err != nil {
		return "", err
	}
	typ, rest := "", ""
	for _, p := range pairs {
		switch {
		case p.Value.Kind != grammar.Scalar:
			return "", p.Value.Errorf("%s: want a number, got %s", p.Key.Text, p.Value.Describe())
		case p.Key.Text == "type":
			typ = p.Value.Text
		default:
			rest += "," + p.Key.Text + "=" + p.Value.Text
		}
	}
	if typ == "" {
		return "", n.Errorf("inner: no type; want {type: hash, key_size: N, value_size: N, max_entries: N}, or the name of a map with the same definition")
	}
	return typ + rest, nil
}

// newInner creates an inner map with contents for an element of a map of maps.
func (t *table) newInner(key []byte, n *grammar.Node) (maps.Map, error) {
	if t.def.Inner == nil {
		return nil, n.Errorf("map %s has no inner map: define it by %s.inner, or with --inner-map", t.def.Name, t.def.Name)
	}
	b, err := t.m.NewInner(t.def, t.innerName(key))
	if err != nil {
		return nil, n.Wrap("map "+t.innerName(key), err)
	}
	_, def := t.m.MapDefAt(b.Addr())
	inner := &table{t.v, t.m, def, b, t.spec}
	return b, inner.set(n)
}

// innerName returns the name of an element of a map of maps in messages: OUTER[KEY].
func (t *table) innerName(key []byte) string {
	return fmt.Sprintf("%s[%s]", t.def.Name, strings.TrimSpace(t.keyText(key)))
}

// inner returns a table for the map in an element of a map of maps.
func (t *table) inner(key []byte, b maps.Map) *table {
	s := b.Spec()
	return &table{t.v, t.m, &loader.Map{Name: t.innerName(key), Type: s.Type, KeySize: s.KeySize, ValueSize: s.ValueSize, MaxEntries: s.MaxEntries, Flags: s.Flags}, b, t.spec}
}
