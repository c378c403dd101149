package scenario

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// builder creates the kernel objects of a file.
type builder struct {
	*values
	defs    map[string]grammar.Pair
	visited map[string]grammar.Pos // definitions being followed through like and aliases
}

func newBuilder(k *kernel.Kernel, f *File) *builder {
	b := &builder{values: &values{k: k, objects: map[string]*object.Object{}, failed: maps.Clone(f.bad)}, defs: map[string]grammar.Pair{}, visited: map[string]grammar.Pos{}}
	if b.failed == nil {
		b.failed = map[string]bool{}
	}
	b.build = b.built
	for _, p := range f.Objects {
		b.defs[p.Key.Text] = p
		b.names = append(b.names, p.Key.Text)
	}
	return b
}

// all creates every object first and then sets their fields, so that objects may refer to each
// other.
func (b *builder) all() error {
	var wrong grammar.Mistakes
	for _, name := range b.names {
		if b.failed[name] {
			continue // reported by the object that refers to it
		}
		_, err := b.create(name, b.defs[name].Key)
		wrong.Add(err)
	}
	for _, name := range b.names {
		if b.objects[name] != nil {
			wrong.Add(b.fill(name))
		}
	}
	if err := wrong.Err(); err != nil {
		return err
	}
	return b.k.Err()
}

// create creates the object of a definition, without fields. from is the node that refers to it.
func (b *builder) create(name string, from *grammar.Node) (*object.Object, error) {
	if o := b.objects[name]; o != nil {
		return o, nil
	}
	if b.failed[name] {
		return nil, &grammar.Error{Pos: from.Pos, Text: "object " + name + " could not be made", Follows: true}
	}
	def, ok := b.defs[name]
	if !ok {
		return nil, from.Unknown("object", name, b.names)
	}
	if _, again := b.visited[name]; again {
		return nil, from.Errorf("cyclic reference: object %s is defined by itself", name)
	}
	b.visited[name] = def.Key.Pos
	defer delete(b.visited, name)
	n := def.Value
	var o *object.Object
	var err error
	switch {
	case isRef(n):
		o, err = b.create(strings.TrimPrefix(n.Text, "$"), n)
	case n.Tag != "":
		o, err = b.make(name, n)
	default:
		typ, like := n.Get("type"), n.Get("like")
		switch {
		case like != nil && typ != nil:
			b.failed[name] = true
			return nil, typ.Errorf("type and like cannot be combined: the object has the type of %s", like.Text)
		case like != nil:
			if !isRef(like) {
				b.failed[name] = true
				return nil, like.Errorf("like: want the $name of another object, got %s", like.Describe())
			}
			var other *object.Object
			if other, err = b.create(strings.TrimPrefix(like.Text, "$"), like); err == nil {
				o, err = b.k.NewObjectOf(other.Spec(), name, other.Type())
			}
		case typ == nil:
			b.failed[name] = true
			e := n.Errorf("object %s needs a type, such as type: task_struct", name)
			e.Follows = n.Lost
			return nil, e
		default:
			o, err = b.typed(name, typ)
		}
	}
	if err != nil {
		b.failed[name] = true
		return nil, n.Placed("object "+name, err)
	}
	b.objects[name] = o
	return o, nil
}

func (b *builder) typed(role string, typ *grammar.Node) (*object.Object, error) {
	name, err := typ.NonEmpty("type")
	if err != nil {
		return nil, err
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "struct "), "union ")
	o, err := b.k.NewObjectNamed(role, name)
	var te *object.TypeError
	if errors.As(err, &te) {
		return nil, typ.Unknown("type", name, typeNames(b.k.BTF(), name))
	}
	return o, err
}

// typeNames returns the named structs and unions of a kernel whose names resemble like; names much
// longer or shorter are left out.
func typeNames(spec *btf.Spec, like string) []string {
	if spec == nil {
		return nil
	}
	var names []string
	for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
		if k := spec.Kind(id); k != btf.KindStruct && k != btf.KindUnion {
			continue
		}
		if n := spec.Name(id); n != "" && len(n) <= len(like)+6 && len(n)+6 >= len(like) {
			names = append(names, n)
		}
	}
	return names
}

// fill sets the fields of a definition, starting with those of the object named by like.
func (b *builder) fill(name string) error {
	def := b.defs[name]
	if isRef(def.Value) {
		return nil
	}
	return b.fillFrom(b.objects[name], def.Value)
}

func (b *builder) fillFrom(o *object.Object, n *grammar.Node) error {
	if like := n.Get("like"); like != nil && n.Tag == "" && b.objects[strings.TrimPrefix(like.Text, "$")] != nil {
		if err := b.fillFrom(o, b.followed(strings.TrimPrefix(like.Text, "$"))); err != nil {
			return err
		}
	}
	known := []string{"type", "like"}
	if n.Tag != "" {
		known = makers()[n.Tag].keys()
	}
	var wrong grammar.Mistakes
	if n.Tag != "" && makers()[n.Tag].sets != nil {
		wrong.Add(b.setOnce(o, n, makers()[n.Tag]))
	} else {
		wrong.Add(b.set(o, "", n, known))
	}
	if fill := makers()[n.Tag].fill; fill != nil && n.Tag != "" {
		wrong.Add(fill(b, o, n))
	}
	return wrong.Err()
}

