package ebpfspec

import (
	"debug/elf"
	"fmt"
	"maps"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// mapDefinitions writes map definitions for .maps: each is a variable of a struct whose members
// describe the map (libbpf's __uint, __type, __array).
func (w *writer) mapDefinitions() error {
	section := &btf.Datasec{Name: ".maps"}
	type placed struct {
		name      string
		off, size uint32
	}
	var list []placed
	for _, name := range slices.Sorted(maps.Keys(w.spec.Maps)) {
		m := w.spec.Maps[name]
		if isData(m) {
			continue
		}
		def, err := definition(m)
		if err != nil {
			return fmt.Errorf("map %s: %w", name, err)
		}
		if def.Size == 0 {
			return fmt.Errorf("map %s is not defined: %w", name, ErrNotSupported)
		}
		v := &btf.Var{Name: name, Type: def, Linkage: btf.GlobalVar}
		section.Vars = append(section.Vars, btf.VarSecinfo{Type: v, Offset: section.Size, Size: def.Size})
		list = append(list, placed{name, section.Size, def.Size})
		section.Size += def.Size
	}
	if len(list) == 0 {
		return nil
	}
	if _, err := w.types.Add(section); err != nil {
		return fmt.Errorf("maps: %w", err)
	}
	index := w.elf.Section(".maps", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_WRITE, make([]byte, section.Size))
	for _, p := range list {
		w.symbols[p.name] = w.elf.Symbol(p.name, index, uint64(p.off), uint64(p.size), elf.STT_OBJECT, elf.STB_GLOBAL)
	}
	return nil
}

var integer = &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}

// pointer is the size of a pointer in BPF objects, in bytes.
const pointer = 8

// definition returns the struct that defines a map.
func definition(m *ebpf.MapSpec) (*btf.Struct, error) {
	switch m.Type {
	case ebpf.StructOpsMap, ebpf.Arena:
		return nil, fmt.Errorf("type %v: %w", m.Type, ErrNotSupported)
	}
	s := &btf.Struct{}
	member := func(name string, typ btf.Type) {
		s.Members = append(s.Members, btf.Member{Name: name, Type: &btf.Pointer{Target: typ}, Offset: btf.Bits(s.Size * 8)})
		s.Size += pointer
	}
	number := func(name string, n uint32) {
		if n != 0 {
			member(name, &btf.Array{Index: integer, Type: integer, Nelems: n})
		}
	}
	number("type", uint32(m.Type))
	number("max_entries", m.MaxEntries)
	number("map_flags", m.Flags)
	number("numa_node", m.NumaNode)
	number("map_extra", uint32(m.MapExtra))
	number("pinning", uint32(m.Pinning))
	for _, side := range []struct {
		typ, size string
		t         btf.Type
		n         uint32
	}{{"key", "key_size", m.Key, m.KeySize}, {"value", "value_size", m.Value, m.ValueSize}} {
		_, isVoid := side.t.(*btf.Void)
		switch {
		case side.t != nil && !isVoid && sizeOf(side.t) == side.n:
			member(side.typ, side.t)
		default:
			number(side.size, side.n)
		}
	}
	if m.InnerMap != nil {
		inner, err := definition(m.InnerMap)
		if err != nil {
			return nil, fmt.Errorf("inner map: %w", err)
		}
		s.Members = append(s.Members, btf.Member{
			Name: "values", Type: &btf.Array{Index: integer, Type: &btf.Pointer{Target: inner}, Nelems: 0}, Offset: btf.Bits(s.Size * 8),
		})
	}
	return s, nil
}

func sizeOf(t btf.Type) uint32 {
	n, err := btf.Sizeof(t)
	if err != nil || n < 0 {
		return 0
	}
	return uint32(n)
}
