package machine

import (
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/maps"
)

// What comes and goes one by one, as through bpf(2). [New] takes the maps and programs of an object the same way.

// ErrExists is returned for a program whose name another one of the machine has.
var ErrExists = errors.New("a program of that name already exists")

// take binds a program and makes it one of the machine's.
func (m *Machine) take(lp *loader.LinkedProgram) *program {
	m.noteTyped(lp)
	p := m.bind(lp)
	m.add(p)
	return p
}

// types are those of the object the program is from, nil without.
func (p *program) types() *btf.Spec { return p.lp.Linked().Object.BTF }

// AddMap creates a map that no object defines, as BPF_MAP_CREATE does: sizes are taken as they are, and nothing is stored in it.
// types has the key and value types of def; nil is none. Programs refer to the map by def. Errors are those of [maps.New].
func (m *Machine) AddMap(def *loader.Map, types *btf.Spec) (maps.Map, error) {
	spec := exactSpec(def, types)
	created, err := maps.New(m.mapEnv, spec)
	if err != nil {
		return nil, err
	}
	m.note(&boundMap{def: def, m: created})
	return created, nil
}

// exactSpec returns a definition as bpf(2) gets it.
func exactSpec(def *loader.Map, types *btf.Spec) maps.Spec {
	s := maps.Spec{
		Name: def.Name, Type: def.Type, KeySize: def.KeySize, ValueSize: def.ValueSize, MaxEntries: def.MaxEntries, Flags: def.Flags,
		Extra: def.Extra, NumaNode: int32(def.NumaNode), BTF: types, KeyType: def.KeyType, ValueType: def.ValueType,
	}
	if def.Inner != nil {
		inner := exactSpec(def.Inner, types)
		s.Inner = &inner
	}
	return s
}

// RemoveMap frees a map of [Machine.AddMap]. No program of the machine may refer to it any more, and no map may hold it.
func (m *Machine) RemoveMap(def *loader.Map) {
	if b, ok := m.drop(def); ok && b.m != nil {
		m.mapEnv.Remove(b.m)
		m.env.ForgetMaps()
	}
}

// AddProgram binds a program that came by itself: see [loader.Raw]. Its name must be its own among those of the machine. A program that cannot be run is
// there all the same: [Machine.ProgramError] tells why.
func (m *Machine) AddProgram(lp *loader.LinkedProgram) error {
	if m.byName[lp.Name] != nil {
		return fmt.Errorf("%w: %s", ErrExists, lp.Name)
	}
	m.take(lp)
	return nil
}

// RemoveProgram frees a program. No program array may hold it any more, and no run may be under way.
func (m *Machine) RemoveProgram(name string) {
	p := m.byName[name]
	if p == nil {
		return
	}
	m.registry.remove(p)
	m.forgetLast()
	if p.img != nil {
		m.text.Remove(p.img)
	}
	for _, r := range p.tables {
		m.mem.Free(r)
	}
	m.forgetTyped(p.lp)
}

// Hook is what a program is attached to, where user space decides it after loading.
type Hook struct {
	// AttachTo is the target as a section name has it: "do_unlinkat", "syscalls/sys_enter_openat", "sched_switch".
	AttachTo string
	// Section is a section name of the same kind, such as "kretprobe": it tells entry from return, and kernel from user code.
	Section string
}
