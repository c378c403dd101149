package debug

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/internal/debug/scopes"
	"github.com/bpfrun/bpfrun/loader"
)

// inlinedAt returns the inlined functions that an instruction belongs to, innermost first.
func (cm *codeMap) inlinedAt(p Place) []*scopes.Scope {
	addr, ok := cm.codeAddress(p)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(cm.dwarf.Visible(addr), func(sc *scopes.Scope) bool { return sc.Inlined == "" })
}

// placesOfInlined finds the starts of an inlined function's code, in every function it was inlined
// into.
func (cm *codeMap) placesOfInlined(name string) []Place {
	if cm.dwarf == nil {
		return nil
	}
	var out []Place
	var walk func(list []*scopes.Scope)
	walk = func(list []*scopes.Scope) {
		for _, sc := range list {
			if sc.Inlined == name {
				lo := sc.Ranges[0][0]
				for _, r := range sc.Ranges {
					lo = min(lo, r[0])
				}
				out = append(out, cm.placesAt(lo)...)
			}
			walk(sc.Inner)
		}
	}
	walk(cm.dwarf.Scopes)
	return out
}

// placesAt returns the instructions of the linked programs that come from an address of the
// object's code.
func (cm *codeMap) placesAt(addr uint64) []Place {
	var out []Place
	for _, lp := range cm.linked.Programs {
		for _, f := range lp.Funcs {
			if f.Function == nil {
				continue
			}
			base, ok := cm.dwarf.Sections[f.Function.Section]
			lo := base + 8*uint64(f.Function.SectionOff)
			if ok && addr >= lo && addr < lo+8*uint64(f.Len) {
				out = append(out, Place{lp, f.Start + int(addr-lo)/8})
			}
		}
	}
	return out
}

// inlinedNames lists the functions that were inlined at least once.
func (cm *codeMap) inlinedNames() []string {
	if cm.dwarf == nil {
		return nil
	}
	seen := map[string]bool{}
	var walk func(list []*scopes.Scope)
	walk = func(list []*scopes.Scope) {
		for _, sc := range list {
			if sc.Inlined != "" && sc.Inlined != "?" {
				seen[sc.Inlined] = true
			}
			walk(sc.Inner)
		}
	}
	walk(cm.dwarf.Scopes)
	return slices.Sorted(maps.Keys(seen))
}

// InlinedFunctions returns the names of the functions that the compiler inlined, sorted; none
// without DWARF.
func (cm *codeMap) InlinedFunctions() []string { return cm.inlinedNames() }

// DWARFError returns the error from reading the object's DWARF, nil if it was read or there is
// none.
func (cm *codeMap) DWARFError() error { return cm.dwarfErr }

// HasDWARF reports whether the object has the locations of local variables.
func (cm *codeMap) HasDWARF() bool { return cm.dwarf != nil }

// codeAddress returns the address of an instruction as the object's DWARF counts it.
func (cm *codeMap) codeAddress(p Place) (uint64, bool) {
	f, ok := p.Func()
	if !ok || f.Function == nil || cm.dwarf == nil {
		return 0, false
	}
	base, ok := cm.dwarf.Sections[f.Function.Section]
	return base + 8*uint64(f.Function.SectionOff+p.PC-f.Start), ok
}

// InlineChain returns the functions around an instruction of a linked program: inlined functions
// with their current lines, innermost first, and last the function that contains the code. elf is
// the object file. The error comes from reading its DWARF; without DWARF the chain is the
// containing function alone.
func InlineChain(elf []byte, l *loader.Linked, program string, insn int) ([]Frame, error) {
	lp, ok := l.Program(program)
	if !ok || insn < 0 || insn >= len(lp.Insns) {
		return nil, fmt.Errorf("%s has no instruction %d", program, insn)
	}
	info, err := scopes.Read(elf)
	cm := &codeMap{subject: &subject{linked: l}, dwarf: info}
	x := Frame{Place: Place{lp, insn}}
	if line, ok := lineOf(x.Place); ok {
		x.File, x.Line = line.File, line.Line
	}
	var out []Frame
	for _, sc := range cm.inlinedAt(x.Place) {
		x.Level, x.Func, x.Inlined = len(out), sc.Inlined, true
		out = append(out, x)
		x.File, x.Line = sc.CallFile, sc.CallLine
	}
	x.Level, x.Func, x.Inlined = len(out), x.Place.funcName(), false
	return append(out, x), err
}
