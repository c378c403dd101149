package machine

import (
	"errors"
	"fmt"
	"time"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/cpuset"
	"github.com/bpfrun/bpfrun/internal/kernel"
	kclock "github.com/bpfrun/bpfrun/internal/kernel/clock"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// Config configures a simulated machine. The zero value is usable.
type Config struct {
	// Seed determines every simulated value that is not set explicitly.
	Seed uint64
	// CPUs is the number of possible CPUs, at most MaxCPUs; 0 means two.
	CPUs int
	// Boot is the time since boot when the first run starts; 0 means one hour.
	Boot time.Duration
	// MaxInsns limits the instructions of one run; 0 means 100 million.
	MaxInsns uint64
	// MaxKept limits the host memory, in bytes, for what programs make the simulation keep:
	// records, effects, trace lines and queue elements, with their results and reports; 0 means
	// [mem.DefaultHostLimit].
	MaxKept uint64
	// Strict makes reads of memory that was never set a fault.
	Strict bool
	// Types is a cache of type layouts that machines for one target can share.
	Types *object.Types
	// Engine selects what executes programs.
	Engine Engine
	// EagerLoops makes native code optimise loops when a program first runs, instead of after it
	// has run for long; for tests.
	EagerLoops bool
	// OnDifference receives the differences that EngineBoth finds.
	OnDifference func(text string)
	// Tracked means that every run is tracked for bytes that were never written, not only some
	// where there is native code: each begins on the interpreter.
	Tracked bool
	// Uncovered disables the recording of executed instructions.
	Uncovered bool
	// Cover receives what each run executed. It overrides Uncovered and also records which branches
	// conditional jumps take.
	Cover CoverSink
	// Ways also records which branches conditional jumps take, for [Machine.Covered]. Cover implies
	// it.
	Ways bool
	// Unwatched disables the recording of changes to maps.
	Unwatched bool
	// Mode selects the values of kernel fields that were not set.
	Mode object.Mode
	// Clock sets the clocks; Boot above overrides its Boot.
	Clock kclock.Config
	// Random are the first values of the random number generator.
	Random []uint64
	// Xattrs are extended attributes of files.
	Xattrs map[model.XattrKey]string
	// Consume selects when simulated user space reads ring and perf buffers.
	Consume maps.ConsumeMode
	// Restores means that the machine will be restored very often: a restore then costs nothing for
	// the memory of maps that no program stored to, and the first store into it more.
	Restores bool
	// Simulates are the subsystems (keys of package ops) whose programs a simulation calls. They
	// cannot run otherwise.
	Simulates []string
	// Ignore silences findings, and reads that are not proved (wrong-field).
	Ignore []finding.Ignore
	// Contents are elements that user space puts into maps before any program runs.
	Contents []MapElement
	// Verify returns what the verifier of the target's kernel says about a program. If it is nil,
	// there are no verdicts.
	Verify func(*loader.LinkedProgram) loader.Verified
}

// MapElement is an element of a map. The value of a per-CPU map is that of each CPU.
type MapElement struct {
	Map        string
	Key, Value []byte
}

// MaxCPUs is the largest number of simulated CPUs.
const MaxCPUs = cpuset.Most

const (
	defaultCPUs     = 2
	defaultMaxInsns = 100_000_000
)

// Machine runs the programs of one linked object. It is composed of parts with their own state:
// what exists ([registry], [globals]), how it was created ([creator], [binder], [warnings]), and
// what concerns a run ([contexts], [recorder], [accounts], [coverage], [addresses], [parking]). Its
// own state is the simulated hardware and kernel that they share. Machine itself only drives runs:
// begin, step, finish, let time pass.
type Machine struct {
	registry
	globals
	creator
	binder
	warnings
	contexts
	recorder
	accounts
	coverage
	attached trampolines
	addresses
	parking

	linked *loader.Linked
	cfg    Config
	mem    *mem.Memory
	kernel *kernel.Kernel
	env    *helpers.Env
	mapEnv *maps.Env
	text   *vm.Text
	thread *vm.Thread
	engine *jit.Engine // nil for the interpreter only
	here   func() (*vm.Image, int)

	untracked bool     // runs are being timed
	observer  Observer // of runs, or nil
	host      mem.Host // memory that programs make the simulation keep
}

// warnings lists the assumptions made when the machine was created.
type warnings struct{ list []string }

// Warnings returns the assumptions made when the machine was created.
func (ws *warnings) Warnings() []string { return ws.list }

func (ws *warnings) warnf(format string, args ...any) {
	ws.list = append(ws.list, fmt.Sprintf(format, args...))
}

// MapError means that a map of the object could not be created.
type MapError struct {
	Map string
	Err error
	// Hint suggests what to do next.
	Hint string
}

// Error names the map, the reason and the next step.
func (e *MapError) Error() string {
	if e.Hint != "" {
		return fmt.Sprintf("%v (%s)", e.Err, e.Hint)
	}
	return e.Err.Error()
}

// Unwrap returns the reason.
func (e *MapError) Unwrap() error { return e.Err }

// New creates a machine for a linked object: simulated memory and kernel, the object's maps with
// their initial contents, and every program that can be loaded. The error is a [*MapError] if the
// kernel would refuse to create a map. Call Close to release the memory.
func New(l *loader.Linked, cfg Config) (*Machine, error) {
	if cfg.CPUs == 0 {
		cfg.CPUs = defaultCPUs
	}
	if cfg.MaxInsns == 0 {
		cfg.MaxInsns = defaultMaxInsns
	}
	m := &Machine{linked: l, cfg: cfg, registry: newRegistry(l)}
	if err := m.compose(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Machine) compose() (err error) {
	t := m.linked.Target
	ptr, order := 8, m.linked.Object.ByteOrder
	if t.BTF != nil {
		ptr = t.BTF.PointerSize()
	}
	memory := mem.Config{PointerSize: ptr, ByteOrder: order}
	if m.cfg.Restores {
		memory.TrackStores = mem.SealedFrom
	}
	if m.mem, err = mem.New(memory); err != nil {
		return err
	}
	clock := m.cfg.Clock
	if m.cfg.Boot != 0 {
		clock.Boot = uint64(m.cfg.Boot)
	}
	var modules []*btf.Spec
	for _, mod := range t.Modules {
		modules = append(modules, mod.BTF)
	}
	m.kernel, err = kernel.New(kernel.Config{
		Mem: m.mem, BTF: t.BTF, Modules: modules, Arch: t.Arch, Version: t.Version, Seed: m.cfg.Seed, CPUs: m.cfg.CPUs,
		Mode: m.cfg.Mode, Clock: clock, Random: m.cfg.Random, Types: m.cfg.Types, Kallsyms: t.Kallsyms, Xattrs: m.cfg.Xattrs,
	})
	if err != nil {
		return err
	}
	m.mapEnv = &maps.Env{Mem: m.mem, CPUs: m.cfg.CPUs, Seed: m.cfg.Seed, KernelVersion: t.Version, KernelBTF: t.BTF, Consume: m.cfg.Consume}
	m.host.Limit = m.cfg.MaxKept
	m.mapEnv.Host = &m.host
	m.mapEnv.Now = func() uint64 { return m.kernel.Clock().Mono() }
	m.mapEnv.OnLimit = func(err error) { m.work.err = err }
	m.kernel.OnSocketFree = m.dropStorage
	m.env = helpers.New(helpers.Config{
		Mem: m.mem, Kernel: m.kernel, Arch: t.Arch, Version: t.Version,
		Strict: m.cfg.Strict, Warn: func(text string) { m.run.warn(text) }, Overread: m.overread, Overreads: m.overreads,
		MapAt: m.mapAt, TailTarget: tailTarget, Local: m.linked.Object.BTF,
	})
	m.mapEnv.FreeField = m.env.FreeField
	m.text = vm.NewText(0)
	m.thread = vm.NewThread(m.mem, vm.ThreadConfig{Strict: m.cfg.Strict, Garbage: garbage(m.kernel), CountsDown: countsDown(t.Arch, since.Of(t.Version))})
	if !m.cfg.Strict {
		m.mem.OnUnset = m.unset
	}
	m.mem.OnUnwritten = func(u mem.Unset) { m.unwritten(u) }
	m.furnish()
	m.thread.User = m.env
	m.here = m.atInsn // created once, because each run needs it
	m.thread.Skb = m.skbLoad
	if m.cfg.Cover != nil {
		m.cfg.Uncovered = false
	}
	if !m.cfg.Uncovered {
		m.thread.SetPatches(m.coverage.start())
	}
	if err := m.setEngine(); err != nil {
		return err
	}
	if err := m.createMaps(); err != nil {
		return err
	}
	for _, lp := range m.linked.Programs {
		m.take(lp)
	}
	if err := m.attachAll(); err != nil {
		return err
	}
	if err := m.initMaps(); err != nil {
		return err
	}
	return m.fillMaps()
}

// furnish connects the parts of the machine.
func (m *Machine) furnish() {
	l, reg := m.linked, &m.registry
	m.globals = globals{reg: reg, mem: m.mem}
	m.creator = creator{reg: reg, env: m.mapEnv, cfg: &m.cfg, warnings: &m.warnings}
	m.contexts = contexts{reg: reg, mem: m.mem, kernel: m.kernel, warnings: &m.warnings}
	m.recorder = recorder{reg: reg, mem: m.mem, kernel: m.kernel, thread: m.thread, env: m.mapEnv, cfg: &m.cfg,
		events: NewEventTypes(l.Object.DebugTypes, l.Target.BTF, l.Object.RelocatedTypes(), l.Programs)}
	m.accounts = accounts{rec: &m.recorder, parking: &m.parking, mem: m.mem, kernel: m.kernel, thread: m.thread, env: m.env, mapEnv: m.mapEnv, cfg: &m.cfg,
		release: uapi.ReleaseOf(l.Target.Version), work: work{left: workSlice}}
	m.binder = binder{reg: reg, mem: m.mem, kernel: m.kernel, text: m.text, cfg: &m.cfg, instrument: m.accounts.instrument, attached: &m.attached}
	m.attached.enter = m.enterFunction
	m.coverage = coverage{reg: reg, ways: m.cfg.Ways}
	if sink := m.cfg.Cover; sink != nil {
		m.coverage.begin = func() func([]Covered) { return sink.Begin(m) }
	}
	m.addresses = addresses{mem: m.mem, kernel: m.kernel}
}

// Close releases the simulated memory. The machine must not be used afterwards.
func (m *Machine) Close() {
	if m.engine != nil {
		m.engine.Close()
	}
	if m.mem != nil {
		m.mem.Close()
	}
}

// Entry returns the address of a program's code; ok is false if the program cannot run.
func (m *Machine) Entry(name string) (addr uint64, ok bool) {
	p := m.byName[name]
	if p == nil || p.img == nil {
		return 0, false
	}
	return p.img.FuncAddr(0), true
}

// Kernel returns the simulated kernel, which can be configured before a run.
func (m *Machine) Kernel() *kernel.Kernel { return m.kernel }

// TakeLate reports whether deleted elements wait for a grace period (see [maps.Env.TakeLate]).
func (m *Machine) TakeLate() bool { return m.mapEnv.TakeLate() }

// Memory returns the simulated memory.
func (m *Machine) Memory() *mem.Memory { return m.mem }

// Thread returns the simulated processor, for debuggers.
func (m *Machine) Thread() *vm.Thread { return m.thread }

// ErrNoProgram: the object has no program with that name. ErrNoVariable: it has no such global
// variable.
var (
	ErrNoProgram  = errors.New("no such program")
	ErrNoVariable = errors.New("no such global variable")
)

// tailTarget returns the code of a program array's entry.
func tailTarget(entry any) (*vm.Image, *vm.Action) {
	p := entry.(*program)
	if p.img == nil {
		return nil, vm.FaultAction(&vm.Fault{Kind: vm.NotSimulated, Text: fmt.Sprintf("tail call to program %s, which cannot run: %v", p.lp.Name, p.err)})
	}
	return p.img, nil
}
