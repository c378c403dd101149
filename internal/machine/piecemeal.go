package machine

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Maps and programs added and removed one by one, as through bpf(2). [New] adds those of an object
// in the same way.

// ErrExists means that the machine already has a program with that name.
var ErrExists = errors.New("a program of that name already exists")

// take binds a program and adds it to the machine.
func (m *Machine) take(lp *loader.LinkedProgram) *program {
	m.noteTyped(lp)
	p := m.bind(lp)
	m.add(p)
	return p
}

// types returns the types of the object that the program comes from, or nil.
func (p *program) types() *btf.Spec { return p.lp.Linked().Object.BTF }

// AddMap creates a map that no object defines, as BPF_MAP_CREATE does: sizes are used as given, and
// the map is empty. types contains the key and value types of def, inner those of its template of
// inner maps; both may be nil. Programs refer to the map by def. The errors are those of
// [maps.New].
func (m *Machine) AddMap(def *loader.Map, types, inner *btf.Spec) (maps.Map, error) {
	spec := exactSpec(def, types, inner)
	created, err := maps.New(m.mapEnv, spec)
	if err != nil {
		return nil, err
	}
	m.note(&boundMap{def: def, m: created})
	return created, nil
}

// NewInner creates an empty map that an element of a map of maps can be, by the definition of its
// inner maps; a size that user space gives is a common one. The error is [uapi.ENOENT] without such
// a definition, or one of [maps.New].
func (m *Machine) NewInner(outer *loader.Map, name string) (maps.Map, error) {
	if outer.Inner == nil {
		return nil, uapi.ENOENT
	}
	def := *outer.Inner
	def.Name = name
	cr := m.creator.quietly()
	spec := cr.mapSpec(&def)
	cr.defaultSize(&spec)
	inner, err := cr.create(spec)
	if err != nil {
		return nil, err
	}
	m.note(&boundMap{def: &def, m: inner})
	return inner, nil
}

// FillOuter puts an empty map into an element of a map of maps, as user space does.
func (m *Machine) FillOuter(outer *loader.Map, key []byte) error {
	b, _ := m.Map(outer)
	to, ok := b.(maps.OuterMap)
	if !ok || len(key) != int(b.Spec().KeySize) {
		return uapi.EINVAL
	}
	inner, err := m.NewInner(outer, outer.Name+"["+m.keyText(key)+"]")
	if err != nil {
		return err
	}
	if errno := to.SetInner(key, inner, uint64(uapi.Any)); errno != 0 {
		return errno
	}
	return nil
}

// keyText is a key as a number, or as its bytes.
func (m *Machine) keyText(key []byte) string {
	if len(key) <= 8 {
		return strconv.FormatUint(endian.Uint(m.mem.ByteOrder(), key), 10)
	}
	return hex.EncodeToString(key)
}

// exactSpec converts a definition without adjustments, as bpf(2) receives it.
func exactSpec(def *loader.Map, types, innerTypes *btf.Spec) maps.Spec {
	s := maps.Spec{
		Name: def.Name, Type: def.Type, KeySize: def.KeySize, ValueSize: def.ValueSize, MaxEntries: def.MaxEntries, Flags: def.Flags,
		Extra: def.Extra, NumaNode: int32(def.NumaNode), BTF: types, KeyType: def.KeyType, ValueType: def.ValueType,
	}
	if def.Inner != nil {
		inner := exactSpec(def.Inner, innerTypes, nil)
		s.Inner = &inner
	}
	return s
}

// RemoveMap frees a map created by [Machine.AddMap]. No program of the machine and no map may refer
// to it any more.
func (m *Machine) RemoveMap(def *loader.Map) {
	if b, ok := m.drop(def); ok && b.m != nil {
		m.mapEnv.Remove(b.m)
		m.env.ForgetMaps()
	}
}

// AddProgram binds a program loaded on its own; see [loader.Raw]. Its name must be unique in the
// machine. A program that cannot run is added all the same: [Machine.ProgramError] returns the
// reason.
func (m *Machine) AddProgram(lp *loader.LinkedProgram) error {
	if m.byName[lp.Name] != nil {
		return fmt.Errorf("%w: %s", ErrExists, lp.Name)
	}
	m.take(lp)
	return nil
}

// RemoveProgram frees a program. No program array may contain it any more, and no run may be
// active.
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

// Hook is what a program is attached to, if user space decides that after loading.
type Hook struct {
	// AttachTo is the target as in a section name: "do_unlinkat", "syscalls/sys_enter_openat",
	// "sched_switch".
	AttachTo string
	// Section is a section name of the same kind, such as "kretprobe": it distinguishes entry from
	// return, and kernel from user code.
	Section string
}
