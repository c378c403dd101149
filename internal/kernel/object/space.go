package object

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/clock"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/undo"
)

// Mode selects what a read of a never-set field yields.
type Mode uint8

const (
	// ModeDefault generates a value from seed, role and path and keeps it.
	ModeDefault Mode = iota
	// ModeScenario yields 0 and logs the access as never set.
	ModeScenario
	// ModeStrict refuses the read with a NeverSet fault.
	ModeStrict
)

// ErrNoMemory means that the simulated kernel cannot hold more objects.
var ErrNoMemory = errors.New("simulated kernel memory exhausted")

// Limits of one space.
const (
	maxObjects    = 1 << 18
	maxObjectSize = 8 << 20
	maxTypedSize  = 1 << 20 // bytes in a typed object, whose fields are set one by one; the largest in real kernels is a third of it
	MaxDepth      = 32      // pointers followed from a root object
	maxSameType   = 5       // objects of one type in a chain of pointers
	flexibleElems = 16      // number of elements of a flexible array at the end of an object
	maxFlexible   = 2048
)

// Config configures a Space. Mem and Around are required, BTF may be nil.
type Config struct {
	Mem     *mem.Memory
	BTF     *btf.Spec
	Modules []*btf.Spec
	Types   *Types
	Arch    string
	Version uint32 // as LINUX_VERSION_CODE
	Seed    uint64
	CPUs    int
	Mode    Mode
	Began   clock.Clock // when the run begins; generated times are before it
	Around  Surroundings
}

// Space holds the objects of one kernel. Create it with [New].
type Space struct {
	mem     *mem.Memory   `snapshot:"fixed"`
	btf     *btf.Spec     `snapshot:"fixed"`
	modules []*btf.Spec   `snapshot:"fixed"`
	types   *Types        `snapshot:"fixed"`
	arch    string        `snapshot:"fixed"`
	version uint32        `snapshot:"fixed"`
	seed    uint64        `snapshot:"fixed"`
	cpus    int           `snapshot:"fixed"`
	began   clock.Clock   `snapshot:"fixed"`
	around  Surroundings  `snapshot:"fixed"`
	sink    func(*Access) `snapshot:"fixed"` // of the run, not of the kernel

	mode    Mode
	prog    uapi.ProgType // type of the running program: determines which fields stores may change
	noLoads bool          // the running program has no typed pointers to kernel memory
	failed  error         // the first allocation that failed
	objects []*Object
	byRole  undo.Map[string, *Object] // singletons and arguments, by their key
	journal journal                   `snapshot:"fixed"`
	lazy    lazy                      `snapshot:"fixed"`
}

// Surroundings provides what objects need from the rest of the kernel: the default content of
// well-known types, and the targets of pointers to other kinds of memory. An address of 0 makes the
// pointer NULL.
type Surroundings interface {
	// Populate sets the default content of an object's type.
	Populate(o *Object)
	// UserPointer creates the target of a pointer to user memory, UserString a string there.
	UserPointer(role string, spec *btf.Spec, to Pointee) uint64
	UserString(text string) uint64
	// FuncPointer chooses a function with a prototype.
	FuncPointer(role string, spec *btf.Spec, proto btf.ID) uint64
	// PercpuPointer allocates per-CPU memory for a type.
	PercpuPointer(role string, spec *btf.Spec, id btf.ID) uint64
	// ObjectAt finds objects in regions of another kind: per-CPU variables.
	ObjectAt(addr uint64) *Object
}

// New returns an empty space.
func New(c Config) *Space {
	return &Space{
		mem: c.Mem, btf: c.BTF, modules: c.Modules, types: c.Types, arch: c.Arch, version: c.Version, seed: c.Seed, cpus: c.CPUs, mode: c.Mode,
		began: c.Began, around: c.Around,
	}
}

// Snapshot is the state of a [Space] at one point in time.
type Snapshot struct {
	mode    Mode
	prog    uapi.ProgType
	noLoads bool
	failed  error
	objects []*Object
	states  []*state
	byRole  *undo.State[string, *Object]
}

// journal records which objects changed since a snapshot.
type journal struct {
	base    *Snapshot
	touched []*Object // in another state than at that time
	same    int       // the objects before this index are those of the snapshot
}

// Snapshot records all objects with their bytes, which are shared until they change.
func (s *Space) Snapshot() *Snapshot {
	c := &Snapshot{mode: s.mode, prog: s.prog, noLoads: s.noLoads, failed: s.failed, objects: slices.Clone(s.objects), states: make([]*state, len(s.objects)), byRole: s.byRole.Snapshot()}
	for i, o := range s.objects {
		o.st.shared, o.was0 = true, o.st
		c.states[i] = o.st
	}
	s.journal = journal{base: c, same: len(s.objects)}
	return c
}

// Restore restores a snapshot of this space. Objects created since are forgotten.
func (s *Space) Restore(c *Snapshot) {
	s.mode, s.prog, s.noLoads, s.failed = c.mode, c.prog, c.noLoads, c.failed
	s.byRole.Restore(c.byRole)
	j := &s.journal
	if j.base != c {
		s.objects = append(s.objects[:0], c.objects...)
		for i, o := range s.objects {
			c.states[i].shared = true
			o.st, o.was0 = c.states[i], c.states[i]
		}
		*j = journal{base: c, same: len(c.objects), touched: j.touched[:0]}
		return
	}
	for _, o := range j.touched {
		o.st = o.was0
	}
	clear(j.touched)
	clear(s.objects[j.same:])
	s.objects = append(s.objects[:j.same], c.objects[j.same:]...)
	j.same, j.touched = len(c.objects), j.touched[:0]
}

// Began returns the time at which the run began.
func (s *Space) Began() clock.Clock { return s.began }

// Mem returns the simulated memory that contains the objects.
func (s *Space) Mem() *mem.Memory { return s.mem }

// BTF returns the target's BTF, or nil.
func (s *Space) BTF() *btf.Spec { return s.btf }

// Modules returns the BTF of modules.
func (s *Space) Modules() []*btf.Spec { return s.modules }

// Types returns the layout cache, to share it with other kernels of the target.
func (s *Space) Types() *Types { return s.types }

// Arch returns the architecture ("x86", "arm64", "riscv", "arm", "s390"), or "" if unknown.
func (s *Space) Arch() string { return s.arch }

// Version returns the kernel version as LINUX_VERSION_CODE.
func (s *Space) Version() uint32 { return s.version }

// Seed returns the seed of all default values.
func (s *Space) Seed() uint64 { return s.seed }

// Mode returns how never-set fields read.
func (s *Space) Mode() Mode { return s.mode }

// SetMode changes how never-set fields read from now on.
func (s *Space) SetMode(m Mode) { s.mode = m }

// CPUs returns the number of CPUs.
func (s *Space) CPUs() int { return s.cpus }

// Err returns the first failure to create an object or string for a pointer field; such a field
// reads as NULL.
func (s *Space) Err() error { return s.failed }

func (s *Space) Fail(err error) {
	if s.failed == nil && err != nil {
		s.failed = err
	}
}

// Hash derives a value from the seed and names.
func (s *Space) Hash(parts ...string) uint64 { return Hash(s.seed, parts...) }

// Order returns the byte order of the target.
func (s *Space) Order() binary.ByteOrder { return s.mem.ByteOrder() }

func (s *Space) BigEndian() bool { return endian.IsBig(s.Order()) }
