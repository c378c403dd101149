package scenario

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// table accesses one map of a machine in terms of nodes.
type table struct {
	v    *values
	m    *machine.Machine
	def  *loader.Map
	b    maps.Map
	spec *btf.Spec
}

// table finds the map that a key names.
func (r *Runner) table(key *grammar.Node) (*table, error) {
	m := r.m
	var names []string
	for _, def := range m.Linked().Maps {
		if def.DataKind == loader.DataNone {
			names = append(names, def.Name)
		}
	}
	b, ok := m.MapByName(key.Text)
	def, known := m.Linked().Map(key.Text)
	switch {
	case !known || def.DataKind != loader.DataNone:
		return nil, key.Unknown("map", key.Text, names)
	case !ok:
		return nil, key.Errorf("map %s of type %v is not simulated", key.Text, def.Type)
	}
	return &table{r.b.values, m, def, b, m.Linked().Object.BTF}, nil
}

// key encodes a key. An LPM key may be written as a prefix, "10.0.0.0/8".
func (t *table) key(n *grammar.Node) ([]byte, error) {
	if t.local() {
		return t.owner(n)
	}
	s := t.b.Spec()
	if s.Type == uapi.MapTypeLPMTrie && n.Kind == grammar.Scalar {
		if p, err := netip.ParsePrefix(n.Text); err == nil {
			addr := p.Addr().AsSlice()
			if len(addr) != int(s.KeySize)-4 {
				return nil, n.Errorf("%s: the map's keys have %d bytes of data, the address has %d", n.Text, s.KeySize-4, len(addr))
			}
			k := make([]byte, s.KeySize)
			t.m.Memory().ByteOrder().PutUint32(k, uint32(p.Bits()))
			copy(k[4:], addr)
			return k, nil
		}
	}
	// A struct key is written as one string: "{pid: 1, cpu: 2}".
	if n.Kind == grammar.Scalar && strings.HasPrefix(n.Text, "{") && t.spec != nil && s.KeyType != 0 {
		k := make([]byte, s.KeySize)
		if err := t.spec.EncodeText(s.KeyType, n.Text, k); err != nil {
			return nil, n.Wrap("", err)
		}
		return k, nil
	}
	k, err := t.v.bytesOf(t.spec, s.KeyType, int(s.KeySize), n)
	if err != nil {
		return nil, n.Wrap("key of "+t.def.Name, err)
	}
	return k, nil
}

func (t *table) value(n *grammar.Node) ([]byte, error) {
	b, err := t.v.bytesOf(t.spec, t.b.Spec().ValueType, int(t.b.Spec().ValueSize), n)
	if err != nil {
		return nil, n.Wrap("value of "+t.def.Name, err)
	}
	return b, nil
}

// set stores contents in the map before the runs.
func (t *table) set(n *grammar.Node) error {
	switch b := t.b.(type) {
	case maps.UserRing:
		return t.each(n, func(item *grammar.Node) error {
			sample, err := t.sample(item)
			if err != nil {
				return err
			}
			return t.errno(item, b.Push(sample))
		})
	case maps.Queue:
		return t.each(n, func(item *grammar.Node) error {
			v, err := t.value(item)
			if err != nil {
				return err
			}
			return t.errno(item, b.Push(v, 0))
		})
	}
	if n.Kind == grammar.Sequence && t.def.Type != uapi.MapTypeHash {
		var wrong grammar.Mistakes
		for i, item := range n.Items {
			wrong.Add(t.element(&grammar.Node{Pos: item.Pos, Text: itoa(i)}, item))
		}
		return wrong.Err()
	}
	pairs, err := n.Members("map " + t.def.Name)
	if err != nil {
		return err
	}
	seen := map[string]*grammar.Node{}
	var wrong grammar.Mistakes
	for _, p := range pairs {
		if p.Key.Text == innerKey && t.def.OfMaps() {
			continue // the loader has the definition
		}
		k, err := t.key(p.Key)
		if !wrong.Add(err) {
			continue
		}
		if first := seen[string(k)]; first != nil {
			wrong.Add(p.Key.Errorf("key %s of %s was already set at line %d, as %s", p.Key.Text, t.def.Name, first.Line, first.Text))
			continue
		}
		seen[string(k)] = p.Key
		wrong.Add(t.element(p.Key, p.Value))
	}
	return wrong.Err()
}

func (t *table) each(n *grammar.Node, do func(*grammar.Node) error) error {
	if n.Kind != grammar.Sequence {
		return n.Errorf("map %s of type %v: want a list, got %s", t.def.Name, t.def.Type, n.Describe())
	}
	var wrong grammar.Mistakes
	for _, item := range n.Items {
		wrong.Add(do(item))
	}
	return wrong.Err()
}

func (t *table) errno(n *grammar.Node, e uapi.Errno) error {
	if e == 0 {
		return nil
	}
	return n.Wrap("map "+t.def.Name, e)
}

