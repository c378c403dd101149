package kernel

import (
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/cpuset"
	"github.com/bpfrun/bpfrun/internal/kernel/clock"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/kernel/window"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/subsys/hid"
)

// Defaults and limits of one kernel.
const (
	maxCPUs        = cpuset.Most
	defaultCPUs    = 2
	defaultVersion = 6<<16 | 12<<8
)

// Config configures a Kernel. Mem is required. If BTF is nil, there are only contexts of the user
// space ABI.
type Config struct {
	Mem     *mem.Memory
	BTF     *btf.Spec
	Modules []*btf.Spec
	// Arch is the architecture as BTF-based tools name it: "x86", "arm64", "riscv", "arm", "s390".
	// If empty, it is derived from the layout of pt_regs.
	Arch    string
	Version uint32 // as LINUX_VERSION_CODE; 0 = 6.12
	Seed    uint64
	CPUs    int // 0 = 2
	Mode    object.Mode
	Clock   clock.Config
	Random  []uint64      // first values of the random number generator
	Types   *object.Types // shared cache; nil creates one
	// Kallsyms lists the existing symbols with their addresses; nil = the functions and variables
	// in BTF.
	Kallsyms map[string]uint64
	// Xattrs are extended attributes of files.
	Xattrs map[model.XattrKey]string
}

// Kernel is the simulated kernel of one machine. It embeds its parts with their methods. Create it
// with [New].
type Kernel struct {
	*object.Space   `snapshot:"part"`
	*window.User    `snapshot:"part"`
	*window.PerCPU  `snapshot:"part"`
	*window.Symbols `snapshot:"part"`
	*model.Model    `snapshot:"part"`
	*net.Host       `snapshot:"part"`
	*hook.Hooks     `snapshot:"part"`
	// HID has the HID devices.
	HID *hid.Bus `snapshot:"part"`

	clock  *clock.Clock
	rand   random
	stacks map[bool][]uint64 // chosen call stacks, by user
}

// New creates a kernel in cfg.Mem and adds its address windows. The error names an invalid setting.
func New(cfg Config) (*Kernel, error) {
	if cfg.Mem == nil {
		return nil, errors.New("kernel: no memory")
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
		cfg.Types = object.NewTypes()
	}
	if cfg.Arch == "" {
		cfg.Arch = hook.InferArch(cfg.BTF)
	}
	began := clock.New(cfg.Clock)
	k := &Kernel{clock: new(clock.Clock), rand: random{state: object.Hash(cfg.Seed, "random"), given: cfg.Random}, stacks: make(map[bool][]uint64)}
	*k.clock = began
	k.Space = object.New(object.Config{
		Mem: cfg.Mem, BTF: cfg.BTF, Modules: cfg.Modules, Types: cfg.Types, Arch: cfg.Arch, Version: cfg.Version, Seed: cfg.Seed, CPUs: cfg.CPUs,
		Mode: cfg.Mode, Began: began, Around: surroundings{k},
	})
	var err error
	if k.User, err = window.NewUser(k.Space); err != nil {
		return nil, err
	}
	if k.PerCPU, err = window.NewPerCPU(k.Space); err != nil {
		return nil, err
	}
	if k.Symbols, err = window.NewSymbols(k.Space, k.PerCPU, k.clock, cfg.Kallsyms); err != nil {
		return nil, err
	}
	k.Model = model.NewModel(k.Space, k.User)
	for key, value := range cfg.Xattrs {
		if !k.SetXattr(key, value) {
			return nil, fmt.Errorf("kernel: the extended attributes of %s do not fit into a file system's block", key.Path)
		}
	}
	k.Host = net.New(k.Space)
	k.HID = hid.New(k.Space)
	k.Hooks = hook.New(k.Space, k.User, k.Symbols, k.Model, k.Host, k.HID)
	return k, nil
}

// Clock returns the simulated clock.
func (k *Kernel) Clock() *clock.Clock { return k.clock }

// Random64 returns the next 64 bits of the seeded generator.
func (k *Kernel) Random64() uint64 { return k.rand.uint64() }

// Random32 returns the next random number, as bpf_get_prandom_u32 does; for a value from
// Config.Random, its low 32 bits.
func (k *Kernel) Random32() uint32 { return uint32(k.rand.uint64()) }
