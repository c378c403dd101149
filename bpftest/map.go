package bpftest

import (
	"errors"
	"fmt"
	"reflect"

	bpfmaps "github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Map is a map of an object, as user space sees it. Get it with [Object.Map].
type Map struct {
	o   *Object
	def *loader.Map
	m   bpfmaps.Map
}

// Errors of map operations, wrapped by [*MapError].
var (
	ErrKeyNotExist = errors.New("key does not exist")
	ErrKeyExist    = errors.New("key already exists")
	ErrFull        = errors.New("map is full")
)

// MapError reports a map operation that the kernel refuses.
type MapError struct {
	// Map is the map's name, Op the operation.
	Map, Op string
	// Errno is Linux's error number, Name its name (ENOENT).
	Errno int
	Name  string
}

// Error names map, operation and error.
func (e *MapError) Error() string {
	text := e.Name
	for target := range kinds {
		if e.Is(target) {
			text += ", " + target.Error()
		}
	}
	return fmt.Sprintf("map %s: %s: %s", e.Map, e.Op, text)
}

var kinds = map[error]uapi.Errno{ErrKeyNotExist: uapi.ENOENT, ErrKeyExist: uapi.EEXIST, ErrFull: uapi.E2BIG}

// Is makes errors.Is work with the errors above.
func (e *MapError) Is(target error) bool {
	errno, ok := kinds[target]
	return ok && errno == uapi.Errno(e.Errno)
}

// ErrReadOnly is wrapped by [*ReadOnlyError].
var ErrReadOnly = errors.New("read-only")

// ReadOnlyError means that a constant cannot be set after the object was loaded.
type ReadOnlyError struct{ Variable string }

// Error names the variable and suggests an alternative.
func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("variable %s is a constant: set it before loading, with Load(..., bpftest.Set(%q, value))", e.Variable, e.Variable)
}

// Unwrap returns ErrReadOnly.
func (e *ReadOnlyError) Unwrap() error { return ErrReadOnly }

// Map returns a map by name. If the object has no such map, or the map is not simulated, the test
// ends.
func (o *Object) Map(name string) *Map {
	o.t.Helper()
	m, err := o.findMap(name)
	o.fail(err)
	return m
}

func (o *Object) findMap(name string) (*Map, error) {
	var names []string
	for _, def := range o.m.Linked().Maps {
		names = append(names, def.Name)
	}
	def, ok := o.m.Linked().Map(name)
	if !ok {
		return nil, unknown("map", name, names)
	}
	m, ok := o.m.Map(def)
	if !ok {
		return nil, fmt.Errorf("map %s of type %v: %w", name, def.Type, ErrNotSimulated)
	}
	return &Map{o, def, m}, nil
}

// Name returns the map's name.
func (m *Map) Name() string { return m.def.Name }

// KeySize returns the size of a key in bytes.
func (m *Map) KeySize() int { return int(m.m.Spec().KeySize) }

// ValueSize returns the size of a value in bytes; for per-CPU maps, the size on one CPU.
func (m *Map) ValueSize() int { return int(m.m.Spec().ValueSize) }

// MaxEntries returns the map's capacity.
func (m *Map) MaxEntries() int { return int(m.m.Spec().MaxEntries) }

// UpdateFlags restrict an update to existing or to new elements.
type UpdateFlags uint64

// Flags of [Map.Update].
const (
	Any     = UpdateFlags(uapi.Any)
	NoExist = UpdateFlags(uapi.NoExist)
	Exist   = UpdateFlags(uapi.Exist)
)

func (m *Map) errno(op string, e uapi.Errno) error {
	if e == 0 {
		return nil
	}
	return &MapError{m.def.Name, op, int(e), e.Name()}
}

func (m *Map) key(key any) ([]byte, error) {
	if key == nil && m.KeySize() == 0 { // queues and stacks
		return nil, nil
	}
	return marshal("key of map "+m.def.Name, key, m.KeySize(), m.o.order())
}

