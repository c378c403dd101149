package helpers

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/deferred"
	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/helpers/owned"
	"github.com/bpfrun/bpfrun/helpers/printf"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

// Config configures an [Env].
type Config struct {
	Mem    *mem.Memory
	Kernel *kernel.Kernel
	Arch   string // the target's architecture ("x86", "arm64", ...)
	// Version is the target kernel's version (KERNEL_VERSION); error codes and return widths depend
	// on it.
	Version uint32
	// MapAt finds the map whose handle is at addr.
	MapAt func(addr uint64) (maps.Map, bool)
	// TailTarget returns the code of a program array's entry.
	TailTarget func(entry any) (*vm.Image, *vm.Action)
	// Strict makes reads of kernel memory that the kernel would allow, but whose result is
	// undefined, a fault. Otherwise Warn is called; it may be nil.
	Strict bool
	Warn   func(text string)
	// Overread is called in place of Warn for a read past the end of an object of the kernel; it
	// may be nil.
	Overread func(text string)
	// Overreads reports whether the running program may read past the end of objects of the kernel
	// even with Strict; it may be nil.
	Overreads func() bool
	// Local is the object's own BTF, whose type ids programs use to allocate objects; if it is nil,
	// allocations are refused.
	Local *btf.Spec
}

// Env is the machine as seen by the helpers. It is composed of parts with their own state, and has
// no state itself except for the current run. It is stored in [vm.Thread.User]. One Env serves one
// machine; Run is replaced for every run. Create it with [New].
type Env struct {
	Mem     *mem.Memory    `snapshot:"part"`
	Kernel  *kernel.Kernel `snapshot:"part"`
	Version uint32         `snapshot:"fixed"`
	Local   *btf.Spec      `snapshot:"fixed"` // see [Config]
	Run     *Run
	// Timers are the timers and work items in map values.
	Timers deferred.Queue `snapshot:"part"`
	// Simulation is what calls the programs, such as a [*Schedule]; nil for nothing.
	Simulation any `snapshot:"fixed"`

	finder     `snapshot:"fixed"`                      // objects by address
	mapTable                                           // maps by address
	tailTarget func(entry any) (*vm.Image, *vm.Action) `snapshot:"fixed"`
	guest      guest.Memory                            `snapshot:"part"`  // checked accesses
	probe      guest.Prober                            `snapshot:"fixed"` // reads that may fail
	heap       owned.Heap                              `snapshot:"part"`  // objects that programs allocate
	print      printf.Printer                          `snapshot:"fixed"`
	call       Call                                    `snapshot:"fixed"` // the current one
	syscalls   Syscalls                                `snapshot:"fixed"` // nil if programs have no process
}

// New returns an Env for a machine.
func New(cfg Config) *Env {
	e := &Env{Mem: cfg.Mem, Kernel: cfg.Kernel, Version: cfg.Version, Local: cfg.Local, tailTarget: cfg.TailTarget}
	e.guest = guest.NewMemory(cfg.Mem)
	e.finder = finder{mem: cfg.Mem, kernel: cfg.Kernel}
	e.mapTable = mapTable{at: cfg.MapAt}
	e.probe = guest.Prober{Mem: cfg.Mem, World: cfg.Kernel, X86: cfg.Arch == "x86", Strict: cfg.Strict, Warn: cfg.Warn, Overread: cfg.Overread, Overreads: cfg.Overreads}
	e.heap = owned.New(cfg.Mem, &e.guest)
	e.heap.OnFree = e.freeFields
	e.Timers = deferred.New(&e.guest, cfg.MapAt)
	e.print.Source = printSource{probe: &e.probe, kernel: cfg.Kernel, utf8: e.has(since.UTF8Formats)}
	return e
}

// has reports whether the kernel follows a rule.
func (e *Env) has(r since.Rule) bool { return since.Of(e.Version).Has(r) }

func envOf(t *vm.Thread) *Env { return t.User.(*Env) }

// LoadPast returns the result of a load through a typed pointer that extends past the end of its
// object, or is after it.
func (e *Env) LoadPast(r *mem.Region, addr uint64, size int) uint64 {
	return e.probe.LoadPast(r, addr, size)
}

// FreeField releases what a special field of a deleted map element owns: it cancels timers and work
// items and releases the object of a kptr. It can be used as [maps.Env.FreeField].
func (e *Env) FreeField(_ maps.Map, s maps.Special, addr uint64) {
	switch s.Kind {
	case maps.Timer, maps.Workqueue, maps.TaskWork:
		e.Timers.Drop(addr)
	case maps.Kptr, maps.KptrPercpu:
		if p, f := e.Mem.Load(addr, 8); f == nil && p != 0 {
			e.destroy(p)
		}
	case maps.ListHead:
		e.heap.DropList(addr)
	case maps.RBRoot:
		e.heap.DropTree(addr)
	}
}

// freeFields releases what the special fields of an object own when it is freed
// (bpf_obj_free_fields).
func (e *Env) freeFields(r *mem.Region) {
	fields, _ := r.Owner.([]maps.Special)
	for _, s := range fields {
		if s.Kind.Owns() {
			e.FreeField(nil, s, r.Base+uint64(s.Off))
		}
	}
}

// destroy releases the object of a kptr: one of the program's, or one of the kernel's by its
// destructor.
func (e *Env) destroy(addr uint64) {
	if s, ok := e.Simulation.(interface{ Released(addr uint64) bool }); ok && s.Released(addr) {
		return
	}
	e.heap.Drop(addr)
}

// mapRet returns the return value of map operations that the verifier calls directly: before Linux
// 6.4 they return int, so the upper half reads as zero ("bpf: Change map ops return type to long").
func (e *Env) mapRet(errno uapi.Errno) uint64 {
	if errno == 0 { // as most calls
		return 0
	}
	r := errnoRet(errno)
	if !e.has(since.MapRetLong) {
		r = uint64(uint32(r))
	}
	return r
}

func errnoRet(e uapi.Errno) uint64 { return uint64(e.Neg()) }

func memFault(f *mem.Fault) *vm.Action { return guest.Fault(f) }

func badArg(format string, args ...any) *vm.Action { return guest.BadArg(format, args...) }

func notSimulated(text string) *vm.Action { return guest.NotSimulated(text) }

func wrongMap(m maps.Map) *vm.Action {
	return badArg("map %s of type %v does not support this helper", m.Spec().Name, m.Spec().Type)
}
