package loader

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Module is the split BTF of a kernel module.
type Module struct {
	Name string
	BTF  *btf.Spec
	// Kfuncs are those that the module's file declares, or nil if unknown.
	Kfuncs *proto.Declared
}

// Target is the kernel that objects are loaded for. Create it with [NewTarget] and set fields
// before the first use; afterwards it is safe for concurrent use.
type Target struct {
	Name    string
	BTF     *btf.Spec // nil: the kernel's types are unknown
	Modules []Module
	// Kfuncs are those that the kernel's image declares, or nil if unknown.
	Kfuncs *proto.Declared
	// Release is what uname -r would print, as far as the name contains it, else "".
	Release string
	// Version is KERNEL_VERSION(a, b, c) = a<<16 | b<<8 | min(c, 255). If only a range is known, it
	// is the upper end.
	Version uint32
	// VersionLow is the lower end of the range; it equals Version if that is known exactly.
	VersionLow uint32
	// VersionKnown is the source of Version: "given", "name", or "enumerators (5.19-6.0)"; "" if it
	// is unknown.
	VersionKnown string
	// Lent means that BTF and Modules are those of another release than Version, see [Target.As]:
	// whether the kernel knows a helper, a kfunc or a type of programs, maps or attachments is then
	// what the tables of releases say.
	Lent bool
	// Arch is "x86", "arm64", "arm", "riscv", "s390", "powerpc", "loongarch", "mips", or "" if
	// struct pt_regs matches none of these.
	Arch string
	// Kconfig holds CONFIG_ values as in /proc/config.gz: y, n, m, numbers, quoted strings. They
	// take precedence over values inferred from BTF.
	Kconfig map[string]string
	// KconfigWhole means that Kconfig is complete: nothing is inferred.
	KconfigWhole bool
	// Kallsyms holds the addresses of kernel symbols, or nil if unknown.
	Kallsyms map[string]uint64

	once     sync.Once
	known    map[string]*enumSet
	partial  bool
	funcOnce sync.Once
	hooks    sync.Map // of hookNames: func() *nearest.Index
	missed   sync.Map // similar names for missing hooks
}

// enumSet holds the values of one of the kernel's enums.
type enumSet struct {
	values map[uint64]bool
	max    uint64 // the __MAX enumerator, 0 if there is none
}

// TargetOption overrides what NewTarget would infer.
type TargetOption func(*Target)

// WithModules adds the BTF of modules.
func WithModules(mods ...Module) TargetOption {
	return func(t *Target) { t.Modules = append(t.Modules, mods...) }
}

// WithVersion sets the kernel version (a<<16 | b<<8 | c).
func WithVersion(v uint32) TargetOption {
	return func(t *Target) { t.Version, t.VersionLow, t.VersionKnown = v, v, "given" }
}

// WithKconfig sets kernel configuration values.
func WithKconfig(values map[string]string) TargetOption {
	return func(t *Target) { t.Kconfig = values }
}

// WithWholeKconfig sets a kernel's complete configuration: options that it lacks are not set.
func WithWholeKconfig(values map[string]string) TargetOption {
	return func(t *Target) { t.Kconfig, t.KconfigWhole = values, true }
}

// WithKallsyms sets the addresses of kernel symbols.
func WithKallsyms(syms map[string]uint64) TargetOption {
	return func(t *Target) { t.Kallsyms = syms }
}

// NewTarget describes the kernel with this BTF. name is a file name, or any text that contains a
// release ("linux-6.12.107-amd64.btf.xz", "5.4.0-1009-aws.btf"); otherwise the version is inferred
// from the enumerators in the BTF.
func NewTarget(name string, spec *btf.Spec, opts ...TargetOption) *Target {
	t := &Target{Name: name, BTF: spec}
	if release, v, ok := ParseRelease(name); ok {
		t.Release, t.Version, t.VersionLow, t.VersionKnown = release, v, v, "name"
	}
	if spec != nil {
		t.Arch = archOf(spec)
		if t.Version == 0 {
			t.inferVersion()
		}
	}
	for _, opt := range opts {
		opt(t)
	}
	return t
}

