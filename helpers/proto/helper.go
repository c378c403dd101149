package proto

import "github.com/bpfrun/bpfrun/uapi"

// Helper is all that the kernel declares of one helper function.
type Helper struct {
	ID uapi.FuncID
	// Topic is the group it is documented in.
	Topic string
	// Since is the release that brought the number.
	Since uapi.Release
	// Effects hold from EffectsFrom on, or always.
	Effects     Effects
	EffectsFrom uapi.Release
	// Address is the kernel struct whose address the result is where the prototypes have a number: "task_struct" of bpf_get_current_task.
	Address string
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

// Use tells which programs call a helper by a prototype, from one release until before another; 0 is unbounded.
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
	// MightSleep helpers may be called from sleepable programs alone, outside RCU sections and of locks.
	MightSleep
	// SleepsIfSleepable means that the helper sleeps when a sleepable program calls it; other programs may call it as well.
	SleepsIfSleepable
	// FastCall means that compilers may assume that the call changes no registers but r0.
	FastCall
)

// Only restricts a prototype to some hooks.
type Only uint8

// Restrictions.
const (
	// AnyHook is none.
	AnyHook Only = iota
	// DPathTargets: iterators, sleepable LSM hooks, and functions in [DPathFunctions].
	DPathTargets
	// SleepableHooks: LSM hooks that may sleep.
	SleepableHooks
	// SockStorageTracing: not from programs that trace functions named bpf_sk_storage*, nor those that trace other programs.
	SockStorageTracing
)

// Effects of a call that a verifier tracks.
type Effects uint16

// Effects.
const (
	// ChangesPacket makes pointers to packet data invalid.
	ChangesPacket Effects = 1 << iota
	// Acquires a reference that the result holds.
	Acquires
	// AcquiresSocket does so when the map argument is a sockmap or sockhash.
	AcquiresSocket
	// Casts returns its argument under another type: the same reference.
	Casts
	// CallsBack calls the callback before it returns.
	CallsBack
	// CallsBackLater stores the callback for a later call.
	CallsBackLater
	// CreatesStorage may allocate local storage.
	CreatesStorage
	// Copies to the first argument what lies at the address in the third, which is a number to the verifier; in kernel memory.
	Copies
	// CopiesUser is Copies from user memory; both are set where the helper tries either.
	CopiesUser
	// CopiesString means that a copy ends after the first zero byte.
	CopiesString
)

// DPathFunctions are the kernel functions in whose tracing programs bpf_d_path may be called (kernel/trace/bpf_trace.c
// btf_allowlist_d_path).
var DPathFunctions = []string{
	"dentry_open", "filp_close", "security_file_open", "security_file_permission", "security_inode_getattr", "security_path_truncate",
	"vfs_fallocate", "vfs_getattr", "vfs_truncate",
}

// table holds every helper at its number.
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

// Helpers returns every helper in the order of its number. The slice must not be modified.
func Helpers() []Helper { return table[1:] }

// Lookup returns the helper with that number; ok is false when no known kernel has it.
func Lookup(id uapi.FuncID) (*Helper, bool) {
	if id <= 0 || int(id) >= len(table) {
		return nil, false
	}
	return &table[id], true
}

// Name returns the helper's name ("bpf_map_lookup_elem").
func (h *Helper) Name() string { return h.ID.String() }

// Params returns the number of registers that the helper may look at.
func (h *Helper) Params() int {
	if h.ID == uapi.FuncTracePrintk {
		return 5 // variadic
	}
	return len(h.Common().Args)
}

// In reports whether a release has the helper at all. The zero release has everything.
func (h *Helper) In(release uapi.Release) bool { return release.Has(h.Since) }

// Has reports whether a call has an effect on a release.
func (h *Helper) Has(e Effects, release uapi.Release) bool {
	return h.Effects&e != 0 && release.Has(h.EffectsFrom)
}

// GivesTyped reports whether programs get pointers from the helper that the verifier knows by BTF, so that they may load from
// them directly: its result, or what it passes to the callback.
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

// For returns the prototype by which a program of a release calls the helper, or nil if it may not. [Proto.Only] is left to the
// caller, and so is that helpers which might sleep need a sleepable program.
func (h *Helper) For(release uapi.Release, c Caller) *Proto {
	class := c.Class()
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

// Fills reports whether the helper may write to what its i-th argument points to, by any release's prototype: some call memory
// read-only, or say nothing, of what others call written.
func (h *Helper) Fills(i int) bool {
	for p := range h.Protos {
		if a := h.Protos[p].Args; i < len(a) && a[i].fills() {
			return true
		}
	}
	return false
}

// Common returns the prototype that most programs of the newest release use, or the last one there was.
func (h *Helper) Common() *Proto {
	for i := range h.Protos {
		if h.Protos[i].By(0) != 0 {
			return &h.Protos[i]
		}
	}
	return &h.Protos[0]
}

// Releases are those the rows were made from.
var Releases = []uapi.Release{r(5, 10), r(5, 15), r(6, 1), r(6, 6), r(6, 12), r(6, 18), r(7, 2)}
