package bpftest

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// TB is the part of testing.TB that this package needs. [*testing.T], [*testing.B] and [*testing.F]
// implement it, as do the equivalents of other frameworks.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Target is a kernel that objects are loaded for. Create it with [New]. It is as safe for
// concurrent use as its test is.
type Target struct {
	t    TB
	o    options
	tgt  *loader.Target
	path string // path of the types, for the command line
	kt   *object.Types
	// verdicts keeps those of the kernel's verifier for all tests of the process.
	verdicts *verifier.Cache
}

type options struct {
	name    string
	raw     []byte
	machine machine.Config
	version string
	kconfig map[string]string
	// unverified runs programs whatever the verifier says.
	unverified bool
}

// Option chooses the kernel a test runs on and how it is simulated.
type Option func(*options)

// Kernel chooses the kernel to simulate: a release ("6.12", "6.12-arm64", "debian-6.12.107") listed
// by bpfrun kernels list, the path of a file with BTF (raw BTF, vmlinux, vmlinuz, compressed),
// "embedded" for the kernel types built into this package, or "host" for the running kernel. The
// default is the embedded kernel, so that a test gives the same result everywhere.
func Kernel(name string) Option { return func(o *options) { o.name, o.raw = name, nil } }

// KernelBytes takes the kernel's BTF as the contents of a file, for example one that go:embed read.
// The name should contain the release.
func KernelBytes(name string, data []byte) Option {
	return func(o *options) { o.name, o.raw = name, append([]byte{}, data...) }
}

// Seed determines every simulated value that the test does not set: another seed gives other
// process ids, addresses and random numbers. The default is 1.
func Seed(seed uint64) Option { return func(o *options) { o.machine.Seed = seed } }

// CPUs sets the number of possible CPUs. The default is 2.
func CPUs(n int) Option { return func(o *options) { o.machine.CPUs = n } }

// Boot sets the simulated time since boot when the first program runs. The default is one hour.
func Boot(d time.Duration) Option { return func(o *options) { o.machine.Boot = d } }

// Strict makes every read of memory that was never set a fault, including fields of kernel objects.
func Strict() Option { return func(o *options) { o.machine.Strict = true } }

// MaxInstructions limits the instructions of one run. The default is 100 million.
func MaxInstructions(n uint64) Option { return func(o *options) { o.machine.MaxInsns = n } }

// NoVerify runs programs even if the verifier of the kernel's release would refuse them. By default
// a run of such a program fails with [ErrRefused].
func NoVerify() Option { return func(o *options) { o.unverified = true } }

// Version sets the kernel's version (6.1, 5.10.3) if its name does not contain it.
func Version(version string) Option { return func(o *options) { o.version = version } }

// Kconfig sets CONFIG_ externs: y, n, m, numbers, and strings in quotes.
func Kconfig(values map[string]string) Option {
	return func(o *options) { o.kconfig = maps.Clone(values) }
}

// ErrUnknownKernel means that the kernel was not found.
var ErrUnknownKernel = kernels.ErrUnknown

// New returns a kernel to load objects for. If the kernel is not found, the test ends.
func New(t TB, opts ...Option) *Target {
	t.Helper()
	k, err := Open(t, opts...)
	if err != nil {
		t.Fatalf("bpftest: %v", err)
	}
	return k
}

// Open is [New] for tests that check the error: [ErrUnknownKernel] when the kernel is not found.
func Open(t TB, opts ...Option) (*Target, error) {
	o := options{name: kernels.Embedded, machine: machine.Config{Seed: 1, CPUs: 2, Boot: time.Hour}}
	for _, opt := range opts {
		opt(&o)
	}
	if o.machine.CPUs < 1 || o.machine.CPUs > machine.MaxCPUs {
		return nil, fmt.Errorf("CPUs(%d): want 1 to %d", o.machine.CPUs, machine.MaxCPUs)
	}
	if o.machine.Boot <= 0 {
		return nil, fmt.Errorf("Boot(%v): want more than 0", o.machine.Boot)
	}
	f, err := o.find()
	if err != nil {
		return nil, err
	}
	var with []loader.TargetOption
	if o.version != "" {
		_, v, ok := loader.ParseRelease(o.version)
		if !ok {
			return nil, fmt.Errorf("Version(%q): want MAJOR.MINOR or MAJOR.MINOR.PATCH", o.version)
		}
		with = append(with, loader.WithVersion(v))
	}
	if o.kconfig != nil {
		with = append(with, loader.WithKconfig(o.kconfig))
	}
	return &Target{t: t, o: o, tgt: loader.NewTarget(f.name, f.spec, with...), path: f.path, kt: f.types, verdicts: f.verdicts}, nil
}

// found holds a kernel's BTF and what machines derive from it.
type found struct {
	name, path string
	spec       *btf.Spec
	types      *object.Types
	verdicts   *verifier.Cache
}

// opened caches the BTF of kernels by path, with the verdicts, for all tests of a process: reading
// it takes longer than most tests, and it never changes.
var opened sync.Map // of func() (found, error)

// find reads the BTF of the chosen kernel.
func (o *options) find() (found, error) {
	if o.raw != nil {
		spec, err := btffile.LoadBytes(o.name, o.raw, nil)
		if err != nil {
			return found{}, fmt.Errorf("KernelBytes: %w", err)
		}
		return found{name: o.name, spec: spec, types: object.NewTypes(), verdicts: verifier.NewCache()}, nil
	}
	sources, err := kernels.Default().Expand(o.name)
	if err != nil {
		return found{}, fmt.Errorf("Kernel(%q): %w", o.name, err)
	}
	if len(sources) != 1 {
		return found{}, fmt.Errorf("Kernel(%q): names %d kernels, want one (Matrix runs a test on several)", o.name, len(sources))
	}
	s := sources[0]
	load, _ := opened.LoadOrStore(s.Path, sync.OnceValues(func() (found, error) {
		spec, err := s.Load(kernels.Cache())
		return found{s.Name, s.Path, spec, object.NewTypes(), verifier.NewCache()}, err
	}))
	f, err := load.(func() (found, error))()
	if err != nil {
		return found{}, fmt.Errorf("Kernel(%q): %w", o.name, err)
	}
	return f, nil
}

// Name returns the kernel's name in messages: its file name without extensions.
func (k *Target) Name() string { return k.tgt.Name }

// Version returns the kernel's version, such as 6.12.107.
func (k *Target) Version() string { return k.tgt.VersionString() }

// Arch returns the kernel's architecture as BPF programs name it (x86, arm64), or "" if the BTF
// does not show it.
func (k *Target) Arch() string { return k.tgt.Arch }

// AtLeast reports whether the kernel is of this release or a later one.
func (k *Target) AtLeast(major, minor int) bool {
	return k.tgt.Version >= uint32(major)<<16|uint32(minor)<<8
}

// Matrix runs a test on several kernels, each in a subtest with the kernel's name. Options apply to
// all of them. A kernel that is not found fails its subtest.
func Matrix(t *testing.T, names []string, test func(t *testing.T, k *Target), opts ...Option) {
	t.Helper()
	if len(names) == 0 {
		t.Fatalf("bpftest: Matrix: no kernels")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			test(t, New(t, append(opts[:len(opts):len(opts)], Kernel(name))...))
		})
	}
}
