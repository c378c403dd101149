package ebpfspec

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/bpfrun/bpfrun/bpftest"
)

// Of returns a source for a CollectionSpec, including the caller's changes: variables, sizes, flags
// and contents of maps, attach targets. The spec is read when the object is loaded; it is not
// modified.
func Of(spec *ebpf.CollectionSpec) bpftest.Source { return source{spec} }

type source struct{ spec *ebpf.CollectionSpec }

// ErrNotSupported means that a spec contains something that cannot be converted; load the object's
// file instead.
var ErrNotSupported = errors.New("not supported in a CollectionSpec: load the object's file")

// Object implements [bpftest.Source]: it writes an ELF object equivalent to the spec.
func (s source) Object() (name string, elf []byte, err error) {
	if s.spec == nil {
		return "", nil, errors.New("ebpfspec: the CollectionSpec is nil")
	}
	w := newWriter(s.spec)
	if elf, err = w.object(); err != nil {
		return "", nil, fmt.Errorf("ebpfspec: %w", err)
	}
	return "CollectionSpec", elf, nil
}

// Options implements [bpftest.Configured]: attach targets that differ from those of section names.
func (s source) Options() []bpftest.LoadOption {
	if s.spec == nil {
		return nil
	}
	var out []bpftest.LoadOption
	for _, name := range slices.Sorted(maps.Keys(s.spec.Programs)) {
		if p := s.spec.Programs[name]; p.AttachTo != "" && !endsWith(p.SectionName, p.AttachTo) {
			out = append(out, bpftest.Attach(name, p.AttachTo))
		}
	}
	return out
}

// endsWith reports whether a section name ends with the attach target.
func endsWith(section, to string) bool {
	return len(section) > len(to) && section[len(section)-len(to)-1] == '/' && section[len(section)-len(to):] == to
}

// Fill implements [bpftest.Filled]: contents of maps, and of variables that are zero in an object.
func (s source) Fill(o *bpftest.Object) error {
	for _, name := range slices.Sorted(maps.Keys(s.spec.Maps)) {
		spec := s.spec.Maps[name]
		if isData(spec) {
			continue
		}
		for i, kv := range spec.Contents {
			value, err := s.value(o, kv.Value)
			if err == nil {
				err = o.Map(name).Put(kv.Key, value)
			}
			if err != nil {
				return fmt.Errorf("ebpfspec: contents of map %s, element %d: %w", name, i, err)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.spec.Variables)) {
		v := s.spec.Variables[name]
		if isBSS(v.SectionName) && slices.ContainsFunc(v.Value, func(b byte) bool { return b != 0 }) {
			if err := o.Var(v.Name).Set(v.Value); err != nil {
				return fmt.Errorf("ebpfspec: %w", err)
			}
		}
	}
	return nil
}

// value finds the program or map named in a map's contents.
func (s source) value(o *bpftest.Object, v any) (any, error) {
	name, ok := v.(string)
	if !ok {
		return v, nil
	}
	switch {
	case s.spec.Programs[name] != nil:
		return o.Program(name), nil
	case s.spec.Maps[name] != nil:
		return o.Map(name), nil
	}
	return nil, fmt.Errorf("no program or map %q", name)
}
