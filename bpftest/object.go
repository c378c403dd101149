package bpftest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/nearest"
	"github.com/bpfrun/bpfrun/loader"
)

// Object is a BPF object loaded for a kernel, on a simulated machine of its own: programs, maps,
// global variables, a clock and kernel objects. Its methods must not be called concurrently; the
// objects of parallel tests are independent.
type Object struct {
	k    *Target
	t    TB
	m    *machine.Machine
	path string // of the file; "" for an object in memory
	elf  []byte
	cfg  loadOptions

	objects []*Struct // objects created so far, and the texts others were created from
	texts   []string
}

// Source is an object in memory. Package ebpfspec converts a CollectionSpec of
// github.com/cilium/ebpf into a Source.
type Source interface {
	// Object returns a name for messages and the bytes of an ELF object.
	Object() (name string, elf []byte, err error)
}

// Configured is a [Source] with load options of its own. They apply before the options of
// [Target.Load].
type Configured interface {
	Source
	Options() []LoadOption
}

// Filled is a [Source] with contents that an object file cannot hold, such as map elements. Fill is
// called after the object is loaded.
type Filled interface {
	Source
	Fill(*Object) error
}

// ELF returns a [Source] for an object in memory, for example one that go:embed read.
func ELF(name string, elf []byte) Source { return elfSource{name, elf} }

type elfSource struct {
	name string
	elf  []byte
}

// Object implements [Source].
func (s elfSource) Object() (string, []byte, error) { return s.name, s.elf, nil }

type loadOptions struct {
	globals map[string]any
	load    loader.LoadOptions
}

// LoadOption changes an object before it is loaded, as a loader in user space does.
type LoadOption func(*loadOptions)

// Set sets a global variable before loading. Constants (.rodata) can be set too; the code they
// disable is then dead. The value is a Go value of the variable's size.
func Set(variable string, value any) LoadOption {
	return func(o *loadOptions) { o.globals[variable] = value }
}

// MapSize sets a map's max_entries.
func MapSize(name string, entries uint32) LoadOption {
	return func(o *loadOptions) { o.load.MapSizes[name] = entries }
}

// Attach attaches a program to this function, tracepoint or hook instead of the one in its section
// name.
func Attach(program, to string) LoadOption {
	return func(o *loadOptions) { o.load.Attach[program] = to }
}

// Only loads only these programs, including optional ones (SEC("?...")).
func Only(programs ...string) LoadOption {
	return func(o *loadOptions) { o.load.Only = append(o.load.Only, programs...) }
}

// Without skips programs.
func Without(programs ...string) LoadOption {
	return func(o *loadOptions) {
		for _, p := range programs {
			o.load.NoLoad[p] = true
		}
	}
}

// Load loads an object for the kernel, from a path or a [Source]. Its memory is released when the
// test ends. An object that cannot be loaded ends the test. A program that the kernel would refuse
// does not; see [Program.Err].
func (k *Target) Load(object any, opts ...LoadOption) *Object {
	k.t.Helper()
	o, err := k.TryLoad(object, opts...)
	if err != nil {
		k.t.Fatalf("bpftest: %v", err)
	}
	return o
}

// TryLoad is [Target.Load] for tests that check the error.
func (k *Target) TryLoad(object any, opts ...LoadOption) (*Object, error) {
	o := &Object{k: k, t: k.t, cfg: loadOptions{globals: map[string]any{}, load: loader.LoadOptions{
		MapSizes: map[string]uint32{}, Attach: map[string]string{}, NoLoad: map[string]bool{},
	}}}
	if c, ok := object.(Configured); ok {
		opts = slices.Concat(c.Options(), opts)
	}
	for _, opt := range opts {
		opt(&o.cfg)
	}
	obj, err := o.open(object)
	if err != nil {
		return nil, err
	}
	if err := o.constants(obj); err != nil {
		return nil, err
	}
	linked, err := obj.Load(k.tgt, o.cfg.load)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", obj.Name, k.tgt.Name, err)
	}
	cfg := k.o.machine
	cfg.Types, cfg.Mode = k.kt, kobject.ModeScenario
	if !k.o.unverified {
		cfg.Verify = k.verdicts.Each(context.Background())(linked)
	}
	o.m, err = machine.New(linked, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", obj.Name, k.tgt.Name, err)
	}
	for _, w := range slices.Concat(obj.Warnings, o.m.Warnings()) {
		k.t.Logf("bpftest: %s: %s", obj.Name, w)
	}
	k.t.Cleanup(o.m.Close)
	if f, ok := object.(Filled); ok {
		return o, f.Fill(o)
	}
	return o, nil
}

