package kernel

import (
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
)

// Mode says what a read of a field nobody has set yields.
type Mode uint8

const (
	// ModeDefault makes up a value from seed, role and path and keeps it.
	ModeDefault Mode = iota
	// ModeScenario yields 0 and logs the access as never set.
	ModeScenario
	// ModeStrict refuses the read with a NeverSet fault.
	ModeStrict
)

// Limits of one kernel.
const (
	maxObjects     = 1 << 16
	maxObjectSize  = 8 << 20
	maxTypedSize   = 1 << 20 // of an object with a type, whose fields get values one by one; the largest of real kernels has a third of it
	maxRecordSize  = 1 << 16 // of a trace record, whose offsets have 16 bits
	maxDepth       = 32      // pointers followed from a root object
	maxSameType    = 5       // objects of one type in a chain of pointers
	maxCPUs        = 1024
	flexibleElems  = 16 // elements a flexible array at the end of an object gets
	maxFlexible    = 2048
	defaultCPUs    = 2
	pageSize       = 4096
	defaultVersion = 6<<16 | 12<<8
)

// Config describes a Kernel. Mem is required; BTF may be nil, then there are only contexts of the user space ABI.
type Config struct {
	Mem     *mem.Memory
	BTF     *btf.Spec
	Modules []*btf.Spec
	// Arch is the architecture as BTF-based tools name it: "x86", "arm64", "riscv", "arm", "s390". Empty means: from the
	// layout of pt_regs.
	Arch    string
	Version uint32 // as LINUX_VERSION_CODE; 0 = 6.12
	Seed    uint64
	CPUs    int // 0 = 2
	Mode    Mode
	Clock   ClockConfig
	Random  []uint64 // the first values of the random generator
	Types   *Types   // shared cache; nil = an own one
	// Kallsyms gives addresses to symbols and names the symbols that exist; nil = the functions and variables in BTF.
	Kallsyms map[string]uint64
}

// Kernel is the simulated kernel of one machine. Construct it with [New].
type Kernel struct {
	mem     *mem.Memory
	btf     *btf.Spec
	modules []*btf.Spec
	types   *Types
	arch    string
	version uint32
	seed    uint64
	cpus    int
	mode    Mode
	prog    uapi.ProgType
	traced  uint64 // address of the traced function

	cpu    int
	event  event
	clock  Clock
	began  Clock // as configured; default times are before it
	rand   random
	sink   func(*Access)
	failed error // the first allocation that failed

	objects []*Object
	byRole  map[string]*Object // singletons and arguments, by their key
	current []*Object          // by CPU

	packets []*Packet          // of live contexts
	cells   []*uapiView        // of live contexts
	sockets []*Socket          // that programs have addresses of, or that are open
	byName  map[string]*Socket // default sockets of contexts
	net     Network

	// OnSocketFree is called when a socket ends that was made for one context and for which something is stored under its key.
	OnSocketFree func(key uint64)

	areas        map[*Object][]*Object // memory areas of the mm_structs that were given some
	cgroupByPath map[string]*Object    // cgroups that were built

	stacks      map[bool][]uint64 // chosen call stacks, by user
	userStrings map[string]uint64 // default strings in user memory, by role
	user        userMemory
	symbols     symbols
	percpu      percpu
}

// ErrNoMemory is the kind of errors that mean the simulated kernel cannot hold more objects.
var ErrNoMemory = errors.New("simulated kernel memory exhausted")