// WithConfig returns the same kernel with other CONFIG_ values.
func (t *Target) WithConfig(values map[string]string) *Target {
	return &Target{
		Name: t.Name, BTF: t.BTF, Modules: t.Modules, Kfuncs: t.Kfuncs, Release: t.Release, Version: t.Version, VersionLow: t.VersionLow, VersionKnown: t.VersionKnown, Lent: t.Lent,
		Arch: t.Arch, Kconfig: values, KconfigWhole: t.KconfigWhole, Kallsyms: t.Kallsyms,
	}
}

// As returns a kernel of another version that has the types of this one, for a release whose types
// are not at hand. What BTF has no release for, such as fields, functions and tracepoints, stays
// that of t; its symbols and the flags that its image declares for kfuncs do not.
func (t *Target) As(version uint32) *Target {
	return &Target{
		Name: t.Name, BTF: t.BTF, Modules: t.undeclared(), Version: version, VersionLow: version, VersionKnown: "given", Lent: true,
		Arch: t.Arch, Kconfig: t.Kconfig, KconfigWhole: t.KconfigWhole,
	}
}

// undeclared returns the modules without what their files declare.
func (t *Target) undeclared() []Module {
	out := slices.Clone(t.Modules)
	for i := range out {
		out[i].Kfuncs = nil
	}
	return out
}

// specs returns the BTF of the kernel and of its modules.
func (t *Target) specs() []Module {
	if t.BTF == nil {
		return nil
	}
	out := make([]Module, 0, 1+len(t.Modules))
	out = append(out, Module{Name: "vmlinux", BTF: t.BTF, Kfuncs: t.Kfuncs})
	for _, m := range t.Modules {
		if m.BTF != nil {
			out = append(out, m)
		}
	}
	return out
}

// find returns the first type with a kind and name, in the kernel's BTF or else in a module's.
// module "" means any, "vmlinux" the kernel itself.
func (t *Target) find(kind btf.Kind, name, module string) (Module, *btf.Type, bool) {
	for _, m := range t.specs() {
		if module != "" && module != m.Name {
			continue
		}
		if typ, ok := m.BTF.Find(kind, name); ok {
			return m, typ, true
		}
	}
	return Module{}, nil, false
}

// HasFunc reports whether the BTF of the kernel or of a module has the function.
func (t *Target) HasFunc(name string) bool {
	_, _, ok := t.find(btf.KindFunc, name, "")
	return ok
}

// The enums of include/uapi/linux/bpf.h, and the enumerators that end them.
const (
	enumHelpers = "bpf_func_id"
	enumMaps    = "bpf_map_type"
	enumProgs   = "bpf_prog_type"
	enumAttach  = "bpf_attach_type"
)

var enumEnds = map[string]string{
	enumHelpers: "__BPF_FUNC_MAX_ID", enumMaps: "__MAX_BPF_MAP_TYPE", enumProgs: "__MAX_BPF_PROG_TYPE", enumAttach: "__MAX_BPF_ATTACH_TYPE",
}

// minEnum is the minimum number of enumerators of a complete enum: all kernels with BTF have more.
const minEnum = 12

// tracePrefix is the prefix of the typedefs that represent tracepoints.
const tracePrefix = "btf_trace_"

// Reduced reports whether the BTF is not a complete kernel's: what it lacks may still exist.
func (t *Target) Reduced() bool { return t.reduced() }

// reduced reports whether the BTF lists no functions or no tracepoints, as for a BTF reduced to
// some objects' needs, or a kernel before 5.5. A hook that is missing from it may still exist.
func (t *Target) reduced() bool {
	t.funcOnce.Do(func() {
		funcs, traces := false, false
		for id := btf.ID(1); t.BTF != nil && !(funcs && traces) && int(id) < t.BTF.NumTypes(); id++ {
			switch t.BTF.Kind(id) {
			case btf.KindFunc:
				funcs = true
			case btf.KindTypedef:
				traces = traces || strings.HasPrefix(t.BTF.Name(id), tracePrefix)
			}
		}
		t.partial = !funcs || !traces
	})
	return t.partial
}

