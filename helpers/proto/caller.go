package proto

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Caller describes a program as far as the kernel's decision whether it may call a helper or kfunc
// depends on it.
type Caller struct {
	// Type is the program's type; for an extension, the type of the program it extends.
	Type   uapi.ProgType
	Attach uapi.AttachType
	// Target is the LSM hook without "bpf_lsm_" ("sock_graft"), the iterator ("tcp"), or the
	// struct_ops type ("tcp_congestion_ops").
	Target string
	// Member is the function of the struct_ops type.
	Member string
	// Arch is the kernel's architecture, if known.
	Arch string
}

// Class is a set of kinds of programs. Programs of one kind may call the same helpers on every
// release.
type Class uint64

// Kinds of programs.
const (
	socketFilter Class = 1 << iota
	kprobe
	tracepoint
	perfEvent
	rawTracepoint // and writable ones
	schedCls
	schedAct
	xdp
	cgroupSkb
	sockCreate // cgroup_sock at INET_SOCK_CREATE
	sockOther  // cgroup_sock at the other hooks
	lwtIn
	lwtOut
	lwtXmit
	lwtSeg6
	sockOps
	skSkb
	skMsg
	cgroupDevice
	addrConnect  // cgroup_sock_addr at INET4_CONNECT and INET6_CONNECT
	addrBind     // at binds, sends, and UNIX_CONNECT
	addrName     // at receives, and at names of INET sockets
	addrUnixName // at UNIX_GETPEERNAME and UNIX_GETSOCKNAME
	lirc
	skReuseport
	flowDissector
	sysctl
	getsockopt
	setsockopt
	tracingRawTP
	trampoline // fentry, fexit, fmod_ret, fsession
	iter
	iterTCP
	iterUnix
	structOps    // except those below
	tcpCC        // struct tcp_congestion_ops
	tcpCCRelease // its member release
	schedExt     // struct sched_ext_ops
	lsm
	lsmCgroup
	lsmCgroupSock // at hooks that have the socket locked, or not yet in use
	skLookup
	syscall
	netfilter

	all Class = netfilter<<1 - 1
)

// Sets of kinds that share a table in the kernel.
const (
	sched        = schedCls | schedAct
	base         = all &^ lirc // bpf_base_func_proto
	lwt          = lwtIn | lwtOut | lwtXmit | lwtSeg6
	sockAddr     = addrConnect | addrBind | addrName | addrUnixName
	cgroupSock   = sockCreate | sockOther
	sockopt      = getsockopt | setsockopt
	netSk        = socketFilter | sched | xdp | cgroupSkb | sockOps | skSkb | skMsg | flowDissector | skLookup | lwt
	net          = netSk | sockAddr | cgroupSock                                       // bpf_sk_base_func_proto
	cgroupHook   = cgroupSkb | cgroupDevice | sysctl | cgroupSock | sockAddr | sockopt // kfuncs of cgroup programs
	cgroups      = cgroupHook | sockOps
	iters        = iter | iterTCP | iterUnix
	lsmCgroups   = lsmCgroup | lsmCgroupSock
	lsmAny       = lsm | lsmCgroups
	tcpCCAny     = tcpCC | tcpCCRelease
	structOpsAny = structOps | tcpCCAny | schedExt
	typedTypes   = tracingRawTP | trampoline | iters | lsmAny // tracing_prog_func_proto
	typed        = typedTypes | syscall
	tracingTypes = kprobe | tracepoint | perfEvent | rawTracepoint | typedTypes // bpf_tracing_func_proto
	tracers      = tracingTypes | syscall
)

// lockedSocketHooks are the LSM hooks whose cgroup programs may get and set options of their socket
// (kernel/bpf/bpf_lsm.c).
var lockedSocketHooks = []string{"sock_graft", "inet_csk_clone", "inet_conn_established", "socket_post_create", "socket_socketpair"}

// Class returns the kind of the program, 0 for a type without programs of its own.
func (c Caller) Class() Class {
	switch c.Type {
	case uapi.ProgTypeCgroupSock:
		if c.Attach == uapi.AttachCgroupInetSockCreate {
			return sockCreate
		}
		return sockOther
	case uapi.ProgTypeCgroupSockAddr:
		return addrClass(c.Attach)
	case uapi.ProgTypeCgroupSockopt:
		if c.Attach == uapi.AttachCgroupSetsockopt {
			return setsockopt
		}
		return getsockopt
	case uapi.ProgTypeTracing:
		return c.tracingClass()
	case uapi.ProgTypeLSM:
		switch {
		case c.Attach != uapi.AttachLSMCgroup:
			return lsm
		case slices.Contains(lockedSocketHooks, c.Target):
			return lsmCgroupSock
		}
		return lsmCgroup
	case uapi.ProgTypeStructOps:
		switch {
		case c.Target == "tcp_congestion_ops" && c.Member == "release":
			return tcpCCRelease
		case c.Target == "tcp_congestion_ops":
			return tcpCC
		case c.Target == schedextOps || c.Target == SchedOpsCid:
			return schedExt
		}
		return structOps
	}
	return byType[c.Type]
}

// ClassFor returns the kind of the program as far as one helper is concerned: device and sysctl
// programs that were loaded with their attach type use the return value as those on sockets do
// (cgroup_common_func_proto asks the attach type).
func (c Caller) ClassFor(id uapi.FuncID) Class {
	if id == uapi.FuncGetRetval || id == uapi.FuncSetRetval {
		if c.Type == uapi.ProgTypeCgroupDevice && c.Attach == uapi.AttachCgroupDevice || c.Type == uapi.ProgTypeCgroupSysctl && c.Attach == uapi.AttachCgroupSysctl {
			return setsockopt
		}
	}
	return c.Class()
}

