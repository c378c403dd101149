package fromdwarf

import (
	"debug/elf"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/dedup"
)

// place is the symbol of a variable: its section and address.
type place struct {
	section string
	off     uint32
	size    uint32
	global  bool
	address uint64
}

// symbolTable holds the functions and variables of the ELF symbol table.
type symbolTable struct {
	funcs map[string]bool
	// copies holds the functions by their names without suffixes, with functionFeatures.
	copies map[string]*copies
	vars   map[string][]place
}

const percpuSection = ".data..percpu"

func symbols(f *elf.File, features Features) symbolTable {
	t := symbolTable{funcs: map[string]bool{}, copies: map[string]*copies{}, vars: map[string][]place{}}
	bases := sectionBases(f)
	all, err := f.Symbols()
	if err != nil {
		return t
	}
	for _, s := range all {
		if s.Section == elf.SHN_UNDEF || int(s.Section) >= len(f.Sections) {
			continue
		}
		sec := f.Sections[s.Section]
		switch elf.ST_TYPE(s.Info) {
		case elf.STT_FUNC:
			if s.Size != 0 {
				t.funcs[s.Name] = true
			}
			if features&functionFeatures != 0 {
				t.addCopy(s.Name, s.Value+bases[s.Section], features)
			}
		case elf.STT_OBJECT, elf.STT_NOTYPE:
			if s.Size == 0 {
				continue
			}
			off := s.Value
			if f.Type != elf.ET_REL {
				off -= sec.Addr
			}
			if off <= 1<<31 && s.Size <= 1<<31 {
				t.vars[s.Name] = append(t.vars[s.Name], place{sec.Name, uint32(off), uint32(s.Size), elf.ST_BIND(s.Info) != elf.STB_LOCAL, s.Value})
			}
		}
	}
	return t
}

// variable is a VAR with its place in a DATASEC.
type variable struct {
	id uint32
	place
}

// variableKey identifies a variable.
type variableKey struct {
	name, section string
	off           uint32
}

// wanted reports whether the options include a variable.
func (m *maker) wanted(p place) bool {
	return strings.HasPrefix(p.section, percpuSection) && m.feat&Var != 0 || m.feat&GlobalVar != 0 && p.global
}

// placeOf returns the symbol of a variable, found by name, and by address for names used more than
// once.
func (m *maker) placeOf(name string, n *node) (place, bool) {
	var found []place
	for _, p := range m.syms.vars[name] {
		if m.wanted(p) {
			found = append(found, p)
		}
	}
	if m.linked && n.place == placeFixed {
		for _, p := range found {
			// Address 0 of a kernel's per-CPU section also means that the linker dropped the
			// variable.
			if p.address == n.address && p.address != 0 {
				return p, true
			}
		}
		return place{}, false
	}
	if len(found) == 0 {
		return place{}, false
	}
	return found[0], true
}

// addVar writes a VAR unless it has been written.
func (m *maker) addVar(name string, typ uint32, n *node) (uint32, bool) {
	p, ok := m.placeOf(name, n)
	key := variableKey{name, p.section, p.off}
	if !ok || m.seen[key] {
		return 0, false
	}
	m.seen[key] = true
	linkage := uint32(btf.LinkageStatic)
	if p.global {
		linkage = btf.LinkageGlobal
	}
	id := m.types.Add(m.types.Str(name), dedup.Info(btf.KindVar, 0, false), typ, linkage)
	m.vars = append(m.vars, variable{id, p})
	m.res.Variables++
	return id, true
}

// sections writes a DATASEC for each section with variables.
func (m *maker) sections() {
	var names []string
	for _, v := range m.vars {
		if !slices.Contains(names, v.section) {
			names = append(names, v.section)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		var list []variable
		for _, v := range m.vars {
			if v.section == name {
				list = append(list, v)
			}
		}
		slices.SortStableFunc(list, func(a, b variable) int { return int(a.off) - int(b.off) })
		end := list[len(list)-1].off + list[len(list)-1].size
		m.types.Add(m.types.Str(name), dedup.Info(btf.KindDatasec, m.vlen(btf.KindDatasec, len(list)), false), end)
		for _, v := range list {
			m.types.Extend(v.id, v.off, v.size)
		}
	}
}