// has looks up a number in an enum of the target's BTF. If the BTF lacks the enum (a reduced BTF),
// everything is assumed to exist.
func (t *Target) has(enum string, n uint64) bool {
	t.once.Do(func() {
		t.known = map[string]*enumSet{}
		if t.BTF == nil {
			return
		}
		for name, end := range enumEnds {
			set := &enumSet{values: map[uint64]bool{}}
			for _, id := range t.BTF.Candidates(btf.KindEnum, name) { // of both kinds
				if t.BTF.Name(id) != name {
					continue
				}
				for _, v := range t.BTF.MustType(id).Values {
					if v.Name == end {
						set.max = v.Value
						continue
					}
					set.values[v.Value] = true
				}
			}
			// A reduced BTF may contain only some enumerators.
			if len(set.values) >= minEnum && (name != enumHelpers || set.max != 0) {
				t.known[name] = set
			}
		}
	})
	set := t.known[enum]
	return set == nil || (set.values[n] && (set.max == 0 || n < set.max))
}

// HasHelper reports whether the kernel knows the helper (enum bpf_func_id).
func (t *Target) HasHelper(id uapi.FuncID) bool {
	if t.Lent {
		h, ok := proto.Lookup(id)
		return ok && h.In(uapi.ReleaseOf(t.Version))
	}
	return t.has(enumHelpers, uint64(uint32(id)))
}

// HasMapType reports whether the kernel knows the map type (enum bpf_map_type).
func (t *Target) HasMapType(m uapi.MapType) bool {
	if t.Lent {
		return m.In(uapi.ReleaseOf(t.Version))
	}
	return t.has(enumMaps, uint64(m))
}

// HasProgType reports whether the kernel knows the program type (enum
// bpf_prog_type).
func (t *Target) HasProgType(p uapi.ProgType) bool {
	if t.Lent {
		return uapi.ReleaseOf(t.Version).Has(progtype.Of(p).Since)
	}
	return t.has(enumProgs, uint64(p))
}

// HasAttachType reports whether the kernel knows the attach type (enum
// bpf_attach_type).
func (t *Target) HasAttachType(a uapi.AttachType) bool {
	if t.Lent {
		at := progtype.AttachSince(a)
		return at == 0 || uapi.ReleaseOf(t.Version).Has(at)
	}
	return t.has(enumAttach, uint64(a))
}

// hasKfunc reports whether the kernel may have a kfunc, as far as the release tells; BTF may still
// lack it.
func (t *Target) hasKfunc(name string) bool {
	k, ok := proto.LookupKfunc(btf.EssentialName(name))
	return !t.Lent || !ok || k.In(uapi.ReleaseOf(t.Version))
}

// VersionString formats Version as "6.12.107", or a range as "5.19-6.0". Sublevels above 255, which
// Version cannot hold, come from Release.
func (t *Target) VersionString() string {
	if _, v, ok := ParseRelease(t.Release); ok && v == t.Version {
		numbers := t.Release
		if i := strings.IndexFunc(numbers, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
			numbers = numbers[:i]
		}
		return numbers
	}
	if t.Version == 0 {
		return "unknown"
	}
	if t.VersionLow != t.Version {
		return majorMinor(t.VersionLow) + "-" + majorMinor(t.Version)
	}
	return fmt.Sprintf("%s.%d", majorMinor(t.Version), t.Version&0xff)
}

func majorMinor(v uint32) string { return fmt.Sprintf("%d.%d", v>>16, v>>8&0xff) }

// archOf derives the architecture from the members of struct pt_regs.
func archOf(spec *btf.Spec) string {
	for _, id := range spec.IDs(btf.KindStruct, "pt_regs") {
		names := map[string]bool{}
		for _, n := range spec.MemberNames(id) {
			names[n] = true
		}
		for _, a := range []struct{ arch, members string }{
			{"x86", "orig_ax"},
			{"x86", "orig_eax"},
			{"arm64", "pstate"},
			{"arm", "uregs"},
			{"riscv", "epc badaddr"},
			{"s390", "gprs orig_gpr2"},
			{"powerpc", "gpr nip"},
			{"loongarch", "csr_era"},
			{"mips", "cp0_epc"},
		} {
			all := true
			for _, m := range strings.Fields(a.members) {
				all = all && names[m]
			}
			if all {
				return a.arch
			}
		}
	}
	return ""
}
