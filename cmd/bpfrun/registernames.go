package main

import (
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug/scopes"
	"github.com/bpfrun/bpfrun/loader"
)

// registerNames finds variables in registers; it reads the debug information of each object once.
type registerNames struct {
	dwarf map[*loader.Object]*scopes.Info
}

// of returns the names of variables in registers, by the object's DWARF.
func (f *registerNames) of(l *loader.Linked, lp *loader.LinkedProgram) func(insn int, place string) string {
	info, read := f.dwarf[l.Object]
	if !read {
		info, _ = scopes.Read(l.Object.ELF()) // damaged DWARF counts as none
		if f.dwarf == nil {
			f.dwarf = map[*loader.Object]*scopes.Info{}
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
		info.InRegister(base+8*uint64(fn.Function.SectionOff+insn-fn.Start), reg, func(v *scopes.Variable) bool {
			name = v.Name
			return name == ""
		})
		return name
	}
}
