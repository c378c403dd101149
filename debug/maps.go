package debug

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
)

// mapValue is a map as a whole.
func (s *Session) mapValue(def *loader.Map) (*Value, error) {
	m, ok := s.m.Map(def)
	if !ok {
		return nil, &UnavailableError{"map " + def.Name, fmt.Sprintf("type %v is not simulated", def.Type)}
	}
	return &Value{kind: aMap, m: m, name: def.Name}, nil
}

// sectionBase is the address of a data section's bytes.
func (s *Session) sectionBase(def *loader.Map) (uint64, error) {
	m, ok := s.m.Map(def)
	if !ok {
		return 0, fmt.Errorf("section %s is not simulated", def.Section)
	}
	if d, ok := m.(maps.ValueBase); ok {
		addr, errno := d.DirectValue(0)
		if errno != 0 {
			return 0, errno
		}
		return addr + def.ArenaOffset, nil
	}
	addr, errno := m.Lookup(0, make([]byte, 4))
	if errno != 0 {
		return 0, errno
	}
	return addr, nil
}

// keyType and valueType of a map; values without BTF are bytes.
func (s *Session) keyType(m maps.Map) Type {
	sp := m.Spec()
	if sp.BTF != nil && sp.KeyType != 0 {
		return Type{Spec: sp.BTF, ID: sp.KeyType}
	}
	return s.bytesType(int(sp.KeySize))
}

func (s *Session) valueType(m maps.Map) Type {
	sp := m.Spec()
	if sp.BTF != nil && sp.ValueType != 0 {
		return Type{Spec: sp.BTF, ID: sp.ValueType}
	}
	return s.bytesType(int(sp.ValueSize))
}

// bytesType is an unsigned number of that many bytes, or an array of bytes.
func (s *Session) bytesType(n int) Type {
	switch n {
	case 1:
		return s.basic.named("unsigned char")
	case 2:
		return s.basic.named("unsigned short")
	case 4:
		return s.basic.named("unsigned int")
	case 8:
		return s.basic.named("unsigned long long")
	}
	t := s.basic.named("unsigned char")
	t.Elems = n
	return t
}

// mapElement is m[KEY], of per-CPU maps on the program's CPU, or m[KEY, CPU].
func (s *Session) mapElement(x *Value, keys []node) (*Value, error) {
	if len(keys) > 2 {
		return nil, fmt.Errorf("%s takes a key, and for per-CPU maps a CPU after it", x.name)
	}
	if isSender(x.m) && len(keys) == 1 {
		n, _, err := s.evalInt(keys[0])
		if err != nil {
			return nil, err
		}
		return s.recordElement(x, n)
	}
	key, text, err := s.mapKey(x, keys[0])
	if err != nil {
		return nil, err
	}
	cpu := s.m.Thread().CPU
	if len(keys) == 2 {
		n, _, err := s.evalInt(keys[1])
		if err != nil {
			return nil, err
		}
		cpu = int(n)
	}
	s.looking()
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
			slot: &Value{kind: aMapSlot, m: x.m, key: key, name: x.name, Type: s.valueType(x.m)},
		}
	case errno != 0:
		return nil, fmt.Errorf("%s[%s]: %v (a %v of %d elements)", x.name, text, errno, x.m.Spec().Type, x.m.Spec().MaxEntries)
	}
	return s.at(s.valueType(x.m), addr)
}

// mapKey encodes a key: a number, a value of the key's type, text, or {member = value}.
func (s *Session) mapKey(x *Value, n node) (key []byte, text string, err error) {
	t := s.keyType(x.m)
	key = make([]byte, x.m.Spec().KeySize)
	if len(key) == 0 {
		return nil, "", fmt.Errorf("%s (%v) has no keys", x.name, x.m.Spec().Type)
	}
	if b, ok := n.(*braceNode); ok {
		return key, b.text, s.encodeText(t, b.text, key)
	}
	v, err := s.eval(n)
	if err != nil {
		return nil, "", err
	}
	if err := s.encode(v, t, key); err != nil {
		return nil, "", fmt.Errorf("key of %s: %w", x.name, err)
	}
	return key, s.Format(v, FormatOptions{}), nil
}

// encodeText writes a value given as text.
func (s *Session) encodeText(t Type, text string, dst []byte) error {
	if t.Ptr > 0 || t.Elems > 0 {
		return fmt.Errorf("a value of type %s cannot be written in braces", t)
	}
	return t.Spec.EncodeText(t.ID, text, dst)
}

