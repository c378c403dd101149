package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// Helper is the kernel's declaration of one helper function.
type Helper struct {
	ID uapi.FuncID
	// Topic is the group in the documentation.
	Topic string
	// Since is the release that introduced the helper.
	Since uapi.Release
	// Effects apply from EffectsFrom on, or always.
	Effects     Effects
	EffectsFrom uapi.Release
	// Address is the kernel struct whose address is the result, if prototypes declare a number:
	// "task_struct" for bpf_get_current_task.
	Address string
	// Locked is the level of lockdown from which kernels do not have the helper, or NotLocked.
	Locked Lockdown
	// Protos are the prototypes by program type and release, the most common first.
	Protos []Proto
}

// Proto is one prototype of a helper (struct bpf_func_proto).
type Proto struct {
	Args []Arg
	Ret  Return
	Attr Attr
	Only Only
	Uses []Use
}

// Use selects the programs that call a helper by a prototype, from one release until before
// another; 0 is unbounded.
type Use struct {
	From, Until uapi.Release
	By          Class
}

// Attr are properties of a prototype.
type Attr uint8

// Attributes.
const (
	// GPLOnly helpers need a licence compatible with the GPL.
	GPLOnly Attr = 1 << iota
	// PacketAccess allows packet pointers as memory arguments.
	PacketAccess
	// MightSleep helpers may be called only from sleepable programs, outside RCU sections and
	// locks.
	MightSleep
	// SleepsIfSleepable means that the helper sleeps when a sleepable program calls it; other
	// programs may call it as well.
	SleepsIfSleepable
	// FastCall means that compilers may assume that the call changes only r0.
	FastCall
)

// Only restricts a prototype to certain hooks.
type Only uint8

// Restrictions.
const (
	// AnyHook means no restriction.
	AnyHook Only = iota
	// DPathTargets: iterators, sleepable LSM hooks, and functions in [DPathFunctions].
	DPathTargets
	// SleepableHooks: LSM hooks that may sleep.
	SleepableHooks
	// OneMeaning: architectures where an address is the kernel's or the user's, not both (all but
	// s390 of those known here; Kconfig ARCH_HAS_NON_OVERLAPPING_ADDRESS_SPACE).
	OneMeaning
	// SockStorageTracing: not from programs that trace functions named bpf_sk_storage*, nor from
	// those that trace other programs.
	SockStorageTracing
)

// Effects of a call that the verifier tracks.
type Effects uint16

// Effects.
const (
	// ChangesPacket invalidates pointers to packet data.
	ChangesPacket Effects = 1 << iota
	// Acquires a reference, which the result holds.
	Acquires
	// AcquiresSocket does so if the map argument is a sockmap or sockhash.
	AcquiresSocket
	// Casts returns its argument with a different type and the same reference.
	Casts
	// CallsBack calls the callback before it returns.
	CallsBack
	// CallsBackLater stores the callback for a later call.
	CallsBackLater
	// CreatesStorage may allocate local storage.
	CreatesStorage
	// Copies copies from the address in the third argument, a number to the verifier, to the first
	// argument; from kernel memory.
	Copies
	// CopiesUser is Copies from user memory; both are set if the helper tries either.
	CopiesUser
	// CopiesString means that a copy ends after the first zero byte.
	CopiesString
)

// DPathFunctions are the kernel functions whose tracing programs may call bpf_d_path
// (kernel/trace/bpf_trace.c btf_allowlist_d_path).
var DPathFunctions = []string{
	"dentry_open", "filp_close", "security_file_open", "security_file_permission", "security_inode_getattr", "security_path_truncate",
	"vfs_fallocate", "vfs_getattr", "vfs_truncate",
}

// table holds every helper, indexed by number.
var table = buildTable(
	mapRows, memoryRows, taskRows, timeRows, tracingRows, eventRows, packetRows, routeRows, socketRows, sockoptRows, cgroupRows, storageRows,
	controlRows, dynptrRows, systemRows,
)

