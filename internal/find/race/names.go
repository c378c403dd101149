package race

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/find/race/order"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// field names bytes by variable or by map and member: "hits.count", "flows[0].packets". Those of
// arrays, of which an outcome has many, have the same name in all orders.
func (s *system) field(t order.Touch) string {
	at := order.Touch{Addr: t.Addr, Size: t.Size}
	if name, ok := s.fields[at]; ok {
		return name
	}
	name := s.fieldNow(t)
	if r := s.memory.Find(t.Addr); r != nil {
		if m, ok := r.Owner.(maps.Map); ok && (m.Spec().Type == uapi.MapTypeArray || m.Spec().Type == uapi.MapTypePercpuArray) {
			s.fields[at] = name
		}
	}
	return name
}

// fieldNow names bytes by what is there now.
func (s *system) fieldNow(t order.Touch) string {
	r := s.memory.Find(t.Addr)
	if r == nil {
		return fmt.Sprintf("%#x", t.Addr)
	}
	m, ok := r.Owner.(maps.Map)
	if !ok {
		return s.describe(t.Addr)
	}
	off := uint32(t.Addr - r.Base)
	spec := m.Spec()
	for _, def := range s.m.Linked().Maps {
		if b, ok := s.m.Map(def); !ok || b != m || len(def.Vars) == 0 {
			continue
		}
		for _, v := range def.Vars {
			if off >= v.Off && off < v.Off+v.Size {
				name := v.Name
				if v.Size > uint32(t.Size) && spec.BTF != nil && v.Type != 0 {
					name += member(spec.BTF, v.Type, off-v.Off, int(t.Size))
				}
				return name
			}
		}
	}
	base := r.Describe(t.Addr)
	base = strings.TrimPrefix(strings.TrimPrefix(base, "map value "), "global data ")
	in := uint64(off)
	if at, o, ok := r.Elem(t.Addr); ok {
		finder, finds := m.(maps.KeyFinder)
		if in = o; isHash(spec.Type) && finds {
			if key, _, ok := finder.KeyOf(t.Addr); ok {
				base = s.elementOf(m, key)
			}
		} else if spec.Type == uapi.MapTypePercpuArray { // the values of all CPUs are one array
			base = fmt.Sprintf("%s[%d]", spec.Name, at/uint64(s.m.Kernel().CPUs()))
		}
	}
	if spec.BTF != nil && spec.ValueType != 0 && uint64(spec.ValueSize) > t.Size {
		return base + member(spec.BTF, spec.ValueType, uint32(in), int(t.Size))
	}
	if in != 0 {
		base += fmt.Sprintf("+%d", in)
	}
	return base
}

// member names the member of a type at an offset: ".count".
func member(spec *btf.Spec, typ btf.ID, off uint32, size int) string {
	name, _, _ := spec.FieldAt(typ, off, size)
	switch {
	case name == "" && off == 0:
		return ""
	case name == "":
		return fmt.Sprintf("+%d", off)
	case name[0] == '[':
		return name
	}
	return "." + name
}

// elementOf names an element of a map: "flows[192.0.2.1]".
func (s *system) elementOf(m maps.Map, key []byte) string {
	for _, def := range s.m.Linked().Maps {
		if b, ok := s.m.Map(def); ok && b == m {
			return s.element(def, key, -1).name
		}
	}
	return fmt.Sprintf("%s[%x]", m.Spec().Name, key)
}