// setOnce sets the fields of an object that a maker made, and refuses those that change what a key
// of the maker set.
func (b *builder) setOnce(o *object.Object, n *grammar.Node, m maker) error {
	type made struct {
		key, path string
		bytes     []byte
	}
	var before []made
	for _, key := range m.own {
		if v := n.Get(key); v != nil {
			for _, path := range m.sets(b, key, v) {
				if _, data, err := o.Peek(path); err == nil && data != nil {
					before = append(before, made{key, path, bytes.Clone(data)})
				}
			}
		}
	}
	var wrong grammar.Mistakes
	for _, p := range n.Pairs {
		if !wrong.Add(b.set(o, "", &grammar.Node{Pos: n.Pos, Kind: grammar.Mapping, Pairs: []grammar.Pair{p}}, m.own)) {
			continue
		}
		for _, was := range before {
			if _, data, err := o.Peek(was.path); err == nil && !bytes.Equal(data, was.bytes) {
				wrong.Add(p.Key.Errorf("%s and %s set %s to different values: leave one of them out", was.key, p.Key.Text, was.path))
			}
		}
	}
	return wrong.Err()
}

// followed resolves aliases to a definition. They have no cycles, since create has followed them.
func (b *builder) followed(name string) *grammar.Node {
	n := b.defs[name].Value
	for isRef(n) {
		n = b.defs[strings.TrimPrefix(n.Text, "$")].Value
	}
	return n
}

// set sets the fields of an object below path to the values of a mapping. skip lists keys that are
// not fields.
func (b *builder) set(o *object.Object, path string, n *grammar.Node, skip []string) error {
	var wrong grammar.Mistakes
	for _, p := range n.Pairs {
		if slices.Contains(skip, p.Key.Text) {
			continue
		}
		names, optional := option(p.Key.Text)
		chosen := ""
		for _, name := range names {
			if full := joinPath(path, name); o.Has(full) {
				chosen = full
				break
			}
		}
		if chosen == "" {
			if optional {
				continue
			}
			chosen = joinPath(path, names[0])
		}
		wrong.Add(b.put(o, chosen, p.Key, p.Value))
	}
	return wrong.Err()
}

// put sets one field.
func (b *builder) put(o *object.Object, path string, key, n *grammar.Node) error {
	switch {
	case n.Tag == "!list":
		return b.list(o, path, n)
	case n.Tag == "" && n.Kind == grammar.Mapping && len(n.Pairs) > 0:
		if !o.Has(path) {
			break
		}
		return b.set(o, path, n, nil)
	case n.Tag == "" && n.Kind == grammar.Sequence && !grammar.Scalars(n):
		var wrong grammar.Mistakes
		for i, item := range n.Items {
			wrong.Add(b.put(o, path+"["+itoa(i)+"]", item, item))
		}
		return wrong.Err()
	}
	var x any
	if n.Kind != grammar.Mapping || n.Tag != "" {
		var err error
		if x, err = b.forKernel(o.Role()+"."+path, n); err != nil {
			return err
		}
	} else {
		x = map[string]any{}
	}
	if raw, ok := x.([]byte); ok {
		if f, _, err := o.Peek(path); err == nil && f.Spec != nil && f.Spec.SkipMods(f.Type).Kind == btf.KindPtr {
			mem, err := b.k.NewBytes(o.Role()+"."+path, raw)
			if err != nil {
				return n.Wrap(path, err)
			}
			x = mem
		}
	}
	err := o.Set(path, x)
	if i, ok := n.Macro(); ok && err != nil && o.Set(path, i.Int64()) == nil {
		return nil
	}
	if err != nil {
		at := n
		if errors.Is(err, object.ErrNoField) || errors.Is(err, object.ErrBadPath) {
			at = key
		}
		return at.Wrap("", err)
	}
	return nil
}

// list links a list_head with the members of objects: {via: sibling, of: [$a, $b]}.
func (b *builder) list(o *object.Object, path string, n *grammar.Node) error {
	via, of := n.Get("via"), n.Get("of")
	if n.Kind != grammar.Mapping || via == nil || of == nil || of.Kind != grammar.Sequence {
		return n.Errorf("!list: want {via: member, of: [$a, $b]}, got %s", n.Describe())
	}
	head, err := o.FieldAddr(path)
	if err != nil {
		return n.Wrap("", err)
	}
	type link struct {
		o    *object.Object
		path string
		addr uint64
		at   *grammar.Node
	}
	ring := []link{{o, path, head, n}}
	for _, item := range of.Items {
		if !isRef(item) {
			return item.Errorf("!list: want $name, got %s", item.Describe())
		}
		e, err := b.ref(item)
		if err != nil {
			return err
		}
		addr, err := e.FieldAddr(via.Text)
		if err != nil {
			return via.Wrap("", err)
		}
		ring = append(ring, link{e, via.Text, addr, item})
	}
	for i, l := range ring {
		next, prev := ring[(i+1)%len(ring)], ring[(i+len(ring)-1)%len(ring)]
		if err := errors.Join(l.o.SetUint(l.path+".next", next.addr), l.o.SetUint(l.path+".prev", prev.addr)); err != nil {
			return l.at.Wrap("", err)
		}
	}
	return nil
}
