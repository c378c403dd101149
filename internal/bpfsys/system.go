package bpfsys

import (
	"fmt"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/ordered"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// Config describes the kernel to simulate. Target is required.
type Config struct {
	Target *loader.Target
	// Machine configures the machine that runs the programs.
	Machine machine.Config
	// Release is what uname(2) gives as the kernel's release; empty is the target's.
	Release string
	// UID is the user who loads programs.
	UID uint32
	// Memory allocates size zeroed bytes that user space can map; if it is nil, the memory is
	// private to this process.
	Memory func(name string, size int) (Memory, error)
	// Freed is called for each object after its last reference is dropped.
	Freed func(Object)
	// Wake is called for each object on which a poll now returns.
	Wake func(Object)
	// Trace is called for every command, with its result.
	Trace func(name string, r Result)
	// Note is called with messages for the user about assumptions and about what is not simulated.
	Note func(text string)
	// HasDevice reports whether a network device exists in the initial network namespace without
	// having been created there; if it is nil, only device 1 does. DeviceNamed does the same for
	// names; nil means that it is called lo.
	HasDevice   func(ifindex uint32) bool
	DeviceNamed func(name string) bool
	// NetnsInode is the inode of the initial network namespace.
	NetnsInode uint32
	// OpenSockets lists the inodes of the host's sockets that callers have open; nil means that
	// sockets are never closed.
	OpenSockets func() []uint64
	// Clock returns the time of the host, which the simulated clocks then follow; nil means that
	// simulated time advances by helper calls and [System.Pass] alone.
	Clock func() Times
	// Time limits the verification of one program; 0 means 30 seconds.
	Time time.Duration
}

// System implements bpf(2) for one simulated kernel. Its methods may be called concurrently.
type System struct {
	mu       sync.Mutex
	cfg      Config
	target   *loader.Target
	release  uapi.Release
	rules    *since.Set
	kernel   *verifier.Kernel
	machine  *machine.Machine
	findings map[findingPlace]bool // those that were noted
	lacking  []string              // functions that probes were asked for and that are not there
	attrSize int

	byID    [numKinds]ordered.List[Object]
	last    [numKinds]uint32
	vmlinux *BTF

	userPages []*userPage
	shared    int // bytes of shared memory
	loaded    int // size of all loaded instructions and BTF, in bytes

	hooks    ordered.List[*attachment] // in the order of attachment
	lastHook uint32
	fs       bpffs
	trace    traceFiles
	statsOn  int
	noted    map[string]bool
	groups   map[place]*attachGroup
	tasks    map[string]*kobject.Object
	// askedNames are the names of events that were looked up, with their hooks.
	askedNames map[string]bool
	stand      map[fileID]*kobject.Object // objects that stand for files of the host
	// eventObjects are the objects of events other than tasks and sockets by their types and fields,
	// pointees the types to which arguments of hooks point.
	eventObjects map[string]*kobject.Object
	// bprm describes the exec of a real task, the last one.
	bprm     *kobject.Object
	pointees map[string]string
	// eventSockets are the sockets of events by family and protocol.
	eventSockets map[[2]uint16]*socketRing
	sockets      map[filtered]*attachment // programs of sockets
	// mapSockets are the inodes of sockets that may be in maps, socketsSeen when it was last looked
	// which sockets are open.
	mapSockets  map[uint64]bool
	socketsSeen time.Time
	// testArgs are what arguments of the kernel's test functions point to, by type.
	testArgs map[string]*kobject.Object
	process  process // of the syscall program that runs
	net      *network.Network
	tc       map[Device]*tcDevice
	losses   []Loss // of maps that exist no more
	ahead    uint64 // time that Pass let pass, which the host's clock does not know, in nanoseconds
}

// New creates a kernel without maps and programs. Close releases its memory.
func New(cfg Config) (*System, error) {
	t := cfg.Target
	if cfg.Clock != nil {
		now := cfg.Clock()
		cfg.Machine.Boot = 0
		cfg.Machine.Clock.Boot, cfg.Machine.Clock.Mono, cfg.Machine.Clock.Real = now.Boot, now.Mono, now.Real
		cfg.Machine.Clock.TAI = now.TAI
	}
	m, err := machine.New(loader.NewLinked(t), cfg.Machine)
	if err != nil {
		return nil, fmt.Errorf("bpfsys: %w", err)
	}
	s := &System{cfg: cfg, target: t, release: uapi.ReleaseOf(t.Version), rules: since.Of(t.Version).Rules(), kernel: verifier.KernelOf(t), machine: m, noted: map[string]bool{}}
	s.attrSize = attrSize(t.BTF, s.release)
	if cfg.Time == 0 {
		s.cfg.Time = 30 * time.Second
	}
	if cfg.Memory == nil {
		s.cfg.Memory = func(_ string, size int) (Memory, error) { return ownMemory(make([]byte, size)), nil }
	}
	if cfg.HasDevice == nil {
		s.cfg.HasDevice = func(i uint32) bool { return i == 1 }
	}
	if cfg.DeviceNamed == nil {
		s.cfg.DeviceNamed = func(name string) bool { return name == "lo" }
	}
	queues := 1
	if s.has(since.VethQueues) {
		queues = s.cpus()
	}
	s.net = network.New(network.Host{Index: s.cfg.HasDevice, Name: s.cfg.DeviceNamed}, queues)
	s.machine.Kernel().SetRelease(s.unameRelease())
	s.fs.init()
	if t.BTF != nil {
		s.vmlinux = s.kernelBTF("vmlinux", t.BTF)
		for _, mod := range t.Modules {
			s.kernelBTF(mod.Name, mod.BTF)
		}
	}
	return s, nil
}

// has reports whether the kernel follows a rule.
func (s *System) has(r since.Rule) bool { return s.rules.Has(r) }

// Close releases the simulated memory.
func (s *System) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind := range s.byID {
		for o := range s.byID[kind].All() {
			if m := o.head().mem; m != nil {
				m.Close()
				o.head().mem = nil
			}
		}
	}
	s.machine.Close()
}

