package scopes

import (
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/loader"
)

// Registers finds variables in registers; it reads the debug information of each object once. The
// zero value is ready.
type Registers struct {
	dwarf map[*loader.Object]*Info
}

// Of returns the names of variables in registers of a program, by the object's DWARF.
func (f *Registers) Of(l *loader.Linked, lp *loader.LinkedProgram) func(insn int, place string) string {
	info, read := f.dwarf[l.Object]
	if !read {
		info, _ = Read(l.Object.ELF()) // damaged DWARF counts as none
		if f.dwarf == nil {
			f.dwarf = map[*loader.Object]*Info{}
		}
		f.dwarf[l.Object] = info
	}
	return func(insn int, place string) string {
		reg, err := strconv.Atoi(strings.TrimPrefix(place, "R"))
		fn, ok := lp.FuncAt(insn)
		if err != nil || !ok || info == nil {
			return ""
		}
		base, ok := info.Sections[fn.Function.Section]
		if !ok {
			return ""
		}
		name := ""
		info.InRegister(base+8*uint64(fn.Function.SectionOff+insn-fn.Start), reg, func(v *Variable) bool {
			name = v.Name
			return name == ""
		})
		return name
	}
}