var byType = map[uapi.ProgType]Class{
	uapi.ProgTypeSocketFilter: socketFilter, uapi.ProgTypeKprobe: kprobe, uapi.ProgTypeTracepoint: tracepoint, uapi.ProgTypePerfEvent: perfEvent,
	uapi.ProgTypeRawTracepoint: rawTracepoint, uapi.ProgTypeRawTracepointWritable: rawTracepoint, uapi.ProgTypeSchedCls: schedCls,
	uapi.ProgTypeSchedAct: schedAct, uapi.ProgTypeXDP: xdp, uapi.ProgTypeCgroupSkb: cgroupSkb, uapi.ProgTypeLwtIn: lwtIn, uapi.ProgTypeLwtOut: lwtOut,
	uapi.ProgTypeLwtXmit: lwtXmit, uapi.ProgTypeLwtSeg6local: lwtSeg6, uapi.ProgTypeSockOps: sockOps, uapi.ProgTypeSkSkb: skSkb,
	uapi.ProgTypeSkMsg: skMsg, uapi.ProgTypeCgroupDevice: cgroupDevice, uapi.ProgTypeLircMode2: lirc, uapi.ProgTypeSkReuseport: skReuseport,
	uapi.ProgTypeFlowDissector: flowDissector, uapi.ProgTypeCgroupSysctl: sysctl, uapi.ProgTypeSkLookup: skLookup,
	uapi.ProgTypeSyscall: syscall, uapi.ProgTypeNetfilter: netfilter,
}

func addrClass(a uapi.AttachType) Class {
	switch a {
	case uapi.AttachCgroupInet4Connect, uapi.AttachCgroupInet6Connect:
		return addrConnect
	case uapi.AttachCgroupUdp4Recvmsg, uapi.AttachCgroupUdp6Recvmsg, uapi.AttachCgroupUnixRecvmsg, uapi.AttachCgroupInet4Getpeername,
		uapi.AttachCgroupInet6Getpeername, uapi.AttachCgroupInet4Getsockname, uapi.AttachCgroupInet6Getsockname:
		return addrName
	case uapi.AttachCgroupUnixGetpeername, uapi.AttachCgroupUnixGetsockname:
		return addrUnixName
	}
	return addrBind
}

func (c Caller) tracingClass() Class {
	switch c.Attach {
	case uapi.AttachTraceRawTp:
		return tracingRawTP
	case uapi.AttachTraceIter:
		switch c.Target {
		case "tcp":
			return iterTCP
		case "unix":
			return iterUnix
		}
		return iter
	}
	return trampoline
}

var classNames = []string{
	"socket_filter", "kprobe", "tracepoint", "perf_event", "raw_tracepoint", "sched_cls", "sched_act", "xdp", "cgroup_skb", "cgroup_sock/create",
	"cgroup_sock", "lwt_in", "lwt_out", "lwt_xmit", "lwt_seg6local", "sock_ops", "sk_skb", "sk_msg", "cgroup_device",
	"cgroup_sock_addr/connect", "cgroup_sock_addr/bind", "cgroup_sock_addr/name", "cgroup_sock_addr/unix name", "lirc_mode2",
	"sk_reuseport", "flow_dissector", "cgroup_sysctl", "cgroup_sockopt/get", "cgroup_sockopt/set", "tracing/raw_tp", "tracing/function",
	"tracing/iter", "tracing/iter tcp", "tracing/iter unix", "struct_ops", "struct_ops/tcp_congestion_ops",
	"struct_ops/tcp_congestion_ops release", "struct_ops/sched_ext_ops", "lsm", "lsm_cgroup", "lsm_cgroup/socket", "sk_lookup", "syscall",
	"netfilter",
}

// Names returns the kinds of programs in a set, in a fixed order.
func (c Class) Names() []string {
	var out []string
	for i, n := range classNames {
		if c>>i&1 != 0 {
			out = append(out, n)
		}
	}
	return out
}

// hookUses returns the programs that may call the functions of a set registered for a program type,
// nil for a type without kfuncs (kernel/bpf/btf.c bpf_prog_type_to_kfunc_hook).
func hookUses(t uapi.ProgType) uses {
	switch t {
	case uapi.ProgTypeUnspec:
		return anyProgram
	case uapi.ProgTypeXDP:
		return xdpUses
	case uapi.ProgTypeSchedCls:
		return schedClsUses
	case uapi.ProgTypeSchedAct:
		return uses{{By: schedAct}}
	case uapi.ProgTypeStructOps:
		return structOpsUses
	case uapi.ProgTypeTracing, uapi.ProgTypeLSM, uapi.ProgTypeTracepoint, uapi.ProgTypePerfEvent:
		return uses{{By: typedTypes}, {From: r(6, 12), By: tracepoint | perfEvent}, {From: r(7, 2), By: rawTracepoint}}
	case uapi.ProgTypeSyscall:
		return syscallUses
	case uapi.ProgTypeCgroupSkb, uapi.ProgTypeCgroupSock, uapi.ProgTypeCgroupDevice, uapi.ProgTypeCgroupSockAddr, uapi.ProgTypeCgroupSockopt, uapi.ProgTypeCgroupSysctl, uapi.ProgTypeSockOps:
		return cgroupUses
	case uapi.ProgTypeSkSkb:
		return uses{{By: skSkb}}
	case uapi.ProgTypeSocketFilter:
		return uses{{By: socketFilter}}
	case uapi.ProgTypeLwtIn, uapi.ProgTypeLwtOut, uapi.ProgTypeLwtXmit, uapi.ProgTypeLwtSeg6local:
		return uses{{By: lwt}}
	case uapi.ProgTypeNetfilter:
		return uses{{By: netfilter}}
	case uapi.ProgTypeKprobe:
		return uses{{By: kprobe}}
	}
	return nil
}