// sample encodes a record, given as bytes or as {as: TYPE, members}.
func (t *table) sample(n *grammar.Node) ([]byte, error) {
	if n.Kind != grammar.Mapping {
		x, err := plainValue(n)
		if err != nil {
			return nil, err
		}
		switch x := x.(type) {
		case []byte:
			return x, nil
		case string:
			return []byte(x), nil
		}
		return nil, n.Errorf("want {as: TYPE, members}, a string or !hex, got %s", n.Describe())
	}
	id, rest, err := recordType(t.spec, n)
	if err != nil {
		return nil, err
	}
	size, err := t.spec.Sizeof(id)
	if err != nil {
		return nil, n.Wrap("", err)
	}
	b := make([]byte, size)
	return b, t.v.encode(t.spec, btf.Field{Type: id}, rest, b)
}

// element stores one element.
func (t *table) element(key, n *grammar.Node) error {
	k, err := t.key(key)
	if err != nil {
		return err
	}
	switch b := t.b.(type) {
	case maps.ProgArray:
		if n.Kind != grammar.Scalar {
			return n.Errorf("map %s: want the name of a program, got %s", t.def.Name, n.Describe())
		}
		if err := t.m.SetProg(b, t.m.Memory().ByteOrder().Uint32(k), n.Text); err != nil {
			return unknownIf(n, err, "program", n.Text, t.m.Names())
		}
		return nil
	case maps.XSKMap:
		if t.def.Type == uapi.MapTypeReuseportSockarray {
			return t.shared(b, t.m.Memory().ByteOrder().Uint32(k), n)
		}
		if t.def.Type != uapi.MapTypeXskmap {
			break
		}
		queue, err := n.Int("queue of an AF_XDP socket", 0, 1<<31-1)
		if err != nil {
			return err
		}
		return t.errno(n, b.SetSocket(t.m.Memory().ByteOrder().Uint32(k), uint32(queue)))
	case maps.SockMap:
		s, err := t.sock(n)
		if err != nil {
			return err
		}
		return t.errno(n, b.SetSock(k, s, 0))
	case maps.OuterMap:
		if n.Kind == grammar.Mapping || n.Kind == grammar.Sequence {
			inner, err := t.newInner(k, n)
			if err != nil {
				return err
			}
			return t.errno(n, b.SetInner(k, inner, 0))
		}
		inner, ok := t.m.MapByName(n.Text)
		if !ok || n.Kind != grammar.Scalar {
			var names []string
			for _, def := range t.m.Linked().Maps {
				names = append(names, def.Name)
			}
			return n.Unknown("map", n.Text, names)
		}
		return t.errno(n, b.SetInner(k, inner, 0))
	}
	return t.store(k, n)
}

// unknownIf turns ErrNoProgram into an error that lists similar names, and adds the position to
// other errors.
func unknownIf(n *grammar.Node, err error, what, name string, names []string) error {
	if slices.Contains(names, name) {
		return n.Wrap("", err)
	}
	return n.Unknown(what, name, names)
}

func (t *table) store(k []byte, n *grammar.Node) error {
	perCPU := t.b.Spec().Type.PerCPU()
	if n.Tag == "!percpu" {
		if !perCPU || n.Kind != grammar.Sequence {
			return n.Errorf("!percpu needs a per-CPU map and a list of values")
		}
		cpus := t.m.Kernel().CPUs()
		if len(n.Items) > cpus {
			return n.Errorf("%d values for %d CPUs", len(n.Items), cpus)
		}
		size := maps.UserValueSize(t.b) / cpus
		all := make([]byte, size*cpus)
		for i, item := range n.Items {
			v, err := t.value(item)
			if err != nil {
				return err
			}
			copy(all[i*size:], v)
		}
		return t.errno(n, t.b.Update(maps.AllCPUs, k, all, 0))
	}
	v, err := t.value(n)
	if err != nil {
		return err
	}
	if perCPU {
		cpus := t.m.Kernel().CPUs()
		size := maps.UserValueSize(t.b) / cpus
		all := make([]byte, size*cpus)
		for i := range cpus {
			copy(all[i*size:], v)
		}
		v = all
	}
	return t.errno(n, t.b.Update(maps.AllCPUs, k, v, 0))
}

// recordType splits {as: TYPE, members} into the type and the members.
func recordType(spec *btf.Spec, n *grammar.Node) (btf.ID, *grammar.Node, error) {
	as := n.Get("as")
	if as == nil {
		return 0, n, n.Errorf("the record's size does not determine its type: add as: TYPE")
	}
	if spec == nil {
		return 0, n, as.Errorf("the object has no BTF, so records have no types")
	}
	name := strings.TrimPrefix(as.Text, "struct ")
	id, ok := findType(spec, name)
	if !ok {
		return 0, n, as.Unknown("type", name, localTypes(spec))
	}
	rest := *n
	rest.Pairs = nil
	for _, p := range n.Pairs {
		if p.Key.Text != "as" {
			rest.Pairs = append(rest.Pairs, p)
		}
	}
	return id, &rest, nil
}

func findType(spec *btf.Spec, name string) (btf.ID, bool) {
	for _, k := range []btf.Kind{btf.KindStruct, btf.KindUnion, btf.KindTypedef, btf.KindInt, btf.KindEnum} {
		if t, ok := spec.Find(k, name); ok {
			return t.ID, true
		}
	}
	return 0, false
}

// localTypes returns the named structs of an object.
func localTypes(spec *btf.Spec) []string {
	var names []string
	for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
		if k := spec.Kind(id); k == btf.KindStruct && spec.Name(id) != "" {
			names = append(names, spec.Name(id))
		}
	}
	return names
}