func buildTable(groups ...[]Helper) []Helper {
	n := 0
	for _, g := range groups {
		n += len(g)
	}
	all := make([]Helper, n+1)
	for _, g := range groups {
		for _, h := range g {
			all[h.ID] = h
		}
	}
	return all
}

// Helpers returns every helper, sorted by number. The slice must not be modified.
func Helpers() []Helper { return table[1:] }

// Lookup returns the helper with a number; ok is false if no known kernel has it.
func Lookup(id uapi.FuncID) (*Helper, bool) {
	if id <= 0 || int(id) >= len(table) {
		return nil, false
	}
	return &table[id], true
}

// Name returns the helper's name ("bpf_map_lookup_elem").
func (h *Helper) Name() string { return h.ID.String() }

// Params returns the number of registers that the helper may read.
func (h *Helper) Params() int {
	if h.ID == uapi.FuncTracePrintk {
		return 5 // variadic
	}
	return len(h.Common().Args)
}

// In reports whether a release has the helper. The zero release has every helper.
func (h *Helper) In(release uapi.Release) bool { return release.Has(h.Since) }

// Has reports whether a call has an effect on a release.
func (h *Helper) Has(e Effects, release uapi.Release) bool {
	return h.Effects&e != 0 && release.Has(h.EffectsFrom)
}

// GivesTyped reports whether the helper's result, or what it passes to its callback, is a pointer
// whose BTF type the verifier knows, so that programs may load from it directly.
func (h *Helper) GivesTyped() bool {
	if h.ID == uapi.FuncFindVma {
		return true
	}
	for i := range h.Protos {
		if h.Protos[i].Ret.Typed() {
			return true
		}
	}
	return false
}

// For returns the prototype by which a program of a release calls the helper, or nil if it may not.
// The caller must check [Proto.Only], and that helpers which might sleep are called from sleepable
// programs.
func (h *Helper) For(release uapi.Release, c Caller) *Proto {
	class := c.ClassFor(h.ID)
	if class == 0 || !h.In(release) {
		return nil
	}
	for i := range h.Protos {
		if h.Protos[i].By(release)&class != 0 {
			return &h.Protos[i]
		}
	}
	return nil
}

// By returns the programs that call the helper by this prototype on a release.
func (p *Proto) By(release uapi.Release) Class {
	var out Class
	for _, u := range p.Uses {
		if release.Has(u.From) && (u.Until == 0 || release != 0 && release < u.Until) {
			out |= u.By
		}
	}
	return out
}

// Callers returns the programs that may call the helper on a release, by any prototype.
func (h *Helper) Callers(release uapi.Release) Class {
	var out Class
	if h.In(release) {
		for i := range h.Protos {
			out |= h.Protos[i].By(release)
		}
	}
	return out
}

// Fills reports whether the helper may write to the pointee of its argument i, according to any
// release's prototype: prototypes of some releases declare memory as read-only, or nothing, that
// others declare as written.
func (h *Helper) Fills(i int) bool {
	for p := range h.Protos {
		if a := h.Protos[p].Args; i < len(a) && a[i].fills() {
			return true
		}
	}
	return false
}

// Common returns the prototype that most programs of the newest release use, or the last one that
// existed.
func (h *Helper) Common() *Proto {
	for i := range h.Protos {
		if h.Protos[i].By(0) != 0 {
			return &h.Protos[i]
		}
	}
	return &h.Protos[0]
}

// Releases are the releases whose tables the rows were compared with: all but 5.13, 6.15 and 6.16.
var Releases = []uapi.Release{
	r(5, 10), r(5, 11), r(5, 12), r(5, 14), r(5, 15), r(5, 16), r(5, 17), r(5, 18), r(5, 19),
	r(6, 0), r(6, 1), r(6, 2), r(6, 3), r(6, 4), r(6, 5), r(6, 6), r(6, 7), r(6, 8), r(6, 9), r(6, 10), r(6, 11), r(6, 12), r(6, 13), r(6, 14),
	r(6, 17), r(6, 18), r(6, 19), r(7, 0), r(7, 1), r(7, 2),
}
