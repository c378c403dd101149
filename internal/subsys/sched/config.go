package sched

import (
	"fmt"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/cpuset"
)

// Mask is a set of CPUs.
type Mask = cpuset.Set

// MaxCPUs is the largest number of CPUs of a simulation.
const MaxCPUs = cpuset.Most

// MaskOf returns the set of the given CPUs.
func MaskOf(cpus ...int) Mask { return cpuset.Of(cpus...) }

// CPU is the place of a CPU in the topology: CPUs with the same Core are SMT siblings, those with
// the same LLC share a cache, those with the same Node its memory.
type CPU struct{ Core, LLC, Node int }

// Topology returns CPUs of which each core has smt, each cache llc and each node node CPUs; 0 means
// one CPU for a core, and all of them for the others.
func Topology(cpus, smt, llc, node int) []CPU {
	in := func(i, n, otherwise int) int {
		if n <= 0 {
			n = otherwise
		}
		return i / n
	}
	out := make([]CPU, cpus)
	for i := range out {
		out[i] = CPU{Core: in(i, smt, 1), LLC: in(i, llc, cpus), Node: in(i, node, cpus)}
	}
	return out
}

// Apart returns the CPUs of [Topology] as x86 firmware numbers them: first one CPU of each core,
// then the next one of each.
func Apart(cpus, smt, llc, node int) []CPU {
	smt = max(smt, 1)
	cores := (cpus + smt - 1) / smt
	near := Topology(cores*smt, smt, llc, node)
	out := make([]CPU, cpus)
	for i := range out {
		out[i] = near[i%cores*smt+i/cores]
	}
	return out
}

// OpsFlags are the flags of struct sched_ext_ops (enum scx_ops_flags).
type OpsFlags uint64

// The flags that change what the kernel does.
const (
	KeepBuiltinIdle      OpsFlags = 1 << 0
	EnqLast              OpsFlags = 1 << 1
	EnqExiting           OpsFlags = 1 << 2
	SwitchPartial        OpsFlags = 1 << 3
	EnqMigrationDisabled OpsFlags = 1 << 4
	AllowQueuedWakeup    OpsFlags = 1 << 5
	BuiltinIdlePerNode   OpsFlags = 1 << 6
	AlwaysEnqImmed       OpsFlags = 1 << 7
	TidToTask            OpsFlags = 1 << 8
)

// Values are numbers that differ between releases: the enumerators of the kernel's BTF.
type Values struct {
	EnqWakeup, EnqHead, EnqSelected uint64
	// EnqImmed is 0 before Linux 7.1, which ignores that flag.
	EnqImmed uint64
	// SliceBypass is 0 before Linux 6.19, which has no other slice in bypass mode than elsewhere.
	SliceBypass uint64
	// AllFlags are the flags that schedulers may set.
	AllFlags OpsFlags
	// Cids means that the kernel has schedulers that know CPUs by cid; only these may have others
	// below them then.
	Cids bool
}

// DefaultValues are those of Linux 7.2.
var DefaultValues = Values{EnqWakeup: 1, EnqHead: 1 << 16, EnqSelected: 1 << 20, EnqImmed: 1 << 33, SliceBypass: 5_000_000, AllFlags: TidToTask<<1 - 1, Cids: true}

// ValuesOf returns the numbers of a kernel, given its enumerators; Cids is not among these.
func ValuesOf(enumerator func(name string) (uint64, bool)) Values {
	v := DefaultValues
	for name, to := range map[string]*uint64{
		"SCX_ENQ_WAKEUP": &v.EnqWakeup, "SCX_ENQ_HEAD": &v.EnqHead, "SCX_ENQ_CPU_SELECTED": &v.EnqSelected, "SCX_OPS_ALL_FLAGS": (*uint64)(&v.AllFlags),
	} {
		if n, ok := enumerator(name); ok {
			*to = n
		}
	}
	v.EnqImmed, _ = enumerator("SCX_ENQ_IMMED")
	v.SliceBypass, _ = enumerator("SCX_SLICE_BYPASS")
	v.Cids = false
	return v
}

// Flags that no release changed (enum scx_enq_flags, scx_deq_flags, scx_wake_flags, scx_kick_flags,
// scx_pick_idle_cpu_flags).
const (
	EnqPreempt  uint64 = 1 << 32
	EnqReenq    uint64 = 1 << 40
	EnqLastTask uint64 = 1 << 41
	enqInternal uint64 = 0xff << 56
	enqPriq     uint64 = 1 << 57

	deqSleep  uint64 = 1
	deqChange uint64 = 1 << 33

	wakeFork uint64 = 4
	wakeTTWU uint64 = 8
	WakeSync uint64 = 16

	KickIdle    uint64 = 1
	KickPreempt uint64 = 2
	KickWait    uint64 = 4

	PickIdleCore   uint64 = 1
	PickIdleInNode uint64 = 2
)