// encode writes a value as another type.
func (s *Session) encode(v *Value, t Type, dst []byte) error {
	switch {
	case v.isText:
		if el, ok := t.elem(); ok && t.kind() == btf.KindArray && len(v.text) <= len(dst) && s.stride(el) == 1 {
			clear(dst)
			copy(dst, v.text)
			return nil
		}
		if t.Ptr > 0 || t.Elems > 0 {
			return fmt.Errorf("text does not fit %s", t)
		}
		return t.Spec.EncodeValue(t.ID, v.text, dst)
	case t.isComposite() || t.kind() == btf.KindArray:
		if len(v.Data) == len(dst) && v.bitSize == 0 {
			copy(dst, v.Data)
			return nil
		}
		if n, _, err := s.asInt(v); err == nil && len(dst) <= 8 && !v.Type.isComposite() {
			return s.putFitting(dst, n, t)
		}
		return fmt.Errorf("a value of type %s does not fit %s", v.Type, t)
	}
	n, signed, err := s.asInt(v)
	if err != nil {
		return err
	}
	if k := t.kind(); k.IsEnum() || k == btf.KindInt {
		if signed && int64(n) < 0 {
			return t.Spec.EncodeValue(t.ID, int64(n), dst)
		}
		return t.Spec.EncodeValue(t.ID, n, dst)
	}
	return s.putFitting(dst, n, t)
}

func (s *Session) putFitting(dst []byte, n uint64, t Type) error {
	switch len(dst) {
	case 1, 2, 4:
		if n>>(8*len(dst)) != 0 && int64(n)>>(8*len(dst)-1) != -1 {
			return fmt.Errorf("%d does not fit %s", n, t)
		}
	case 8:
	default:
		return fmt.Errorf("a number does not fit %s", t)
	}
	s.putUint(dst, n)
	return nil
}

// MapEntries is the contents of a map as text, one line an element, at most most of them; more says how many are left.
func (s *Session) MapEntries(v *Value, most int) (lines []string, more int) {
	return s.mapEntries(v, most, FormatOptions{})
}

// mapEntries is MapEntries with values in a chosen form.
func (s *Session) mapEntries(v *Value, most int, opt FormatOptions) (lines []string, more int) {
	s.looking()
	if isSender(v.m) {
		if def := s.defOf(v.m); def != nil {
			return s.records(def.Name, s.recordsOf(def), most)
		}
		return nil, 0
	}
	kt, vt := s.keyType(v.m), s.valueType(v.m)
	for _, e := range v.m.Entries() {
		if len(lines) == most {
			more++
			continue
		}
		key := s.Format(&Value{Type: kt, Data: e.Key}, FormatOptions{})
		if len(e.Key) == 0 {
			key = ""
		}
		var value string
		switch {
		case e.Ref != nil:
			value = s.refText(e.Ref)
		case e.PerCPU != nil:
			parts := make([]string, len(e.PerCPU))
			for cpu, b := range e.PerCPU {
				parts[cpu] = fmt.Sprintf("cpu%d: %s", cpu, s.Format(&Value{Type: vt, Data: b}, opt))
			}
			value = strings.Join(parts, ", ")
		default:
			value = s.Format(&Value{Type: vt, Data: e.Value}, opt)
		}
		lines = append(lines, fmt.Sprintf("[%s] = %s", key, value))
	}
	return lines, more
}

func (s *Session) refText(ref any) string {
	if m, ok := ref.(maps.Map); ok {
		return "map " + m.Spec().Name
	}
	for _, name := range s.m.Names() {
		if s.m.IsProgram(name, ref) {
			return "program " + name
		}
	}
	return fmt.Sprintf("%T", ref)
}

func (s *Session) records(mapName string, list [][]byte, most int) (lines []string, more int) {
	for i, data := range list {
		if i >= most {
			return lines, len(list) - i
		}
		lines = append(lines, s.RecordText(mapName, data))
	}
	return lines, 0
}

// RecordText is a record sent to user space, in the type of the object that fits it.
func (s *Session) RecordText(mapName string, data []byte) string {
	id := s.m.EventTypes().Find(mapName, len(data))
	if spec := s.m.EventTypes().Spec(); id != 0 && spec != nil {
		return spec.TypeString(id) + " " + spec.FormatString(id, data)
	}
	t := s.basic.named("unsigned char")
	t.Elems = len(data)
	return s.Format(&Value{Type: t, Data: data}, FormatOptions{})
}
