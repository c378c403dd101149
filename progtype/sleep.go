package progtype

import "github.com/bpfrun/bpfrun/uapi"

// Sleepable tells from which release on programs may be loaded with BPF_F_SLEEPABLE (verifier.c can_be_sleepable). The zero
// value is never.
type Sleepable struct {
	Since uapi.Release
	// Always says that programs must be sleepable.
	Always bool
}

// SleepableIn tells when programs of an attach type may be, or have to be, sleepable.
func (r *Row) SleepableIn(a uapi.AttachType) Sleepable {
	if at := r.Attached(a); at != nil && at.Sleepable != nil {
		return *at.Sleepable
	}
	return r.Sleepable
}

// MaySleep reports whether a release loads sleepable programs of an attach type.
func (r *Row) MaySleep(release uapi.Release, a uapi.AttachType) bool {
	s := r.SleepableIn(a)
	return s.Since != 0 && release.Has(s.Since)
}

// Hook is a kfunc hook (kernel/bpf/btf.c bpf_prog_type_to_kfunc_hook): kfuncs are registered for hooks, not for program types.
type Hook struct {
	Since uapi.Release
	Name  KfuncHook
}

// KfuncHook names a kfunc hook as enum btf_kfunc_hook does, in lower case.
type KfuncHook string

// Kfunc hooks. Kfuncs of CommonHook may be called by every type that has a hook.
const (
	NoHook           KfuncHook = ""
	CommonHook       KfuncHook = "common"
	XDPHook          KfuncHook = "xdp"
	TCHook           KfuncHook = "tc"
	StructOpsHook    KfuncHook = "struct_ops"
	TracingHook      KfuncHook = "tracing"
	SyscallHook      KfuncHook = "syscall"
	CgroupHook       KfuncHook = "cgroup"
	SchedActHook     KfuncHook = "sched_act"
	SkSkbHook        KfuncHook = "sk_skb"
	SocketFilterHook KfuncHook = "socket_filter"
	LwtHook          KfuncHook = "lwt"
	NetfilterHook    KfuncHook = "netfilter"
	KprobeHook       KfuncHook = "kprobe"
)

// KfuncHook returns the kfunc hook of the type in a release; [NoHook] for a type that may only call kfuncs of [CommonHook], or
// before 5.18, when there were no hooks, [NoHook] too.
func (r *Row) KfuncHook(release uapi.Release) KfuncHook {
	hook := NoHook
	for _, h := range r.Kfuncs {
		if release.Has(h.Since) {
			hook = h.Name
		}
	}
	return hook
}
