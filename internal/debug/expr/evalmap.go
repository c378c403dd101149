package expr

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// mapElement evaluates m[KEY], on the program's CPU for per-CPU maps, or m[KEY, CPU].
func (ev *Evaluator) mapElement(x *Value, keys []Node) (*Value, error) {
	if len(keys) > 2 {
		return nil, fmt.Errorf("%s takes a key, and for per-CPU maps a CPU after it", x.Name)
	}
	if IsSender(x.Map) && len(keys) == 1 {
		n, _, err := ev.evalInt(keys[0])
		if err != nil {
			return nil, err
		}
		return ev.RecordElement(x, n)
	}
	key, text, err := ev.mapKey(x, keys[0])
	if err != nil {
		return nil, err
	}
	if _, outer := x.Map.(maps.OuterMap); ev.checking && !outer {
		return &Value{Type: ev.ValueType(x.Map), Data: make([]byte, x.Map.Spec().ValueSize)}, nil
	}
	cpu := ev.m.Thread().CPU
	if len(keys) == 2 {
		n, _, err := ev.evalInt(keys[1])
		if err != nil {
			return nil, err
		}
		cpu = int(n)
	}
	ev.Looking()
	if outer, ok := x.Map.(maps.OuterMap); ok {
		inner, ok := outer.Inner(key)
		if !ok {
			return nil, &absentError{what: fmt.Sprintf("%s has no map at %s", x.Name, text())}
		}
		return &Value{Kind: WholeMap, Map: inner, Name: fmt.Sprintf("%s[%s]", x.Name, text())}, nil
	}
	if ev.InPlace && isLRU(x.Map) { // a program's lookup would make the element a recently used one
		return ev.userElement(x, key, text, cpu)
	}
	addr, errno := x.Map.Lookup(cpu, key)
	if per, ok := x.Map.(maps.PercpuLookup); ok && x.Map.Spec().Type.PerCPU() {
		addr, errno = per.LookupCPU(key, cpu)
	} else if len(keys) == 2 {
		return nil, fmt.Errorf("%s (%v) has one value for all CPUs", x.Name, x.Map.Spec().Type)
	}
	switch {
	case errno == uapi.ENOENT, errno == 0 && addr == 0:
		return nil, ev.noElement(x, key, text)
	case errno != 0:
		return nil, fmt.Errorf("%s[%s]: %v (a %v of %d elements)", x.Name, text(), errno, x.Map.Spec().Type, x.Map.Spec().MaxEntries)
	}
	return ev.At(ev.ValueType(x.Map), addr)
}

func (ev *Evaluator) noElement(x *Value, key []byte, text func() string) error {
	return &absentError{
		what: fmt.Sprintf("%s has no element %s", x.Name, text()),
		slot: &Value{Kind: aMapSlot, Map: x.Map, key: key, Name: x.Name, Type: ev.ValueType(x.Map)},
	}
}

func isLRU(m maps.Map) bool {
	t := m.Spec().Type
	return t == uapi.MapTypeLRUHash || t == uapi.MapTypeLRUPercpuHash
}

// userElement returns a copy of an element as user space reads it, of one CPU if there are several.
func (ev *Evaluator) userElement(x *Value, key []byte, text func() string, cpu int) (*Value, error) {
	data, errno := maps.UserLookup(x.Map, key, nil, 0)
	if errno != 0 || data == nil && errno == 0 {
		return nil, ev.noElement(x, key, text)
	}
	size := int(x.Map.Spec().ValueSize)
	if at := cpu * ((size + 7) &^ 7); x.Map.Spec().Type.PerCPU() && at+size <= len(data) {
		data = data[at:]
	}
	return &Value{Type: ev.ValueType(x.Map), Data: data[:min(size, len(data))]}, nil
}

// mapKey encodes a key: a number, a value of the key's type, a string, or {member = value}.
func (ev *Evaluator) mapKey(x *Value, n Node) (key []byte, text func() string, err error) {
	t := ev.KeyType(x.Map)
	key = make([]byte, x.Map.Spec().KeySize)
	if len(key) == 0 {
		return nil, nil, fmt.Errorf("%s (%v) has no keys", x.Name, x.Map.Spec().Type)
	}
	if b, ok := n.(*braceNode); ok {
		return key, func() string { return b.text }, ev.EncodeText(t, b.text, key)
	}
	v, err := ev.EvalNode(n)
	if err != nil {
		return nil, nil, err
	}
	if err := ev.encode(v, t, key); err != nil {
		return nil, nil, fmt.Errorf("key of %s: %w", x.Name, err)
	}
	return key, func() string { return ev.Format(v, FormatOptions{}) }, nil
}
