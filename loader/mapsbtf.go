package loader

import (
	"fmt"
	"math"
	"sort"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// maxMapNesting limits the depth of inner map definitions. The kernel allows one level.
const maxMapNesting = 2

// addMap appends a map of the object.
func (o *Object) addMap(m *Map) {
	m.Index = len(o.Maps)
	o.Maps = append(o.Maps, m)
	if m.secIndex > 0 {
		o.mapBySec[m.secIndex] = append(o.mapBySec[m.secIndex], m)
	}
}

// datasec returns the DATASEC of an ELF section, or nil.
func (o *Object) datasec(name string) *btf.Type {
	if o.BTF == nil {
		return nil
	}
	t, ok := o.BTF.Find(btf.KindDatasec, name)
	if !ok {
		return nil
	}
	return t
}

// readBTFMaps reads the definitions in .maps sections (btf.rst 3.2 and the macros of
// bpf_helpers.h). An object linked from several objects has one such section and one DATASEC.
func (o *Object) readBTFMaps(f *file) error {
	for i := range f.sections {
		s := &f.sections[i]
		if s.Name != secMaps || s.Size == 0 {
			continue
		}
		ds := o.datasec(secMaps)
		if ds == nil {
			return failf(ErrMapDef, "the object's BTF does not describe it").section(secMaps).hint("compile with -g")
		}
		if err := o.readMapVars(f, s, ds); err != nil {
			return err
		}
	}
	return nil
}

func (o *Object) readMapVars(f *file, s *section, ds *btf.Type) error {
	offsets := map[string]uint64{} // VARs have offset 0 until a linker sets it
	for _, sym := range f.symbolsIn(s.Index) {
		offsets[sym.Name] = sym.Value
	}
	maps := make([]*Map, 0, len(ds.Vars))
	for _, v := range ds.Vars {
		vt, err := o.BTF.Type(v.Type)
		if err != nil || vt.Kind != btf.KindVar {
			return failf(ErrMapDef, "type [%d] of .maps is not a variable", v.Type).section(secMaps)
		}
		m := &Map{Name: vt.Name, Section: secMaps, Autocreate: true, secIndex: s.Index, secOff: uint64(v.Offset), secSize: uint64(v.Size)}
		if off, ok := offsets[vt.Name]; ok {
			m.secOff = off
		} else if vt.Linkage == btf.LinkageExtern {
			return failf(ErrMapDef, "map %s is extern: the object has not been linked", vt.Name).section(secMaps).
				hint("link its parts with bpftool gen object")
		}
		if m.secOff >= s.Size {
			return failf(ErrMapDef, "map %s is at offset %d of a section of %d bytes", vt.Name, m.secOff, s.Size).section(secMaps)
		}
		if err := o.defineMap(m, vt.Ref, 0); err != nil {
			return err
		}
		maps = append(maps, m)
	}
	sort.SliceStable(maps, func(i, j int) bool { return maps[i].secOff < maps[j].secOff })
	for _, m := range maps {
		o.addMap(m)
	}
	return nil
}

func mapErrf(m *Map, format string, args ...any) error {
	return failf(ErrMapDef, "map %s: %s", m.Name, fmt.Sprintf(format, args...)).section(m.Section)
}

// defineMap reads one definition: a struct whose members are the attributes.
func (o *Object) defineMap(m *Map, id btf.ID, depth int) error {
	if depth >= maxMapNesting {
		return mapErrf(m, "definitions nest deeper than a map of maps")
	}
	st := o.BTF.SkipMods(id)
	if st.Kind != btf.KindStruct {
		return mapErrf(m, "is not a struct but %s", o.BTF.TypeString(id))
	}
	for i := range st.Members {
		mem := &st.Members[i]
		if err := o.mapMember(m, st, mem, depth); err != nil {
			return err
		}
	}
	if m.Type == uapi.MapTypeUnspec {
		return mapErrf(m, "has no type")
	}
	if m.Type == uapi.MapTypeRingbuf || m.Type == uapi.MapTypeUserRingbuf || m.Type == uapi.MapTypeArena {
		return nil
	}
	if isMapOfMaps(m.Type) && m.ValueSize == 0 {
		m.ValueSize = 4
	}
	return nil
}

func isMapOfMaps(t uapi.MapType) bool {
	return t == uapi.MapTypeArrayOfMaps || t == uapi.MapTypeHashOfMaps
}

func (o *Object) mapMember(m *Map, st *btf.Type, mem *btf.Member, depth int) error {
	word := func(dst *uint32) error {
		v, err := o.mapNumber(mem.Type)
		if err != nil {
			return mapErrf(m, "%s: %v", mem.Name, err)
		}
		if v > math.MaxUint32 {
			return mapErrf(m, "%s: %d does not fit 32 bits", mem.Name, v)
		}
		*dst = uint32(v)
		return nil
	}
	switch mem.Name {
	case "type":
		var t uint32
		if err := word(&t); err != nil {
			return err
		}
		m.Type = uapi.MapType(t)
		return nil
	case "max_entries":
		return word(&m.MaxEntries)
	case "map_flags":
		return word(&m.Flags)
	case "numa_node":
		return word(&m.NumaNode)
	case "pinning":
		return word(&m.Pinning)
	case "map_extra":
		v, err := o.mapNumber(mem.Type)
		if err != nil {
			return mapErrf(m, "map_extra: %v", err)
		}
		m.Extra = v
		return nil
	case "key_size":
		old := m.KeySize
		if err := word(&m.KeySize); err != nil {
			return err
		}
		return sameSize(m, "key", old, m.KeySize)
	case "value_size":
		old := m.ValueSize
		if err := word(&m.ValueSize); err != nil {
			return err
		}
		return sameSize(m, "value", old, m.ValueSize)
	case "key":
		return o.mapType(m, mem, &m.KeyType, &m.KeySize)
	case "value":
		return o.mapType(m, mem, &m.ValueType, &m.ValueSize)
	case "values":
		return o.mapValuesMember(m, mem, depth)
	}
	return mapErrf(m, "unknown attribute %q", mem.Name)
}

func sameSize(m *Map, what string, old, size uint32) error {
	if old != 0 && old != size {
		return mapErrf(m, "%s is %d bytes by its type and %d by %s_size", what, old, size, what)
	}
	return nil
}

// mapNumber decodes the number in __uint (a pointer to an array of that length) or __ulong (an enum
// with one value).
func (o *Object) mapNumber(id btf.ID) (uint64, error) {
	t := o.BTF.SkipMods(id)
	switch {
	case t.Kind.IsEnum() && len(t.Values) == 1:
		return t.Values[0].Value, nil
	case t.Kind == btf.KindPtr:
		if a := o.BTF.SkipMods(t.Ref); a.Kind == btf.KindArray {
			return uint64(a.Array.Nelems), nil
		}
	}
	return 0, fmt.Errorf("%s is neither __uint nor __ulong", o.BTF.TypeString(id))
}

// mapType decodes __type: a pointer to the key or value type.
func (o *Object) mapType(m *Map, mem *btf.Member, id *btf.ID, size *uint32) error {
	t := o.BTF.SkipMods(mem.Type)
	if t.Kind != btf.KindPtr {
		return mapErrf(m, "%s is not a pointer but %s", mem.Name, o.BTF.TypeString(mem.Type))
	}
	n, err := o.BTF.Sizeof(t.Ref)
	if err != nil || n < 0 || n > math.MaxUint32 {
		return mapErrf(m, "%s: %s has no size", mem.Name, o.BTF.TypeString(t.Ref))
	}
	old := *size
	*id, *size = t.Ref, uint32(n)
	return sameSize(m, mem.Name, old, *size)
}

// mapValuesMember decodes "values", an array of pointers to inner map definitions or to functions.
func (o *Object) mapValuesMember(m *Map, mem *btf.Member, depth int) error {
	arr := o.BTF.SkipMods(mem.Type)
	if arr.Kind != btf.KindArray {
		return mapErrf(m, "values is not an array")
	}
	ptr := o.BTF.SkipMods(arr.Ref)
	if ptr.Kind != btf.KindPtr {
		return mapErrf(m, "values are not pointers")
	}
	target := o.BTF.SkipMods(ptr.Ref)
	m.valuesOff = uint64(mem.BitOffset / 8)
	m.hasValues = true
	if m.ValueSize == 0 {
		m.ValueSize = 4
	}
	switch target.Kind {
	case btf.KindFuncProto:
		if m.Type != uapi.MapTypeProgArray {
			return mapErrf(m, "values are functions, but the map type is %s", m.Type)
		}
		return nil
	case btf.KindStruct:
		if !isMapOfMaps(m.Type) {
			return mapErrf(m, "values are maps, but the map type is %s", m.Type)
		}
		m.Inner = &Map{Name: m.Name + ".inner", Section: m.Section, Index: -1, Autocreate: true}
		return o.defineMap(m.Inner, target.ID, depth+1)
	}
	return mapErrf(m, "values point to %s", o.BTF.TypeString(ptr.Ref))
}

// mapAt returns the BTF-defined or legacy map that covers an offset of a section.
func (o *Object) mapAt(section int, off uint64) *Map {
	maps := o.mapBySec[section]
	i := sort.Search(len(maps), func(i int) bool { return maps[i].secOff > off }) - 1
	if i < 0 {
		return nil
	}
	return maps[i]
}

// readMapValues applies the relocations of .maps: initial programs and inner maps.
func (o *Object) readMapValues(f *file) error {
	for i := range f.sections {
		s := &f.sections[i]
		if s.Name != secMaps {
			continue
		}
		for n, r := range f.relocs[i] {
			if r.Type == relNone {
				continue
			}
			m := o.mapAt(i, r.Off)
			if m == nil || !m.hasValues || r.Off < m.secOff+m.valuesOff || (r.Off-m.secOff-m.valuesOff)%8 != 0 {
				return failf(ErrRelocation, "record %d at %#x (%s) is not an element of a map's values", n, r.Off, r.Sym.Name).section(s.Name)
			}
			index := (r.Off - m.secOff - m.valuesOff) / 8
			if index > math.MaxInt32 {
				return failf(ErrRelocation, "record %d: element %d of map %s", n, index, m.Name).section(s.Name)
			}
			init := MapInit{Index: int(index)}
			if m.Inner != nil {
				inner := o.mapAt(r.Sym.Section, r.Sym.Value)
				if inner == nil || inner.secOff != r.Sym.Value || f.sections[r.Sym.Section].Name != secMaps {
					return failf(ErrRelocation, "values[%d] of map %s is %q, which is not a map", index, m.Name, r.Sym.Name).section(s.Name)
				}
				init.Map = inner
			} else {
				p := o.programBySymbol(f, r.Sym, 0)
				if p == nil {
					return failf(ErrRelocation, "values[%d] of map %s is %q, which is not a program", index, m.Name, r.Sym.Name).section(s.Name)
				}
				init.Prog = p.Name
			}
			m.Values = append(m.Values, init)
			if m.MaxEntries == 0 || uint64(m.MaxEntries) <= index {
				o.warnf("map %s: values[%d] is beyond max_entries %d", m.Name, index, m.MaxEntries)
			}
		}
	}
	return nil
}

// functionBySymbol finds the function that a symbol, or a section symbol and addend, refers to.
func (o *Object) functionBySymbol(f *file, s *symbol, addend uint64) *Function {
	if s.Section <= 0 || !f.sections[s.Section].IsCode {
		return nil
	}
	off := s.Value + addend
	cs := o.secByIndex[s.Section]
	if cs == nil || off%insnSize != 0 || off/insnSize > math.MaxInt32 {
		return nil
	}
	fn := cs.at(int(off / insnSize))
	if fn == nil || fn.SectionOff != int(off/insnSize) {
		return nil
	}
	return fn
}

func (o *Object) programBySymbol(f *file, s *symbol, addend uint64) *Program {
	if fn := o.functionBySymbol(f, s, addend); fn != nil {
		return fn.Program
	}
	return nil
}
