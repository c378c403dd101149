package loader

import (
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// setGlobals writes LoadOptions.Globals into the images of data sections.
func (l *loading) setGlobals() error {
	for _, name := range slices.Sorted(maps.Keys(l.opts.Globals)) {
		if err := l.setGlobal(name, l.opts.Globals[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.opts.GlobalBytes)) {
		m, v, found := FindVariable(l.Maps, name, (*Map).Settable)
		data := l.opts.GlobalBytes[name]
		switch {
		case !found:
			return failf(ErrOption, "no global variable %q", name).hint("the object has %s", listNames(VariableNames(l.Maps, (*Map).Settable)))
		case len(data) > int(v.Size) || uint64(v.Off)+uint64(v.Size) > uint64(len(m.Data)):
			return failf(ErrOption, "global variable %s has %d bytes, got %d", name, v.Size, len(data))
		}
		copy(m.Data[v.Off:], data)
	}
	return nil
}

func (l *loading) setGlobal(name, text string) *Error {
	section, path, ok := strings.Cut(name, ":")
	if !ok {
		section, path = "", name
	}
	m, v, found := l.findGlobal(section, path) // the names of functions' static variables have a dot
	rest := ""
	if i := strings.IndexAny(path, ".["); i >= 0 && !found {
		rest = strings.TrimPrefix(path[i:], ".")
		m, v, found = l.findGlobal(section, path[:i])
	}
	if !found {
		return failf(ErrOption, "no global variable %q", name).hint("the object has %s", listNames(VariableNames(l.Maps, nil)))
	}
	if m.DataKind == DataKconfig {
		return failf(ErrOption, "%s is an extern: its value comes from the kernel", name).hint("set it in the kernel's configuration")
	}
	f := btf.Field{Type: v.Type}
	if rest != "" {
		var err error
		if f, err = l.o.BTF.ResolvePath(v.Type, rest); err != nil {
			return &Error{Insn: -1, Err: because(ErrOption, err), Detail: "global " + name}
		}
	}
	if uint64(v.Off)+uint64(v.Size) > uint64(len(m.Data)) {
		return failf(ErrMapDef, "variable %s is outside its section", v.Name).section(m.Section)
	}
	if err := l.encodeGlobal(f, text, m.Data[v.Off:v.Off+v.Size]); err != nil {
		return &Error{Insn: -1, Err: because(ErrOption, err), Detail: "global " + name}
	}
	return nil
}

func (l *loading) encodeGlobal(f btf.Field, text string, dst []byte) error {
	if f.BitSize == 0 && int64(f.Offset()) < int64(len(dst)) {
		return l.o.BTF.EncodeText(f.Type, text, dst[f.Offset():])
	}
	v, err := btf.ParseValue(text)
	if err != nil {
		return err
	}
	return l.o.BTF.EncodeField(f, v, dst)
}

// findGlobal finds a variable, preferring one that is not static.
func (l *loading) findGlobal(section, name string) (*Map, Var, bool) {
	return FindVariable(l.Maps, name, func(m *Map) bool { return m.Data != nil && (section == "" || section == m.Section) })
}

// FindVariable finds a global variable by name among an object's maps, preferring one that is not
// static, and returns it with the map of its section. in selects the sections; nil selects all.
func FindVariable(list []*Map, name string, in func(*Map) bool) (*Map, Var, bool) {
	for _, static := range []bool{false, true} {
		for _, m := range list {
			if in != nil && !in(m) {
				continue
			}
			for _, v := range m.Vars {
				if v.Name == name && v.Static == static {
					return m, v, true
				}
			}
		}
	}
	return nil, Var{}, false
}

// VariableNames lists the global variables in maps, in section order. in selects the sections; nil
// selects all.
func VariableNames(list []*Map, in func(*Map) bool) []string {
	var names []string
	for _, m := range list {
		if in != nil && !in(m) {
			continue
		}
		for _, v := range m.Vars {
			names = append(names, v.Name)
		}
	}
	return names
}

// Settable reports whether user space may set the section's variables before loading: the kernel
// determines those of .kconfig.
func (m *Map) Settable() bool { return m.DataKind != DataKconfig }
