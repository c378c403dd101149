package machine

import (
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// creator creates the maps of an object as libbpf does. It has no state of its own.
type creator struct {
	*warnings
	reg *registry
	env *maps.Env
	cfg *Config
}

// quietly returns a creator whose warnings nobody sees.
func (cr *creator) quietly() *creator {
	out := *cr
	out.warnings = &warnings{}
	return &out
}

// createMaps creates every map of the object as libbpf would before loading its programs. For a map
// type that is not simulated the error is recorded: it affects only programs that use the map.
func (cr *creator) createMaps() error {
	for _, def := range cr.reg.linked.Maps {
		if !def.Autocreate {
			continue
		}
		spec := cr.mapSpec(def)
		cr.defaultSize(&spec)
		created, err := cr.create(spec)
		var ns *maps.NotSimulated
		if err != nil && !errors.As(err, &ns) {
			return mapError(def, err)
		}
		cr.reg.note(&boundMap{def: def, m: created, err: err})
	}
	return nil
}

// create makes a map. One whose key and value types a kernel refuses is made without them, as
// libbpf does (bpf_object__create_map).
func (cr *creator) create(spec maps.Spec) (maps.Map, error) {
	created, err := maps.New(cr.env, spec)
	var refused *maps.CreateError
	if err == nil || spec.KeyType == 0 && spec.ValueType == 0 || !errors.As(err, &refused) {
		return created, err
	}
	spec.BTF, spec.KeyType, spec.ValueType, spec.Offsets = nil, 0, 0, nil
	plain, again := maps.New(cr.env, spec)
	if again != nil {
		return created, err
	}
	cr.warnf("%v; libbpf makes the map without its types", refused)
	return plain, nil
}

func mapError(def *loader.Map, err error) error {
	e := &MapError{Map: def.Name, Err: err}
	switch {
	case def.LacksFixedSize():
		e.Hint = "libbpf does not derive sizes from the map type; --loader cilium or auto does"
	case def.MaxEntries == 0:
		e.Hint = fmt.Sprintf("user space sets its size: give it with --map-size %s=N", def.Name)
	}
	return e
}

// mapSpec returns the definition with the adjustments that libbpf makes at creation.
func (cr *creator) mapSpec(def *loader.Map) maps.Spec {
	s := maps.Spec{
		Name: def.Name, Type: def.Type, KeySize: def.KeySize, ValueSize: def.ValueSize, MaxEntries: def.MaxEntries, Flags: def.Flags,
		Extra: def.Extra, NumaNode: int32(def.NumaNode), BTF: cr.reg.linked.Object.BTF, KeyType: def.KeyType, ValueType: def.ValueType,
		Data: def.DataKind != loader.DataNone,
	}
	if len(def.Vars) > 0 {
		s.Offsets = make(map[string]uint32, len(def.Vars))
		for _, v := range def.Vars {
			s.Offsets[v.Name] = v.Off
		}
	}
	if def.DataKind == loader.DataKconfig {
		s.Offsets = map[string]uint32{}
		for _, e := range cr.reg.linked.Externs {
			if e.Kind == loader.ExternKconfig {
				s.Offsets[e.Name] = e.Off
			}
		}
	}
	switch def.Type {
	case uapi.MapTypePerfEventArray:
		// bpf_object__create_map: a perf event array without a size gets one slot for each CPU.
		if s.MaxEntries == 0 {
			s.MaxEntries = uint32(cr.cfg.CPUs)
		}
	case uapi.MapTypeRingbuf, uapi.MapTypeUserRingbuf:
		s.MaxEntries = maps.RingSize(s.MaxEntries, ringPage)
	}
	if def.Inner != nil {
		inner := cr.mapSpec(def.Inner)
		s.Inner = &inner
	}
	return s
}

// sized reports whether maps of a type have max_entries. Local storage does not: an owner has at
// most one element.
func sized(t uapi.MapType) bool {
	switch t {
	case uapi.MapTypeStructOps, uapi.MapTypeSkStorage, uapi.MapTypeInodeStorage, uapi.MapTypeTaskStorage, uapi.MapTypeCgrpStorage,
		uapi.MapTypeCgroupStorage, uapi.MapTypePercpuCgroupStorage:
		return false
	}
	return true
}

// ringPage is the page size in bytes to which sizes of ring buffers are rounded.
const ringPage = 4096

// Sizes for maps whose definition leaves them to user space.
const (
	defaultEntries    = 10240
	defaultRing       = 256 << 10
	defaultStackDepth = 127 // kernel.perf_event_max_stack
)

// defaultSize gives a map that user space would size before loading a common size, and adds a
// warning. With Strict the definition stays unchanged, and the kernel's refusal stands.
func (cr *creator) defaultSize(s *maps.Spec) {
	if cr.cfg.Strict {
		return
	}
	if s.Inner == nil && (s.Type == uapi.MapTypeArrayOfMaps || s.Type == uapi.MapTypeHashOfMaps) {
		s.Inner = &maps.Spec{Name: s.Name + ".inner", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 4, MaxEntries: 1}
		cr.warnf("map %s has no inner map definition, which user space provides; it stays empty (set it with --inner-map %s=SPEC)", s.Name, s.Name)
	}
	if s.MaxEntries == 0 && s.KeySize != 0 && sized(s.Type) {
		s.MaxEntries = defaultEntries
		if s.Type == uapi.MapTypeCpumap {
			s.MaxEntries = uint32(cr.cfg.CPUs) // the kernel allows no more
		}
		cr.warnf("map %s has no size, which user space provides; assuming %d elements (set it with --map-size %s=N)", s.Name, s.MaxEntries, s.Name)
	}
	if s.MaxEntries == 0 && s.KeySize == 0 {
		switch s.Type {
		case uapi.MapTypeRingbuf, uapi.MapTypeUserRingbuf:
			s.MaxEntries = defaultRing
			cr.warnf("ring buffer %s has no size, which user space provides; assuming %d bytes (set it with --map-size %s=N)", s.Name, s.MaxEntries, s.Name)
		case uapi.MapTypeBloomFilter, uapi.MapTypeQueue, uapi.MapTypeStack:
			s.MaxEntries = defaultEntries
			cr.warnf("map %s has no size, which user space provides; assuming %d elements (set it with --map-size %s=N)", s.Name, s.MaxEntries, s.Name)
		}
	}
	if s.Type == uapi.MapTypeStackTrace && s.ValueSize == 0 {
		s.ValueSize = 8 * defaultStackDepth
		cr.warnf("stack trace map %s has no value size, which user space provides; assuming %d frames", s.Name, defaultStackDepth)
	}
}

// initMaps fills data maps, program arrays and maps of maps, as libbpf does after creation.
func (cr *creator) initMaps() error {
	for b := range cr.reg.maps.All() {
		if b.m == nil {
			continue
		}
		if err := cr.initMap(b); err != nil {
			return &MapError{Map: b.def.Name, Err: err}
		}
	}
	return nil
}

// fillMaps puts the elements of the configuration into maps.
func (cr *creator) fillMaps() error {
	for i := range cr.cfg.Contents {
		if err := cr.fillMap(&cr.cfg.Contents[i]); err != nil {
			return &MapError{Map: cr.cfg.Contents[i].Map, Err: err}
		}
	}
	return nil
}

func (cr *creator) fillMap(e *MapElement) error {
	for b := range cr.reg.maps.All() {
		if b.m == nil || b.def.Name != e.Map {
			continue
		}
		spec, value := b.m.Spec(), e.Value
		if len(e.Key) != int(spec.KeySize) || len(value) != int(spec.ValueSize) {
			return fmt.Errorf("an element of %d and %d bytes: map %s has keys of %d and values of %d", len(e.Key), len(value), e.Map, spec.KeySize, spec.ValueSize)
		}
		if spec.Type.PerCPU() {
			value = make([]byte, maps.UserValueSize(b.m))
			for at := 0; at < len(value); at += len(value) / cr.env.CPUs {
				copy(value[at:], e.Value)
			}
		}
		if errno := b.m.Update(maps.AllCPUs, e.Key, value, uint64(uapi.Any)); errno != 0 {
			return fmt.Errorf("map %s: element %x: %w", e.Map, e.Key, errno)
		}
		return nil
	}
	return fmt.Errorf("there is no map %s to fill", e.Map)
}

func (cr *creator) initMap(b *boundMap) error {
	if len(b.def.Data) > 0 && b.def.Type == uapi.MapTypeArray {
		value := make([]byte, b.m.Spec().ValueSize)
		copy(value, b.def.Data)
		if errno := b.m.Update(maps.AllCPUs, make([]byte, 4), value, uint64(uapi.Any)); errno != 0 {
			return fmt.Errorf("map %s: initial contents: %w", b.def.Name, errno)
		}
	}
	if a, ok := b.m.(maps.Arena); ok && len(b.def.Data) > 0 {
		if err := a.Poke(b.def.ArenaOffset, b.def.Data); err != nil {
			return fmt.Errorf("map %s: initial contents: %w", b.def.Name, err)
		}
	}
	for _, v := range b.def.Values {
		if err := cr.initSlot(b, v); err != nil {
			return err
		}
	}
	return nil
}

func (cr *creator) initSlot(b *boundMap, v loader.MapInit) error {
	switch t := b.m.(type) {
	case maps.ProgArray:
		p := cr.reg.byName[v.Prog]
		if p == nil {
			return fmt.Errorf("map %s[%d]: %w: %s", b.def.Name, v.Index, ErrNoProgram, v.Prog)
		}
		if errno := t.SetProg(uint32(v.Index), p); errno != 0 {
			return fmt.Errorf("map %s[%d] = %s: %w", b.def.Name, v.Index, v.Prog, errno)
		}
	case maps.OuterMap:
		inner := cr.reg.byDef[v.Map]
		if inner == nil || inner.m == nil {
			return fmt.Errorf("map %s[%d]: inner map was not created", b.def.Name, v.Index)
		}
		key := make([]byte, 4)
		cr.reg.linked.Object.ByteOrder.PutUint32(key, uint32(v.Index))
		if errno := t.SetInner(key, inner.m, uint64(uapi.Any)); errno != 0 {
			return fmt.Errorf("map %s[%d] = %s: %w", b.def.Name, v.Index, v.Map.Name, errno)
		}
	default:
		return fmt.Errorf("map %s of type %v cannot have initial values", b.def.Name, b.def.Type)
	}
	return nil
}
