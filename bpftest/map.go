package bpftest

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/bpfrun/bpfrun/loader"
	bpfmaps "github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
)

// Map is a map of an object, as user space sees it. Get it with [Object.Map].
type Map struct {
	o   *Object
	def *loader.Map
	m   bpfmaps.Map
}

// Errors of map operations, in a [*MapError].
var (
	ErrKeyNotExist = errors.New("key does not exist")
	ErrKeyExist    = errors.New("key already exists")
	ErrFull        = errors.New("map is full")
)

// MapError is a map operation that the kernel refuses.
type MapError struct {
	// Map is its name, Op the operation.
	Map, Op string
	// Errno is Linux's number of the error, Name its name (ENOENT).
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

// Is tells the kinds of errors apart.
func (e *MapError) Is(target error) bool {
	errno, ok := kinds[target]
	return ok && errno == uapi.Errno(e.Errno)
}

// ErrReadOnly is the kind of a [ReadOnlyError].
var ErrReadOnly = errors.New("read-only")

// ReadOnlyError means that a constant cannot be set after the object was loaded.
type ReadOnlyError struct{ Variable string }

// Error names the variable, and what would work.
func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("variable %s is a constant: set it before loading, with Load(..., bpftest.Set(%q, value))", e.Variable, e.Variable)
}

// Unwrap returns ErrReadOnly.
func (e *ReadOnlyError) Unwrap() error { return ErrReadOnly }

// Map returns a map by name. One that the object does not have, or that is not simulated, ends the test.
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

// Name is the map's name.
func (m *Map) Name() string { return m.def.Name }

// KeySize and ValueSize are sizes in bytes; ValueSize is that of one CPU.
func (m *Map) KeySize() int { return int(m.m.Spec().KeySize) }

// ValueSize is the size of a value in bytes, of per-CPU maps that of one CPU.
func (m *Map) ValueSize() int { return int(m.m.Spec().ValueSize) }

// MaxEntries is the number of elements the map may have.
func (m *Map) MaxEntries() int { return int(m.m.Spec().MaxEntries) }

// UpdateFlags say what an update does with elements that are there, or not.
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

// Lookup reads the value of a key into what out points to, as BPF_MAP_LOOKUP_ELEM does: integers with a width, arrays, structs of them with or without C's padding,
// *[]byte, *string, an encoding.BinaryUnmarshaler. Of per-CPU maps out points to a slice, which gets one value for each CPU; of queues and stacks the key is nil. A
// key that is not there gives [ErrKeyNotExist], a value of another size [ErrSize].
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

// Has reports whether a key is there.
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
		return fmt.Errorf("%s: of a per-CPU map want a pointer to a slice with one value for each CPU, got %T", what, out)
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

// Put stores a value, whether its key is there or not: [Map.Update] with [Any].
func (m *Map) Put(key, value any) error { return m.Update(key, value, Any) }

// Update stores a value as BPF_MAP_UPDATE_ELEM does. Keys and values are Go values as of [Map.Lookup]. Of per-CPU maps the value is a slice with one for each CPU, or one value for
// all; of program arrays a [*Program] of the object, of maps of maps a [*Map], of sockmaps a [*Struct]; of queues and stacks the key is nil.
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

// store puts objects into maps that hold no bytes; done is false of other maps.
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

// bytes makes a sample, which has the size of its Go value.
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
		return nil, fmt.Errorf("%s: %d values, there are %d CPUs: %w", what, r.Len(), cpus, ErrSize)
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

// LookupAndDelete reads and removes an element; of queues and stacks the key is nil and it is the next one.
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

// Iterator walks a map, see [Map.Iterate].
type Iterator struct {
	m    *Map
	last []byte
	done bool
	err  error
}

// Iterate walks the elements of a map as user space does. Arrays have all of their elements, hashes those that are there.
//
//	var key uint32
//	var value uint64
//	for it := m.Iterate(); it.Next(&key, &value); {
//	}
func (m *Map) Iterate() *Iterator { return &Iterator{m: m} }

// Next reads the next element; it is false at the end, and after an error.
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

// Err is the error that ended the walk; nil at the end of the map.
func (it *Iterator) Err() error { return it.err }

// Elements reads a whole map. Keys or values of another size end the test. V of per-CPU maps is a slice.
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

// Value reads the value of a key. A key that is not there ends the test, see [Map.Lookup] for one that does not.
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