// Lookup reads the value of a key into out, as BPF_MAP_LOOKUP_ELEM does. out points to an integer
// of fixed width, an array, a struct of these (with or without C's padding), a []byte or a string,
// or is an encoding.BinaryUnmarshaler. For per-CPU maps out points to a slice, which gets one value
// for each CPU. For queues and stacks the key is nil. A missing key is [ErrKeyNotExist], a value of
// another size [ErrSize].
func (m *Map) Lookup(key, out any) error {
	k, err := m.key(key)
	if err != nil {
		return err
	}
	v, e := bpfmaps.UserLookup(m.m, k, make([]byte, m.ValueSize()), 0)
	if e != 0 {
		return m.errno("lookup", e)
	}
	return m.decode(v, out)
}

// Has reports whether the map contains a key.
func (m *Map) Has(key any) bool {
	m.o.t.Helper()
	k, err := m.key(key)
	m.o.fail(err)
	_, e := bpfmaps.UserLookup(m.m, k, make([]byte, m.ValueSize()), 0)
	return e == 0
}

func (m *Map) decode(v []byte, out any) error {
	what := "value of map " + m.def.Name
	if !m.m.Spec().Type.PerCPU() {
		return unmarshal(what, v, out, m.o.order())
	}
	r := reflect.ValueOf(out)
	if r.Kind() != reflect.Pointer || r.IsNil() || r.Elem().Kind() != reflect.Slice || r.Elem().Type().Elem().Kind() == reflect.Uint8 && m.ValueSize() != 1 {
		return fmt.Errorf("%s: a per-CPU map needs a pointer to a slice with one value for each CPU, not %T", what, out)
	}
	cpus := m.o.m.Kernel().CPUs()
	step := len(v) / cpus
	list := reflect.MakeSlice(r.Elem().Type(), cpus, cpus)
	for cpu := range cpus {
		if err := unmarshal(what, v[cpu*step:cpu*step+m.ValueSize()], list.Index(cpu).Addr().Interface(), m.o.order()); err != nil {
			return err
		}
	}
	r.Elem().Set(list)
	return nil
}

// Put stores a value, whether or not its key exists: [Map.Update] with [Any].
func (m *Map) Put(key, value any) error { return m.Update(key, value, Any) }

// Update stores a value as BPF_MAP_UPDATE_ELEM does. Keys and values are Go values as for
// [Map.Lookup]. For per-CPU maps the value is a slice with one element for each CPU, or a single
// value for all; for program arrays a [*Program] of the object, for maps of maps a [*Map], for
// sockmaps a [*Struct]. For queues and stacks the key is nil.
func (m *Map) Update(key, value any, flags UpdateFlags) error {
	k, err := m.key(key)
	if err != nil {
		return err
	}
	if done, err := m.store(k, value, uint64(flags)); done {
		return err
	}
	v, err := m.encode(value)
	if err != nil {
		return err
	}
	return m.errno("update", bpfmaps.UserUpdate(m.m, k, v, uint64(flags)))
}

// store updates maps whose elements are objects, not bytes; done is false for other maps.
func (m *Map) store(k []byte, value any, flags uint64) (done bool, err error) {
	switch t := m.m.(type) {
	case bpfmaps.ProgArray:
		p, ok := value.(*Program)
		if !ok || p == nil || p.o != m.o {
			return true, fmt.Errorf("value of map %s: want a *Program of the object, got %T", m.def.Name, value)
		}
		return true, m.o.m.SetProg(t, m.o.order().Uint32(k), p.name)
	case bpfmaps.OuterMap:
		in, ok := value.(*Map)
		if !ok || in == nil || in.o != m.o {
			return true, fmt.Errorf("value of map %s: want a *Map of the object, got %T", m.def.Name, value)
		}
		return true, m.errno("update", t.SetInner(k, in.m, flags))
	case bpfmaps.SockMap:
		s, ok := value.(*Struct)
		if !ok || s == nil || s.o != m.o {
			break
		}
		sock, err := m.o.m.Kernel().SocketOf(s.obj)
		if err != nil {
			return true, fmt.Errorf("value of map %s: %w", m.def.Name, err)
		}
		return true, m.errno("update", t.SetSock(k, sock, flags))
	case bpfmaps.UserRing:
		b, err := m.bytes(value)
		if err != nil {
			return true, err
		}
		return true, m.errno("update", t.Push(b))
	}
	return false, nil
}

