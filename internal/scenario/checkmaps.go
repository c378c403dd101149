package scenario

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

func (j *judge) maps(e *Expect) error {
	var wrong grammar.Mistakes
	for _, p := range e.Maps {
		t, err := j.r.table(p.Key)
		if wrong.Add(err) {
			wrong.Add(j.contents(t, p.Value))
		}
	}
	return wrong.Err()
}

// contents compares the elements of one map.
func (j *judge) contents(t *table, n *grammar.Node) error {
	entries := t.b.Entries()
	if _, queue := t.b.(maps.Queue); queue || n.Kind == grammar.Sequence && t.b.Spec().KeySize == 0 {
		return j.queue(t, n, entries)
	}
	var pairs []grammar.Pair
	if n.Kind == grammar.Sequence {
		for i, item := range n.Items {
			pairs = append(pairs, grammar.Pair{Key: &grammar.Node{Pos: item.Pos, Text: itoa(i)}, Value: item})
		}
	} else if n.Kind == grammar.Scalar && n.Tag == "" {
		want, err := n.Int("map "+t.def.Name, 0, 1<<32)
		if err != nil {
			return err
		}
		if !j.Checking {
			j.Expect(n.Pos, "elements of "+t.def.Name, len(entries) == want, itoa(want), itoa(len(entries)))
		}
		return nil
	} else {
		bare := *n
		bare.Tag = ""
		var err error
		if pairs, err = bare.Members("map " + t.def.Name); err != nil {
			return err
		}
	}
	have := map[string]*maps.Entry{}
	for i := range entries {
		have[string(entries[i].Key)] = &entries[i]
	}
	var wrong grammar.Mistakes
	for _, p := range pairs {
		k, err := t.key(p.Key)
		if !wrong.Add(err) || !wrong.Add(j.element(t, p, k, have[string(k)])) {
			continue
		}
		delete(have, string(k))
	}
	if err := wrong.Err(); err != nil {
		return err
	}
	if n.Tag == "!exact" && !j.Checking {
		for _, e := range entries {
			if _, extra := have[string(e.Key)]; extra {
				j.Expect(n.Pos, t.def.Name+"["+t.keyText(e.Key)+"]", false, "no such element", t.entryText(&e))
			}
		}
	}
	return nil
}

func (t *table) keyText(k []byte) string {
	if t.local() {
		return t.ownerText(k)
	}
	if s := t.b.Spec(); t.spec != nil && s.KeyType != 0 {
		return t.spec.FormatString(s.KeyType, k)
	}
	return fmt.Sprintf("%x", k)
}

