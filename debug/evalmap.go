package debug

import (
	"fmt"

	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
)

// mapElement is m[KEY], of per-CPU maps on the program's CPU, or m[KEY, CPU].
func (ev *evaluator) mapElement(x *Value, keys []node) (*Value, error) {
	if len(keys) > 2 {
		return nil, fmt.Errorf("%s takes a key, and for per-CPU maps a CPU after it", x.name)
	}
	if isSender(x.m) && len(keys) == 1 {
		n, _, err := ev.evalInt(keys[0])
		if err != nil {
			return nil, err
		}
		return ev.recordElement(x, n)
	}
	key, text, err := ev.mapKey(x, keys[0])
	if err != nil {
		return nil, err
	}
	cpu := ev.m.Thread().CPU
	if len(keys) == 2 {
		n, _, err := ev.evalInt(keys[1])
		if err != nil {
			return nil, err
		}
		cpu = int(n)
	}
	ev.looking()
	if outer, ok := x.m.(maps.OuterMap); ok {
		inner, ok := outer.Inner(key)
		if !ok {
			return nil, &absentError{what: fmt.Sprintf("%s has no map at %s", x.name, text)}
		}
		return &Value{kind: aMap, m: inner, name: fmt.Sprintf("%s[%s]", x.name, text)}, nil
	}
	addr, errno := x.m.Lookup(cpu, key)
	if per, ok := x.m.(maps.PercpuLookup); ok && x.m.Spec().Type.PerCPU() {
		addr, errno = per.LookupCPU(key, cpu)
	} else if len(keys) == 2 {
		return nil, fmt.Errorf("%s (%v) has one value for all CPUs", x.name, x.m.Spec().Type)
	}
	switch {
	case errno == uapi.ENOENT, errno == 0 && addr == 0:
		return nil, &absentError{
			what: fmt.Sprintf("%s has no element %s", x.name, text),
			slot: &Value{kind: aMapSlot, m: x.m, key: key, name: x.name, Type: ev.valueType(x.m)},
		}
	case errno != 0:
		return nil, fmt.Errorf("%s[%s]: %v (a %v of %d elements)", x.name, text, errno, x.m.Spec().Type, x.m.Spec().MaxEntries)
	}
	return ev.at(ev.valueType(x.m), addr)
}

// mapKey encodes a key: a number, a value of the key's type, text, or {member = value}.
func (ev *evaluator) mapKey(x *Value, n node) (key []byte, text string, err error) {
	t := ev.keyType(x.m)
	key = make([]byte, x.m.Spec().KeySize)
	if len(key) == 0 {
		return nil, "", fmt.Errorf("%s (%v) has no keys", x.name, x.m.Spec().Type)
	}
	if b, ok := n.(*braceNode); ok {
		return key, b.text, ev.encodeText(t, b.text, key)
	}
	v, err := ev.eval(n)
	if err != nil {
		return nil, "", err
	}
	if err := ev.encode(v, t, key); err != nil {
		return nil, "", fmt.Errorf("key of %s: %w", x.name, err)
	}
	return key, ev.Format(v, FormatOptions{}), nil
}
