package loader

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// InnerMapForm is the syntax of an inner map's definition, see LoadOptions.InnerMaps.
const InnerMapForm = "TYPE,key_size=N,value_size=N,max_entries=N[,map_flags=N], or the name of a map with the same definition"

// setInnerMaps sets the inner map definitions of maps of maps, as tools do with
// bpf_map__set_inner_map_fd.
func (l *loading) setInnerMaps() error {
	for _, name := range slices.Sorted(maps.Keys(l.opts.InnerMaps)) {
		m, ok := l.Map(name)
		if !ok {
			var names []string
			for _, m := range l.Maps {
				if m.OfMaps() {
					names = append(names, m.Name)
				}
			}
			return failf(ErrOption, "no map of maps %q to define an inner map for", name).hint("the maps of maps here are %s", listNames(names))
		}
		if !m.OfMaps() {
			return failf(ErrOption, "map %s is of type %v, which has no inner maps", name, m.Type)
		}
		inner, err := l.parseInner(name, l.opts.InnerMaps[name])
		if err != nil {
			return err
		}
		m.Inner = inner
	}
	return nil
}

// OfMaps reports whether the elements of the map are maps.
func (m *Map) OfMaps() bool { return isMapOfMaps(m.Type) }

func (l *loading) parseInner(outer, text string) (*Map, error) {
	if like, ok := l.Map(text); ok {
		c := *like
		c.Name, c.Index, c.Inner, c.Values = outer+".inner", -1, nil, nil
		return &c, nil
	}
	words := strings.Split(text, ",")
	typ, ok := uapi.ParseMapType(words[0])
	if !ok {
		return nil, failf(ErrOption, "inner map of %s: %q is neither a map type nor a map of the object", outer, words[0]).hint("want %s", InnerMapForm)
	}
	m := &Map{Name: outer + ".inner", Index: -1, Autocreate: true, Type: typ, KeySize: 4, ValueSize: 4, MaxEntries: 1}
	if s, ok := fixedSizes[typ]; ok {
		m.KeySize, m.ValueSize = s.key, s.value
	}
	attrs := map[string]*uint32{"key_size": &m.KeySize, "value_size": &m.ValueSize, "max_entries": &m.MaxEntries, "map_flags": &m.Flags}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		to := attrs[strings.TrimSpace(name)]
		n, err := strconv.ParseUint(strings.TrimSpace(value), 0, 32)
		if to == nil || err != nil {
			return nil, failf(ErrOption, "inner map of %s: %q", outer, w).hint("want %s", InnerMapForm)
		}
		*to = uint32(n)
	}
	return m, nil
}

// externValue is the value that user space writes in place of an undefined symbol, see
// LoadOptions.Externs.
func (l *loading) externValue(e *LinkedExtern) bool {
	v, ok := l.opts.Externs[e.Name]
	if ok {
		e.Resolved, e.Addr, e.Source, e.given = true, v, "given", true
	}
	return ok
}

// checkExterns refuses values for externs that the object does not have.
func (l *loading) checkExterns() error {
	for _, name := range slices.Sorted(maps.Keys(l.opts.Externs)) {
		i := slices.IndexFunc(l.o.Externs, func(e *Extern) bool { return e.Name == name })
		if i < 0 {
			var names []string
			for _, e := range l.o.Externs {
				names = append(names, e.Name)
			}
			return failf(ErrOption, "no extern %q", name).hint("the object has %s", listNames(names))
		}
		switch e := l.o.Externs[i]; e.Kind {
		case ExternKconfig:
			return failf(ErrOption, "%s is a value of the kernel's configuration", name).hint("set it with --kconfig")
		case ExternKfunc:
			return failf(ErrOption, "%s is a function, which cannot be given a value", name)
		case ExternKsym:
			if e.unlinked && l.o.inMemory(e) {
				return failf(ErrOption, "%s is a variable that the program accesses in memory; --extern writes a constant into instructions", name).
					hint("link the objects with bpftool gen object, or define it")
			}
		}
	}
	return nil
}