// New makes a kernel in cfg.Mem, to which it adds its address windows. The error says which setting makes no sense.
func New(cfg Config) (*Kernel, error) {
	if cfg.Mem == nil {
		return nil, errors.New("kernel: no memory given")
	}
	if cfg.BTF != nil && cfg.BTF.PointerSize() != cfg.Mem.PointerSize() {
		return nil, fmt.Errorf("kernel: pointers of %d bytes in BTF, of %d in memory", cfg.BTF.PointerSize(), cfg.Mem.PointerSize())
	}
	if cfg.CPUs == 0 {
		cfg.CPUs = defaultCPUs
	}
	if cfg.CPUs < 0 || cfg.CPUs > maxCPUs {
		return nil, fmt.Errorf("kernel: %d CPUs, want 1 to %d", cfg.CPUs, maxCPUs)
	}
	if cfg.Version == 0 {
		cfg.Version = defaultVersion
	}
	if cfg.Types == nil {
		cfg.Types = NewTypes()
	}
	k := &Kernel{
		mem: cfg.Mem, btf: cfg.BTF, modules: cfg.Modules, types: cfg.Types, arch: cfg.Arch, version: cfg.Version,
		seed: cfg.Seed, cpus: cfg.CPUs, mode: cfg.Mode, clock: newClock(cfg.Clock),
		rand:   random{state: hash(cfg.Seed, "random"), given: cfg.Random},
		byRole: make(map[string]*Object), userStrings: make(map[string]uint64), stacks: make(map[bool][]uint64), current: make([]*Object, cfg.CPUs),
	}
	k.areas, k.cgroupByPath = make(map[*Object][]*Object), make(map[string]*Object)
	k.began, k.net = k.clock, Network{Devices: defaultDevices}
	if k.arch == "" {
		k.arch = InferArch(cfg.BTF)
	}
	if err := k.addUserMemory(); err != nil {
		return nil, err
	}
	if err := k.addSymbols(cfg.Kallsyms); err != nil {
		return nil, err
	}
	if err := k.addPercpu(); err != nil {
		return nil, err
	}
	return k, nil
}

// Mem returns the memory the kernel lives in.
func (k *Kernel) Mem() *mem.Memory { return k.mem }

// BTF returns the target's BTF, nil when there is none.
func (k *Kernel) BTF() *btf.Spec { return k.btf }

// Types returns the layout cache, to share it with other kernels of the target.
func (k *Kernel) Types() *Types { return k.types }

// Arch returns the architecture ("x86", "arm64", "riscv", "arm", "s390"), empty when unknown.
func (k *Kernel) Arch() string { return k.arch }

// Version returns the kernel version as LINUX_VERSION_CODE.
func (k *Kernel) Version() uint32 { return k.version }

// Seed returns the seed of all default values.
func (k *Kernel) Seed() uint64 { return k.seed }

// Mode returns how never-set fields read.
func (k *Kernel) Mode() Mode { return k.mode }

// SetMode changes how never-set fields read from now on.
func (k *Kernel) SetMode(m Mode) { k.mode = m }

// CPUs returns the number of CPUs.
func (k *Kernel) CPUs() int { return k.cpus }

// CPU returns the CPU the current run is on.
func (k *Kernel) CPU() int { return k.cpu }

// SetCPU puts the following run on a CPU. The error names the range.
func (k *Kernel) SetCPU(cpu int) error {
	if cpu < 0 || cpu >= k.cpus {
		return fmt.Errorf("kernel: CPU %d, want 0 to %d", cpu, k.cpus-1)
	}
	k.cpu = cpu
	return nil
}

// Clock returns the simulated clock.
func (k *Kernel) Clock() *Clock { return &k.clock }

// Random64 returns the next 64 bits of the seeded generator.
func (k *Kernel) Random64() uint64 { return k.rand.uint64() }

// Random32 returns the next random number as bpf_get_prandom_u32 does; of a value given in Config.Random, its low 32 bits.
func (k *Kernel) Random32() uint32 { return uint32(k.rand.uint64()) }

// Err returns the first failure to make an object or string a field should have pointed to; such a field reads NULL.
func (k *Kernel) Err() error { return k.failed }

func (k *Kernel) fail(err error) {
	if k.failed == nil && err != nil {
		k.failed = err
	}
}

// hash derives a value from the seed and names.
func (k *Kernel) hash(parts ...string) uint64 { return hash(k.seed, parts...) }