func (o *Object) open(object any) (*loader.Object, error) {
	switch src := object.(type) {
	case string:
		o.path = src
		return loader.Open(src)
	case Source:
		name, elf, err := src.Object()
		if err != nil {
			return nil, err
		}
		o.elf = elf
		return loader.OpenBytes(name, elf)
	case nil:
		return nil, errors.New("Load(nil): want a path or a Source")
	}
	return nil, fmt.Errorf("Load(%T): want a path, bpftest.ELF(name, bytes), or ebpfspec.Of(spec)", object)
}

// constants passes the values of global variables to the loader.
func (o *Object) constants(obj *loader.Object) error {
	if len(o.cfg.globals) == 0 {
		return nil
	}
	o.cfg.load.GlobalBytes = map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(o.cfg.globals)) {
		_, v, ok := loader.FindVariable(obj.Maps, name, (*loader.Map).Settable)
		if !ok {
			return unknown("global variable", name, loader.VariableNames(obj.Maps, (*loader.Map).Settable))
		}
		b, err := marshal("variable "+name, o.cfg.globals[name], int(v.Size), obj.ByteOrder)
		if err != nil {
			return fmt.Errorf("Set(%q): %w", name, err)
		}
		o.cfg.load.GlobalBytes[name] = b
	}
	return nil
}

// ErrUnknown is wrapped by [*UnknownError].
var ErrUnknown = errors.New("no such name")

// UnknownError means that an object has no program, map or variable with that name.
type UnknownError struct {
	What, Name string
	// Near lists similar names, or all names if none is similar.
	Near []string
}

// Error names what is missing and what exists.
func (e *UnknownError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("no %s %q: the object has none", e.What, e.Name)
	}
	return fmt.Sprintf("no %s %q (available: %s)", e.What, e.Name, strings.Join(e.Near, ", "))
}

// Unwrap returns ErrUnknown.
func (e *UnknownError) Unwrap() error { return ErrUnknown }

func unknown(what, name string, names []string) error {
	const most = 8
	near := nearest.Names(name, names, 3)
	if len(near) == 0 {
		near = names[:min(len(names), most)]
	}
	return &UnknownError{what, name, near}
}

// fail ends the test if err is not nil.
func (o *Object) fail(err error) {
	if err != nil {
		o.t.Helper()
		o.t.Fatalf("bpftest: %s on %s: %v", o.m.Linked().Object.Name, o.k.Name(), err)
	}
}

// Target returns the kernel the object was loaded for.
func (o *Object) Target() *Target { return o.k }

// Programs returns the names of all programs, in the order of the file.
func (o *Object) Programs() []string { return o.m.Names() }

// Now returns the simulated monotonic time, the clock of bpf_ktime_get_ns. Each helper call that
// reads the clock advances it.
func (o *Object) Now() time.Duration { return time.Duration(o.m.Kernel().Clock().Mono()) }

// file returns the path of the object for a command line. An object that exists only in memory is
// first written to the directory for temporary files.
func (o *Object) file() string {
	if o.path != "" {
		if abs, err := filepath.Abs(o.path); err == nil {
			return abs
		}
		return o.path
	}
	f, err := os.CreateTemp("", "bpftest-*.o")
	if err != nil {
		return "OBJECT.o"
	}
	_, err = f.Write(o.elf)
	if err = errors.Join(err, f.Close()); err != nil {
		return "OBJECT.o"
	}
	o.path = f.Name()
	return o.path
}