// Slices of tasks, in nanoseconds.
const (
	SliceDefault  uint64 = 20_000_000
	SliceInfinite        = ^uint64(0)
)

// The watchdog's limit, and how many tasks one call of dispatch may insert (enum scx_consts).
const (
	maxTimeout   = 30 * time.Second
	defaultBatch = 32
	maxDispatch  = 32 // calls of dispatch in one pass
)

// Limits of a simulation.
const (
	MaxDuration = 10 * time.Minute // of simulated time
	MaxTasks    = 1 << 14
	MaxSteps    = 10_000 // of a timeline
	maxCgroups  = 4096
	maxPath     = 4096 // PATH_MAX
)

// Config describes what is simulated.
type Config struct {
	CPUs []CPU
	// HZ is the number of ticks per second; 0 means 250.
	HZ int
	// Duration is the simulated time after which user space unregisters the scheduler.
	Duration time.Duration
	// Events limits the events of the simulation; 0 means [event.DefaultEvents].
	Events int
	// Flags, Timeout and Batch are those of the scheduler: flags, timeout_ms and
	// dispatch_max_batch.
	Flags   OpsFlags
	Timeout time.Duration
	Batch   int
	// Cid means that the scheduler knows CPUs by cid (struct sched_ext_ops_cid).
	Cid    bool
	Values Values
	Tasks  []TaskSpec
}

// ConfigError means that a simulation cannot be set up as described.
type ConfigError struct{ What string }

// Error says what is wrong.
func (e *ConfigError) Error() string { return "schedule: " + e.What }

func bad(format string, args ...any) error { return &ConfigError{fmt.Sprintf(format, args...)} }

// Check returns an error for a configuration that makes no sense.
func Check(c Config) error { return c.check() }

// check returns an error for what cannot be simulated.
func (c *Config) check() error {
	switch {
	case len(c.CPUs) == 0 || len(c.CPUs) > MaxCPUs:
		return bad("%d CPUs, want 1 to %d", len(c.CPUs), MaxCPUs)
	case c.Duration <= 0 || c.Duration > MaxDuration:
		return bad("a duration of %v, want more than 0 and at most %v", c.Duration, MaxDuration)
	case c.HZ < 0 || c.HZ > 10_000:
		return bad("%d ticks per second, want 1 to 10000", c.HZ)
	case len(c.Tasks) > MaxTasks:
		return bad("%d tasks, want at most %d", len(c.Tasks), MaxTasks)
	}
	for _, cpu := range c.CPUs {
		if cpu.Core < 0 || cpu.LLC < 0 || cpu.Node < 0 || cpu.Node >= len(c.CPUs) {
			return bad("a CPU of core %d, cache %d, node %d: want numbers from 0 on", cpu.Core, cpu.LLC, cpu.Node)
		}
	}
	names := map[string]bool{}
	for i := range c.Tasks {
		t := &c.Tasks[i]
		if names[t.Name] {
			return bad("two tasks are called %s", t.Name)
		}
		names[t.Name] = true
	}
	all := c.all()
	for i := range c.Tasks {
		if err := c.Tasks[i].check(names, &all); err != nil {
			return err
		}
	}
	return c.checkCgroups()
}

// checkCgroups returns an error for cgroups that cannot exist, or too many.
func (c *Config) checkCgroups() error {
	seen := map[string]bool{}
	for i := range c.Tasks {
		t := &c.Tasks[i]
		if t.Cgroup != "" && !isPath(t.Cgroup) {
			return bad("task %s: the cgroup %.40q is no absolute path of less than %d bytes", t.Name, t.Cgroup, maxPath)
		}
		addCgroup(seen, t.Cgroup)
		for _, s := range t.Steps {
			if (s.Kind == DoMove || s.Kind.groupStep()) && !isPath(s.To) {
				return bad("task %s: the cgroup %.40q is no absolute path of less than %d bytes", t.Name, s.To, maxPath)
			}
			addCgroup(seen, s.To)
		}
		if len(seen) > maxCgroups {
			return bad("%d cgroups, want at most %d", len(seen), maxCgroups)
		}
	}
	return nil
}

func isPath(p string) bool { return strings.HasPrefix(p, "/") && len(p) < maxPath }

// addCgroup adds a cgroup and those around it to a set of paths.
func addCgroup(to map[string]bool, p string) {
	for p = strings.TrimRight(p, "/"); p != "" && !to[p]; p = strings.TrimRight(p[:strings.LastIndexByte(p, '/')], "/") {
		to[p] = true
	}
}

func (c *Config) all() Mask { return cpuset.Below(len(c.CPUs)) }
