package proto

import (
	"slices"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Kfunc is the kernel's declaration of a kernel function that programs can call. Its parameters are
// in the target's BTF; the requirements of a parameter follow from its type and the suffix of its
// name, see [SuffixOf].
type Kfunc struct {
	Name  string
	Topic string
	// Since is the release that introduced it, Until the first release without it, or 0.
	Since, Until uapi.Release
	// Flags apply unless a release in Later changed them.
	Flags KfuncFlags
	Later []FlagChange
	Uses  []Use
	Only  KfuncOnly
	Role  Role
	// Group lists the sets of sched_ext functions it is in ("dispatch unlocked"), or the functions
	// of struct Qdisc_ops that may call it ("kernel": none), "" for one that all callbacks may
	// call.
	Group string
	// Earlier is a function of the same name that older releases had and lost, with its releases,
	// flags and callers only.
	Earlier *Kfunc
	// AnyCaller means that an image declares the function and that it is unknown which programs may
	// call it: [Kfunc.For] then returns true for all. No row of the table has it.
	AnyCaller bool
}

// FlagChange is the set of flags from a release on.
type FlagChange struct {
	From  uapi.Release
	Flags KfuncFlags
}

type later = []FlagChange

// KfuncFlags are the kernel's KF_ flags.
type KfuncFlags uint32

// Flags of kfuncs.
const (
	// Acquire returns a reference that must be released.
	Acquire KfuncFlags = 1 << iota
	// ReleaseArg releases the reference passed as an argument.
	ReleaseArg
	// ReturnsNull may return NULL.
	ReturnsNull
	// TrustedArgs requires pointers that are known to be valid. Use [Kfunc.FlagsIn]: from 7.0 on
	// all kfuncs have it.
	TrustedArgs
	// Sleepable kfuncs may be called only from sleepable programs.
	Sleepable
	// Destructive kfuncs need CAP_SYS_BOOT.
	Destructive
	// RCU also accepts pointers that are valid in an RCU section.
	RCU
	// IterNew, IterNext and IterDestroy are the functions of an open-coded iterator.
	IterNew
	IterNext
	IterDestroy
	// RCUProtected requires an RCU section.
	RCUProtected
	// KfuncFastCall is FastCall for kfuncs.
	KfuncFastCall
	// ArenaRet returns an arena pointer; ArenaArg1 and ArenaArg2 take one.
	ArenaRet
	ArenaArg1
	ArenaArg2
	// ImplicitArgs means that the kernel itself passes the last parameters, which are not in the
	// prototype that programs see.
	ImplicitArgs
	// KptrGet takes a pointer to a kptr in a map and returns a reference to its object.
	KptrGet
)

var kfuncFlagNames = [...]string{
	"acquire", "release", "may return NULL", "trusted args", "sleepable", "destructive", "RCU", "iterator new", "iterator next",
	"iterator destroy", "RCU protected", "fastcall", "arena result", "arena arg1", "arena arg2", "implicit args", "kptr get",
}

// String lists the flags for documents: "acquire, may return NULL".
func (f KfuncFlags) String() string {
	var out []string
	for i, n := range kfuncFlagNames {
		if f>>i&1 != 0 {
			out = append(out, n)
		}
	}
	return strings.Join(out, ", ")
}

// KfuncOnly restricts a kfunc further than the type of the program does.
type KfuncOnly uint8

// Restrictions of kfuncs.
const (
	// SessionPrograms are kprobe, uprobe and function sessions.
	SessionPrograms KfuncOnly = iota + 1
	// QdiscOps are functions of struct Qdisc_ops.
	QdiscOps
)

// kfuncs is indexed when first asked for.
var kfuncs = sync.OnceValue(func() map[string]*Kfunc {
	m := map[string]*Kfunc{}
	for _, g := range [][]Kfunc{coreKfuncs, cpumaskKfuncs, systemKfuncs, schedextKfuncs, networkKfuncs, deviceKfuncs, kernelTestKfuncs} {
		for i := range g {
			m[g[i].Name] = &g[i]
		}
	}
	return m
})

// Kfuncs returns every kfunc, sorted by name.
func Kfuncs() []*Kfunc {
	all := kfuncs()
	out := make([]*Kfunc, 0, len(all))
	for _, k := range all {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b *Kfunc) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// LookupKfunc returns the kfunc with a name; ok is false if no release in the table has it. The
// name must not have a flavor suffix (___x).
func LookupKfunc(name string) (*Kfunc, bool) {
	k, ok := kfuncs()[name]
	return k, ok
}

// at returns the function that a release has by this name.
func (k *Kfunc) at(release uapi.Release) *Kfunc {
	if k.Earlier != nil && release != 0 && release < k.Since {
		return k.Earlier
	}
	return k
}

// In reports whether a release has the kfunc. The zero release is the newest.
func (k *Kfunc) In(release uapi.Release) bool {
	k = k.at(release)
	return release.Has(k.Since) && (k.Until == 0 || release != 0 && release < k.Until)
}

// trustedByDefault is the release from which on every kfunc accepts only trusted pointers.
var trustedByDefault = r(7, 0)

// FlagsIn returns the flags on a release.
func (k *Kfunc) FlagsIn(release uapi.Release) KfuncFlags {
	k = k.at(release)
	f := k.Flags
	for _, l := range k.Later {
		if release.Has(l.From) {
			f = l.Flags
		}
	}
	if release.Has(trustedByDefault) {
		f |= TrustedArgs
	}
	return f
}

// Callers returns the programs that may call the kfunc on a release.
func (k *Kfunc) Callers(release uapi.Release) Class {
	switch {
	case !k.In(release):
		return 0
	case k.AnyCaller:
		return all
	}
	return (&Proto{Uses: k.at(release).Uses}).By(release)
}

// For reports whether a program of a release may call the kfunc. The caller must check [Kfunc.Only]
// and [Sleepable].
func (k *Kfunc) For(release uapi.Release, c Caller) bool {
	if c.Type == uapi.ProgTypeRawTracepointWritable && k.Callers(release) != all {
		return false // no set is registered for this type (bpf_prog_type_to_kfunc_hook)
	}
	return k.Callers(release)&c.Class() != 0 && k.Grouped(release, c)
}