// Target returns the simulated kernel.
func (s *System) Target() *loader.Target { return s.target }

// Machine returns the machine that runs the programs. It may be configured before the first call.
func (s *System) Machine() *machine.Machine { return s.machine }

// kernelBTF registers BTF of the kernel or a module as a permanent object.
func (s *System) kernelBTF(name string, spec *btf.Spec) *BTF {
	b := &BTF{spec: spec, raw: spec.Raw(), kernel: true}
	s.add(b, KindBTF, name, nil)
	b.refs = 1
	return b
}

// note shows a message to the user, once.
func (s *System) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.cfg.Note != nil && !s.noted[text] && len(s.noted) < 1000 {
		s.noted[text] = true
		s.cfg.Note(text)
	}
}

// maxShared and maxLoaded limit the memory that a tool can make the simulation allocate, in bytes.
const (
	maxShared = 1 << 30
	maxLoaded = 512 << 20
)

// share allocates the memory of an object that user space can map. It fails with ENOMEM beyond the
// limit.
func (s *System) share(o Object, size int) uapi.Errno {
	if o.head().mem != nil {
		return 0
	}
	if size <= 0 || size > maxShared-s.shared {
		return uapi.ENOMEM
	}
	m, err := s.cfg.Memory(o.Name(), size)
	if err != nil {
		s.note("no memory of %d bytes for %s %s: %v", size, o.Kind(), o.Name(), err)
		return uapi.ENOMEM
	}
	s.shared += size
	o.head().mem = m
	return 0
}

type ownMemory []byte

func (m ownMemory) Bytes() []byte { return m }
func (m ownMemory) Close()        {}

// envErrno returns the errno for an error from creating an object.
func envErrno(err error) uapi.Errno {
	switch e := err.(type) {
	case *maps.CreateError:
		return e.Errno
	case *maps.NotSimulated:
		return uapi.EOPNOTSUPP
	}
	return uapi.ENOMEM
}
