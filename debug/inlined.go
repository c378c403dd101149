package debug

import (
	"maps"
	"slices"
)

// inlinedAt returns the inlined functions that an instruction belongs to, innermost first.
func (cm *codeMap) inlinedAt(p Place) []*scope {
	addr, ok := cm.codeAddress(p)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(cm.dwarf.visible(addr), func(sc *scope) bool { return sc.inlined == "" })
}

// placesOfInlined finds where the code of an inlined function begins, in every function it was inlined into.
func (cm *codeMap) placesOfInlined(name string) []Place {
	if cm.dwarf == nil {
		return nil
	}
	var out []Place
	var walk func(list []*scope)
	walk = func(list []*scope) {
		for _, sc := range list {
			if sc.inlined == name {
				lo := sc.ranges[0][0]
				for _, r := range sc.ranges {
					lo = min(lo, r[0])
				}
				out = append(out, cm.placesAt(lo)...)
			}
			walk(sc.inner)
		}
	}
	walk(cm.dwarf.scopes)
	return out
}

// placesAt returns the instructions of the linked programs that an address of the object's code became.
func (cm *codeMap) placesAt(addr uint64) []Place {
	var out []Place
	for _, lp := range cm.linked.Programs {
		for _, f := range lp.Funcs {
			if f.Function == nil {
				continue
			}
			base, ok := cm.dwarf.sections[f.Function.Section]
			lo := base + 8*uint64(f.Function.SectionOff)
			if ok && addr >= lo && addr < lo+8*uint64(f.Len) {
				out = append(out, Place{lp, f.Start + int(addr-lo)/8})
			}
		}
	}
	return out
}

// inlinedNames lists the functions that were inlined somewhere.
func (cm *codeMap) inlinedNames() []string {
	if cm.dwarf == nil {
		return nil
	}
	seen := map[string]bool{}
	var walk func(list []*scope)
	walk = func(list []*scope) {
		for _, sc := range list {
			if sc.inlined != "" && sc.inlined != "?" {
				seen[sc.inlined] = true
			}
			walk(sc.inner)
		}
	}
	walk(cm.dwarf.scopes)
	return slices.Sorted(maps.Keys(seen))
}

// InlinedFunctions returns the names of the functions that the compiler inlined, sorted, as far as DWARF says.
func (cm *codeMap) InlinedFunctions() []string { return cm.inlinedNames() }

// DWARFError returns why the object's DWARF could not be read, nil when it could or there is none.
func (cm *codeMap) DWARFError() error { return cm.dwarfErr }

// HasDWARF reports whether the object says where local variables are.
func (cm *codeMap) HasDWARF() bool { return cm.dwarf != nil }

// codeAddress is the address of an instruction in terms of the object's DWARF.
func (cm *codeMap) codeAddress(p Place) (uint64, bool) {
	f, ok := p.Func()
	if !ok || f.Function == nil || cm.dwarf == nil {
		return 0, false
	}
	base, ok := cm.dwarf.sections[f.Function.Section]
	return base + 8*uint64(f.Function.SectionOff+p.PC-f.Start), ok
}