// bytes encodes a value whose size is that of its Go type.
func (m *Map) bytes(value any) ([]byte, error) {
	what := "sample of map " + m.def.Name
	if b, ok := value.([]byte); ok {
		return b, nil
	}
	size, err := sizeOf(what, value)
	if err != nil {
		return nil, err
	}
	return marshal(what, value, size, m.o.order())
}

func (m *Map) encode(value any) ([]byte, error) {
	what := "value of map " + m.def.Name
	if !m.m.Spec().Type.PerCPU() {
		return marshal(what, value, m.ValueSize(), m.o.order())
	}
	cpus := m.o.m.Kernel().CPUs()
	all := make([]byte, bpfmaps.UserValueSize(m.m))
	step := len(all) / cpus
	r := reflect.ValueOf(value)
	list := r.IsValid() && r.Kind() == reflect.Slice && r.Type().Elem().Kind() != reflect.Uint8
	if list && r.Len() != cpus {
		return nil, fmt.Errorf("%s: %d values for %d CPUs: %w", what, r.Len(), cpus, ErrSize)
	}
	for cpu := range cpus {
		one := value
		if list {
			one = r.Index(cpu).Interface()
		}
		b, err := marshal(what, one, m.ValueSize(), m.o.order())
		if err != nil {
			return nil, err
		}
		copy(all[cpu*step:], b)
	}
	return all, nil
}

// Delete removes an element.
func (m *Map) Delete(key any) error {
	k, err := m.key(key)
	if err != nil {
		return err
	}
	return m.errno("delete", bpfmaps.UserDelete(m.m, k))
}

// LookupAndDelete reads and removes an element. For queues and stacks the key is nil, and it takes
// the next element.
func (m *Map) LookupAndDelete(key, out any) error {
	k, err := m.key(key)
	if err != nil {
		return err
	}
	v, e := bpfmaps.UserLookupDelete(m.m, k, 0)
	if e != 0 {
		return m.errno("lookup and delete", e)
	}
	return m.decode(v, out)
}

// Iterator walks a map; see [Map.Iterate].
type Iterator struct {
	m    *Map
	last []byte
	done bool
	err  error
}

// Iterate walks the elements of a map as user space does. Arrays always have all of their elements.
//
//	var key uint32
//	var value uint64
//	for it := m.Iterate(); it.Next(&key, &value); {
//	}
func (m *Map) Iterate() *Iterator { return &Iterator{m: m} }

// Next reads the next element. It returns false at the end and after an error.
func (it *Iterator) Next(key, value any) bool {
	for !it.done && it.err == nil {
		k, e := bpfmaps.UserNextKey(it.m.m, it.last)
		if e == uapi.ENOENT {
			it.done = true
			break
		}
		if it.err = it.m.errno("next key", e); it.err != nil {
			break
		}
		it.last = append([]byte(nil), k...)
		v, e := bpfmaps.UserLookup(it.m.m, it.last, nil, 0)
		if e == uapi.ENOENT { // an empty slot of an array of maps or programs
			continue
		}
		if it.err = it.m.errno("lookup", e); it.err != nil {
			break
		}
		if it.err = unmarshal("key of map "+it.m.def.Name, it.last, key, it.m.o.order()); it.err == nil {
			it.err = it.m.decode(v, value)
		}
		return it.err == nil
	}
	return false
}

// Err returns the error that ended the walk, or nil if it reached the end of the map.
func (it *Iterator) Err() error { return it.err }

// Elements reads a whole map. If K or V has the wrong size, the test ends. For per-CPU maps V is a
// slice.
func Elements[K comparable, V any](m *Map) map[K]V {
	m.o.t.Helper()
	out := map[K]V{}
	it := m.Iterate()
	for {
		var k K
		var v V
		if !it.Next(&k, &v) {
			break
		}
		out[k] = v
	}
	m.o.fail(it.Err())
	return out
}

// Value reads the value of a key. A missing key ends the test; use [Map.Lookup] to get an error
// instead.
func Value[V any](m *Map, key any) V {
	m.o.t.Helper()
	var v V
	m.o.fail(m.Lookup(key, &v))
	return v
}

func isPerf(m bpfmaps.Map) bool {
	_, ok := m.(bpfmaps.PerfArray)
	return ok
}
