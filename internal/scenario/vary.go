package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/scenario/invariant"
	"github.com/bpfrun/bpfrun/loader"
)

// Start is what a run of a file begins with.
type Start struct {
	machine.Input
	// Fields are those of a user ABI context.
	Fields map[string]uint64
}

// Start returns the input of a run. The error says why the run cannot be made on this target, or
// that it is not one run of one program.
func (r *Runner) Start(run *Run) (Start, error) {
	p := r.input[run]
	switch {
	case p == nil || run.whole() || run.Chain != nil || run.Functions != nil || run.Simulated != nil || run.PcapNode != nil:
		return Start{}, errNotOne
	case p.cannot != nil:
		return Start{}, p.cannot
	}
	return Start{p.in, p.fields}, nil
}

var errNotOne = errors.New("not a single run of one program")

// Object returns an object that the file names, or nil.
func (r *Runner) Object(name string) *object.Object { return r.b.objects[name] }

// Checker returns the compiled invariants of the file, nil if there are none. [Runner.One]
// evaluates them by itself.
func (r *Runner) Checker() *invariant.Checker { return r.inv.checker }

// Observed returns what a run did as its expectations.
func (r *Runner) Observed(res *machine.Result) (*grammar.Node, error) {
	lp, ok := r.m.Linked().Program(res.Program)
	if !ok {
		return nil, fmt.Errorf("%w: %s", machine.ErrNoProgram, res.Program)
	}
	s := &skeleton{m: r.m, spec: r.m.Linked().Object.BTF, g: graph{names: map[string]*sketch{}, byObject: map[*object.Object]*sketch{}}}
	for _, name := range r.b.names {
		if o := r.b.objects[name]; o != nil {
			s.g.byObject[o] = &sketch{name: name, typ: o.TypeName()}
		}
	}
	s.expect(lp, res)
	root, err := grammar.ParseYAML("observed", bytes.TrimPrefix(s.runs.Bytes(), []byte("  ")))
	if err != nil {
		return nil, err
	}
	e := root.Get("expect")
	if e == nil || e.Kind != grammar.Mapping {
		return &grammar.Node{Kind: grammar.Mapping}, nil
	}
	if res.Fault == nil && res.PacketOut != nil {
		if bytes.Equal(res.PacketIn, res.PacketOut) {
			e.Put("packet", grammar.Word("unchanged"))
		} else {
			e.Put("packet", grammar.Quote(grammar.HexDigits(res.PacketOut)))
		}
	}
	return e, nil
}

// Settle runs a scenario and comments out the expectations that do not hold, such as those about
// addresses.
func Settle(ctx context.Context, text []byte, l *loader.Linked, opt Options) ([]byte, error) {
	return settled(ctx, text, l, opt)
}

// KeyNode returns a node that means the key of a map's element, in terms of its type if it has one.
func (r *Runner) KeyNode(name string, key []byte) *grammar.Node {
	t, err := r.table(grammar.Word(name))
	if err != nil {
		return grammar.HexBytes(key)
	}
	return r.keyNode(t, key)
}

// InnerNodes returns nodes that mean the key and the value of an element of the map that a map of
// maps has, or may have, for the key in.
func (r *Runner) InnerNodes(name string, in, key, value []byte) (k, v *grammar.Node) {
	defer r.m.Restore(r.m.Snapshot())
	if t, err := r.table(grammar.Word(name)); err == nil {
		outer, ok := t.b.(maps.OuterMap)
		if !ok {
			return grammar.HexBytes(key), grammar.HexBytes(value)
		}
		b, ok := outer.Inner(in)
		if !ok && r.m.FillOuter(t.def, in) == nil {
			b, ok = outer.Inner(in)
		}
		if ok {
			inner := t.inner(in, b)
			return r.keyNode(inner, key), r.typedNode(b.Spec().ValueType, value, inner.value)
		}
	}
	return grammar.HexBytes(key), grammar.HexBytes(value)
}

func (r *Runner) keyNode(t *table, key []byte) *grammar.Node {
	spec, id := r.m.Linked().Object.BTF, t.b.Spec().KeyType
	if spec != nil && id != 0 {
		s := &skeleton{m: r.m, spec: spec}
		for _, text := range []string{s.typed(id, key), grammar.YAMLString(spec.FormatString(id, key))} {
			if n := oneNode(text); n != nil && n.Kind == grammar.Scalar {
				if b, err := t.key(n); err == nil && bytes.Equal(b, key) {
					return n
				}
			}
		}
	}
	return grammar.HexBytes(key)
}

// ValueNode returns a node that means the value of a map's element.
func (r *Runner) ValueNode(name string, value []byte) *grammar.Node {
	t, err := r.table(grammar.Word(name))
	if err != nil {
		return grammar.HexBytes(value)
	}
	if _, ok := t.b.(maps.OuterMap); ok { // an empty inner map
		return &grammar.Node{Kind: grammar.Mapping}
	}
	return r.typedNode(t.b.Spec().ValueType, value, func(n *grammar.Node) ([]byte, error) { return t.value(n) })
}

// VariableNode returns a node that means the bytes of a global variable. ok is false for variables
// that a file cannot set to that.
func (r *Runner) VariableNode(name string, value []byte) (n *grammar.Node, ok bool) {
	obj := r.m.Linked().Object
	_, v, found := loader.FindVariable(obj.Maps, name, (*loader.Map).Settable)
	if !found || obj.BTF == nil || v.Type == 0 || len(value) != int(v.Size) {
		return nil, false
	}
	n = r.typedNode(v.Type, value, func(n *grammar.Node) ([]byte, error) {
		b := make([]byte, v.Size)
		if err := globalText(obj.BTF, v.Type, name, n, map[string]string{}); err != nil {
			return nil, err
		}
		var none *values
		return b, none.encode(obj.BTF, btf.Field{Type: v.Type}, n, b)
	})
	return n, n.Tag == ""
}

// typedNode returns a value as its type has it, if it means the same bytes.
func (r *Runner) typedNode(id btf.ID, value []byte, encode func(*grammar.Node) ([]byte, error)) *grammar.Node {
	spec := r.m.Linked().Object.BTF
	if spec == nil || id == 0 {
		return grammar.HexBytes(value)
	}
	s := &skeleton{m: r.m, spec: spec}
	if n := oneNode(s.typed(id, value)); n != nil && !anyIn(n) {
		if b, err := encode(n); err == nil && bytes.Equal(b, value) {
			return n
		}
	}
	return grammar.HexBytes(value)
}

// anyIn reports whether a node leaves something open.
func anyIn(n *grammar.Node) bool {
	if n.Tag == "!any" {
		return true
	}
	for _, item := range n.Items {
		if anyIn(item) {
			return true
		}
	}
	for _, p := range n.Pairs {
		if anyIn(p.Value) {
			return true
		}
	}
	return false
}

// oneNode parses a value that this package wrote.
func oneNode(text string) *grammar.Node {
	root, err := grammar.ParseYAML("value", []byte("v: "+text+"\n"))
	if err != nil || root.Kind != grammar.Mapping || len(root.Pairs) != 1 {
		return nil
	}
	return root.Pairs[0].Value
}
