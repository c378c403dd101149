package uapi

// ProgType is a program type (enum bpf_prog_type). Numbers are those of Linux 7.3, which never change meaning.
type ProgType uint32

const (
	ProgTypeUnspec                ProgType = 0
	ProgTypeSocketFilter          ProgType = 1
	ProgTypeKprobe                ProgType = 2
	ProgTypeSchedCls              ProgType = 3
	ProgTypeSchedAct              ProgType = 4
	ProgTypeTracepoint            ProgType = 5
	ProgTypeXDP                   ProgType = 6
	ProgTypePerfEvent             ProgType = 7
	ProgTypeCgroupSkb             ProgType = 8
	ProgTypeCgroupSock            ProgType = 9
	ProgTypeLwtIn                 ProgType = 10
	ProgTypeLwtOut                ProgType = 11
	ProgTypeLwtXmit               ProgType = 12
	ProgTypeSockOps               ProgType = 13
	ProgTypeSkSkb                 ProgType = 14
	ProgTypeCgroupDevice          ProgType = 15
	ProgTypeSkMsg                 ProgType = 16
	ProgTypeRawTracepoint         ProgType = 17
	ProgTypeCgroupSockAddr        ProgType = 18
	ProgTypeLwtSeg6local          ProgType = 19
	ProgTypeLircMode2             ProgType = 20
	ProgTypeSkReuseport           ProgType = 21
	ProgTypeFlowDissector         ProgType = 22
	ProgTypeCgroupSysctl          ProgType = 23
	ProgTypeRawTracepointWritable ProgType = 24
	ProgTypeCgroupSockopt         ProgType = 25
	ProgTypeTracing               ProgType = 26
	ProgTypeStructOps             ProgType = 27
	ProgTypeExt                   ProgType = 28
	ProgTypeLSM                   ProgType = 29
	ProgTypeSkLookup              ProgType = 30
	ProgTypeSyscall               ProgType = 31
	ProgTypeNetfilter             ProgType = 32
)

// progTypeNames are the names libbpf_bpf_prog_type_str gives.
var progTypeNames = [...]string{
	ProgTypeUnspec:                "unspec",
	ProgTypeSocketFilter:          "socket_filter",
	ProgTypeKprobe:                "kprobe",
	ProgTypeSchedCls:              "sched_cls",
	ProgTypeSchedAct:              "sched_act",
	ProgTypeTracepoint:            "tracepoint",
	ProgTypeXDP:                   "xdp",
	ProgTypePerfEvent:             "perf_event",
	ProgTypeCgroupSkb:             "cgroup_skb",
	ProgTypeCgroupSock:            "cgroup_sock",
	ProgTypeLwtIn:                 "lwt_in",
	ProgTypeLwtOut:                "lwt_out",
	ProgTypeLwtXmit:               "lwt_xmit",
	ProgTypeSockOps:               "sock_ops",
	ProgTypeSkSkb:                 "sk_skb",
	ProgTypeCgroupDevice:          "cgroup_device",
	ProgTypeSkMsg:                 "sk_msg",
	ProgTypeRawTracepoint:         "raw_tracepoint",
	ProgTypeCgroupSockAddr:        "cgroup_sock_addr",
	ProgTypeLwtSeg6local:          "lwt_seg6local",
	ProgTypeLircMode2:             "lirc_mode2",
	ProgTypeSkReuseport:           "sk_reuseport",
	ProgTypeFlowDissector:         "flow_dissector",
	ProgTypeCgroupSysctl:          "cgroup_sysctl",
	ProgTypeRawTracepointWritable: "raw_tracepoint_writable",
	ProgTypeCgroupSockopt:         "cgroup_sockopt",
	ProgTypeTracing:               "tracing",
	ProgTypeStructOps:             "struct_ops",
	ProgTypeExt:                   "ext",
	ProgTypeLSM:                   "lsm",
	ProgTypeSkLookup:              "sk_lookup",
	ProgTypeSyscall:               "syscall",
	ProgTypeNetfilter:             "netfilter",
}

// String returns libbpf's name of the type ("kprobe", "sched_cls"), or "ProgType(N)" for a number no known kernel defines.
func (t ProgType) String() string {
	if uint32(t) < uint32(len(progTypeNames)) {
		return progTypeNames[t]
	}
	return unknown("ProgType", int64(t))
}

// Known reports whether t is a number this package has a name for.
func (t ProgType) Known() bool { return uint32(t) < uint32(len(progTypeNames)) }

// ParseProgType finds a ProgType by its String form.
func ParseProgType(s string) (ProgType, bool) {
	for i, n := range progTypeNames {
		if n == s {
			return ProgType(i), true
		}
	}
	return 0, false
}