func (t *table) entryText(e *maps.Entry) string {
	s := t.b.Spec()
	one := func(v []byte) string {
		if t.spec != nil && s.ValueType != 0 {
			return t.spec.FormatString(s.ValueType, v)
		}
		return fmt.Sprintf("%x", v)
	}
	if e.PerCPU == nil {
		return one(e.Value)
	}
	parts := make([]string, len(e.PerCPU))
	for i, v := range e.PerCPU {
		parts[i] = one(v)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// element compares one element; e is nil if the map has no such key.
func (j *judge) element(t *table, p grammar.Pair, k []byte, e *maps.Entry) error {
	what := t.def.Name + "[" + p.Key.Text + "]"
	n := p.Value
	if n.Kind == grammar.Null && n.Tag == "" {
		if !j.Checking {
			got := ""
			if e != nil {
				got = t.entryText(e)
			}
			j.Expect(n.Pos, what, e == nil, "no such element", got)
		}
		return nil
	}
	if outer, ok := t.b.(maps.OuterMap); ok && (n.Kind == grammar.Mapping || n.Kind == grammar.Sequence) {
		in, ok := outer.Inner(k)
		if ok {
			return j.contents(t.inner(k, in), n)
		}
		if !j.Checking {
			j.Expect(p.Key.Pos, what, false, "a map", "none")
		}
		return nil
	}
	size := int(t.b.Spec().ValueSize)
	zero := make([]byte, size)
	perCPU := t.b.Spec().Type.PerCPU()
	if e == nil && isArrayMap(t) && t.arrayIndex(k) {
		// Arrays do not list zero elements.
		e = &maps.Entry{Key: k, Value: zero}
		if perCPU {
			e.Value = nil
			for range t.m.Kernel().CPUs() {
				e.PerCPU = append(e.PerCPU, zero)
			}
		}
	}
	if e == nil && !j.Checking {
		// Check for mistakes anyway.
		if err := j.values(t, n, what, &maps.Entry{Value: zero}, true); err != nil {
			return err
		}
		j.Expect(p.Key.Pos, what, false, "an element", "none")
		return nil
	}
	if e == nil || j.Checking {
		e = &maps.Entry{Value: zero}
		if perCPU {
			e = &maps.Entry{}
			for range t.m.Kernel().CPUs() {
				e.PerCPU = append(e.PerCPU, zero)
			}
		}
	}
	return j.values(t, n, what, e, j.Checking)
}

func isArrayMap(t *table) bool {
	return strings.HasSuffix(t.b.Spec().Type.String(), "array") && t.b.Spec().KeySize == 4
}

func (t *table) arrayIndex(k []byte) bool {
	return len(k) == 4 && t.m.Memory().ByteOrder().Uint32(k) < t.b.Spec().MaxEntries
}

// values compares an element's value. For a per-CPU map that is the value of the run's CPU, of all
// CPUs, or their sum.
func (j *judge) values(t *table, n *grammar.Node, what string, e *maps.Entry, quiet bool) error {
	s := t.b.Spec()
	report := func(ms []mismatch, at *grammar.Node) {
		if !quiet {
			j.mismatches(at, what, ms)
		}
	}
	switch {
	case n.Tag == "!percpu":
		if e.PerCPU == nil || n.Kind != grammar.Sequence || len(n.Items) > len(e.PerCPU) {
			return n.Errorf("!percpu needs a per-CPU map and at most %d values", len(e.PerCPU))
		}
		var wrong grammar.Mistakes
		for i, item := range n.Items {
			ms, err := j.value(t, item, e.PerCPU[i], fmt.Sprintf("%s cpu %d", what, i))
			if wrong.Add(err) {
				report(ms, item)
			}
		}
		return wrong.Err()
	case n.Tag == "!sum":
		if e.PerCPU == nil {
			return n.Errorf("!sum: map %s of type %v has one value for all CPUs", t.def.Name, s.Type)
		}
		ms, err := sums(t, n, e.PerCPU, what)
		if err != nil {
			return err
		}
		report(ms, n)
		return nil
	}
	data := e.Value
	if e.PerCPU != nil {
		data = e.PerCPU[min(j.run.CPU, len(e.PerCPU)-1)]
	}
	ms, err := j.value(t, n, data, what)
	if err != nil {
		return err
	}
	report(ms, n)
	return nil
}

// value compares one value by its type, or as bytes if it has none.
func (j *judge) value(t *table, n *grammar.Node, data []byte, what string) ([]mismatch, error) {
	s := t.b.Spec()
	if t.spec != nil && s.ValueType != 0 {
		return j.r.b.compare(t.spec, btf.Field{Type: s.ValueType}, n, data, what)
	}
	if n.Tag == "!any" {
		return nil, nil
	}
	want, err := j.r.b.bytesOf(nil, 0, int(s.ValueSize), n)
	if err != nil || string(want) == string(data) {
		return nil, err
	}
	return []mismatch{{n.Pos, what, fmt.Sprintf("%x", want), fmt.Sprintf("%x", data)}}, nil
}

// sums compares the sum over all CPUs: of the value if it is a number, otherwise of the named
// members.
func sums(t *table, n *grammar.Node, perCPU [][]byte, what string) ([]mismatch, error) {
	id := t.b.Spec().ValueType
	if t.spec == nil || id == 0 {
		return nil, n.Errorf("!sum: the map's values have no type")
	}
	one := func(f btf.Field, n *grammar.Node, what string) ([]mismatch, error) {
		total := new(big.Int)
		for _, data := range perCPU {
			v, err := t.spec.DecodeField(f, data)
			if err != nil {
				return nil, n.Wrap("", err)
			}
			i, ok := integerOf(v)
			if !ok {
				return nil, n.Errorf("!sum: %s is not a number", t.spec.TypeString(f.Type))
			}
			total.Add(total, i)
		}
		want, err := n.Big("!sum")
		if err != nil || want.Cmp(total) == 0 {
			return nil, err
		}
		return []mismatch{{n.Pos, what, want.String(), total.String()}}, nil
	}
	if n.Kind != grammar.Mapping {
		return one(btf.Field{Type: id}, n, "sum of "+what)
	}
	var out []mismatch
	var wrong grammar.Mistakes
	for _, p := range n.Pairs {
		f, ok, err := fieldOf(t.spec, id, p.Key)
		if !wrong.Add(err) || !ok {
			continue
		}
		ms, err := one(f, p.Value, "sum of "+joinPath(what, f.Path))
		wrong.Add(err)
		out = append(out, ms...)
	}
	return out, wrong.Err()
}

// queue compares a queue or stack in pop order.
func (j *judge) queue(t *table, n *grammar.Node, entries []maps.Entry) error {
	if n.Kind != grammar.Sequence {
		return n.Errorf("map %s of type %v: want a list, got %s", t.def.Name, t.def.Type, n.Describe())
	}
	if !j.Checking && len(entries) != len(n.Items) {
		j.Expect(n.Pos, "elements of "+t.def.Name, false, itoa(len(n.Items)), itoa(len(entries)))
		return nil
	}
	var wrong grammar.Mistakes
	for i, item := range n.Items {
		e := maps.Entry{Value: make([]byte, t.b.Spec().ValueSize)}
		if !j.Checking {
			e = entries[i]
		}
		wrong.Add(j.values(t, item, fmt.Sprintf("%s[%d]", t.def.Name, i), &e, j.Checking))
	}
	return wrong.Err()
}

// globals compares global variables.
func (j *judge) globals(e *Expect) error {
	spec := j.r.m.Linked().Object.BTF
	return eachPair(e.Globals, func(p grammar.Pair) error {
		name, path := p.Key.Text, ""
		if i := strings.IndexAny(name, ".["); i >= 0 {
			if _, _, whole := machine.Variable(j.r.m.Linked(), name); !whole { // names of static variables may contain a dot
				name, path = name[:i], strings.TrimPrefix(name[i:], ".")
			}
		}
		_, v, ok := machine.Variable(j.r.m.Linked(), name)
		if !ok {
			return p.Key.Unknown("global variable", name, machine.VariableNames(j.r.m.Linked()))
		}
		if spec == nil || v.Type == 0 {
			return p.Key.Errorf("global variable %s has no type", name)
		}
		data, err := j.r.m.ReadVariable(name)
		if err != nil {
			return p.Key.Wrap("", err)
		}
		f := btf.Field{Type: v.Type}
		if path != "" {
			key := *p.Key
			key.Text = path
			g, ok, err := fieldOf(spec, v.Type, &key)
			if err != nil {
				return err
			}
			if !ok {
				return nil
			}
			f = g
		}
		ms, err := j.r.b.compare(spec, f, p.Value, data, p.Key.Text)
		if err != nil {
			return err
		}
		if !j.Checking {
			j.mismatches(p.Value, p.Key.Text, ms)
		}
		return nil
	})
}
