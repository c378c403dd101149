package uapi

// AttachType is an attach type (enum bpf_attach_type). Zero is AttachCgroupInetIngress, which the kernel also uses for
// "none": program types without attach types ignore it.
type AttachType uint32

const (
	AttachCgroupInetIngress          AttachType = 0
	AttachCgroupInetEgress           AttachType = 1
	AttachCgroupInetSockCreate       AttachType = 2
	AttachCgroupSockOps              AttachType = 3
	AttachSkSkbStreamParser          AttachType = 4
	AttachSkSkbStreamVerdict         AttachType = 5
	AttachCgroupDevice               AttachType = 6
	AttachSkMsgVerdict               AttachType = 7
	AttachCgroupInet4Bind            AttachType = 8
	AttachCgroupInet6Bind            AttachType = 9
	AttachCgroupInet4Connect         AttachType = 10
	AttachCgroupInet6Connect         AttachType = 11
	AttachCgroupInet4PostBind        AttachType = 12
	AttachCgroupInet6PostBind        AttachType = 13
	AttachCgroupUdp4Sendmsg          AttachType = 14
	AttachCgroupUdp6Sendmsg          AttachType = 15
	AttachLircMode2                  AttachType = 16
	AttachFlowDissector              AttachType = 17
	AttachCgroupSysctl               AttachType = 18
	AttachCgroupUdp4Recvmsg          AttachType = 19
	AttachCgroupUdp6Recvmsg          AttachType = 20
	AttachCgroupGetsockopt           AttachType = 21
	AttachCgroupSetsockopt           AttachType = 22
	AttachTraceRawTp                 AttachType = 23
	AttachTraceFentry                AttachType = 24
	AttachTraceFexit                 AttachType = 25
	AttachModifyReturn               AttachType = 26
	AttachLSMMac                     AttachType = 27
	AttachTraceIter                  AttachType = 28
	AttachCgroupInet4Getpeername     AttachType = 29
	AttachCgroupInet6Getpeername     AttachType = 30
	AttachCgroupInet4Getsockname     AttachType = 31
	AttachCgroupInet6Getsockname     AttachType = 32
	AttachXDPDevmap                  AttachType = 33
	AttachCgroupInetSockRelease      AttachType = 34
	AttachXDPCpumap                  AttachType = 35
	AttachSkLookup                   AttachType = 36
	AttachXDP                        AttachType = 37
	AttachSkSkbVerdict               AttachType = 38
	AttachSkReuseportSelect          AttachType = 39
	AttachSkReuseportSelectOrMigrate AttachType = 40
	AttachPerfEvent                  AttachType = 41
	AttachTraceKprobeMulti           AttachType = 42
	AttachLSMCgroup                  AttachType = 43
	AttachStructOps                  AttachType = 44
	AttachNetfilter                  AttachType = 45
	AttachTcxIngress                 AttachType = 46
	AttachTcxEgress                  AttachType = 47
	AttachTraceUprobeMulti           AttachType = 48
	AttachCgroupUnixConnect          AttachType = 49
	AttachCgroupUnixSendmsg          AttachType = 50
	AttachCgroupUnixRecvmsg          AttachType = 51
	AttachCgroupUnixGetpeername      AttachType = 52
	AttachCgroupUnixGetsockname      AttachType = 53
	AttachNetkitPrimary              AttachType = 54
	AttachNetkitPeer                 AttachType = 55
	AttachTraceKprobeSession         AttachType = 56
	AttachTraceUprobeSession         AttachType = 57
	AttachTraceFsession              AttachType = 58
	AttachTraceFentryMulti           AttachType = 59
	AttachTraceFexitMulti            AttachType = 60
	AttachTraceFsessionMulti         AttachType = 61
)

// attachTypeNames are the names libbpf_bpf_attach_type_str gives.
var attachTypeNames = [...]string{
	AttachCgroupInetIngress:          "cgroup_inet_ingress",
	AttachCgroupInetEgress:           "cgroup_inet_egress",
	AttachCgroupInetSockCreate:       "cgroup_inet_sock_create",
	AttachCgroupSockOps:              "cgroup_sock_ops",
	AttachSkSkbStreamParser:          "sk_skb_stream_parser",
	AttachSkSkbStreamVerdict:         "sk_skb_stream_verdict",
	AttachCgroupDevice:               "cgroup_device",
	AttachSkMsgVerdict:               "sk_msg_verdict",
	AttachCgroupInet4Bind:            "cgroup_inet4_bind",
	AttachCgroupInet6Bind:            "cgroup_inet6_bind",
	AttachCgroupInet4Connect:         "cgroup_inet4_connect",
	AttachCgroupInet6Connect:         "cgroup_inet6_connect",
	AttachCgroupInet4PostBind:        "cgroup_inet4_post_bind",
	AttachCgroupInet6PostBind:        "cgroup_inet6_post_bind",
	AttachCgroupUdp4Sendmsg:          "cgroup_udp4_sendmsg",
	AttachCgroupUdp6Sendmsg:          "cgroup_udp6_sendmsg",
	AttachLircMode2:                  "lirc_mode2",
	AttachFlowDissector:              "flow_dissector",
	AttachCgroupSysctl:               "cgroup_sysctl",
	AttachCgroupUdp4Recvmsg:          "cgroup_udp4_recvmsg",
	AttachCgroupUdp6Recvmsg:          "cgroup_udp6_recvmsg",
	AttachCgroupGetsockopt:           "cgroup_getsockopt",
	AttachCgroupSetsockopt:           "cgroup_setsockopt",
	AttachTraceRawTp:                 "trace_raw_tp",
	AttachTraceFentry:                "trace_fentry",
	AttachTraceFexit:                 "trace_fexit",
	AttachModifyReturn:               "modify_return",
	AttachLSMMac:                     "lsm_mac",
	AttachTraceIter:                  "trace_iter",
	AttachCgroupInet4Getpeername:     "cgroup_inet4_getpeername",
	AttachCgroupInet6Getpeername:     "cgroup_inet6_getpeername",
	AttachCgroupInet4Getsockname:     "cgroup_inet4_getsockname",
	AttachCgroupInet6Getsockname:     "cgroup_inet6_getsockname",
	AttachXDPDevmap:                  "xdp_devmap",
	AttachCgroupInetSockRelease:      "cgroup_inet_sock_release",
	AttachXDPCpumap:                  "xdp_cpumap",
	AttachSkLookup:                   "sk_lookup",
	AttachXDP:                        "xdp",
	AttachSkSkbVerdict:               "sk_skb_verdict",
	AttachSkReuseportSelect:          "sk_reuseport_select",
	AttachSkReuseportSelectOrMigrate: "sk_reuseport_select_or_migrate",
	AttachPerfEvent:                  "perf_event",
	AttachTraceKprobeMulti:           "trace_kprobe_multi",
	AttachLSMCgroup:                  "lsm_cgroup",
	AttachStructOps:                  "struct_ops",
	AttachNetfilter:                  "netfilter",
	AttachTcxIngress:                 "tcx_ingress",
	AttachTcxEgress:                  "tcx_egress",
	AttachTraceUprobeMulti:           "trace_uprobe_multi",
	AttachCgroupUnixConnect:          "cgroup_unix_connect",
	AttachCgroupUnixSendmsg:          "cgroup_unix_sendmsg",
	AttachCgroupUnixRecvmsg:          "cgroup_unix_recvmsg",
	AttachCgroupUnixGetpeername:      "cgroup_unix_getpeername",
	AttachCgroupUnixGetsockname:      "cgroup_unix_getsockname",
	AttachNetkitPrimary:              "netkit_primary",
	AttachNetkitPeer:                 "netkit_peer",
	AttachTraceKprobeSession:         "trace_kprobe_session",
	AttachTraceUprobeSession:         "trace_uprobe_session",
	AttachTraceFsession:              "trace_fsession",
	AttachTraceFentryMulti:           "trace_fentry_multi",
	AttachTraceFexitMulti:            "trace_fexit_multi",
	AttachTraceFsessionMulti:         "trace_fsession_multi",
}

// String returns libbpf's name of the type ("trace_fentry", "cgroup_inet4_bind"), or "AttachType(N)" for a number no known kernel defines.
func (t AttachType) String() string {
	if uint32(t) < uint32(len(attachTypeNames)) {
		return attachTypeNames[t]
	}
	return unknown("AttachType", int64(t))
}

// Known reports whether t is a number this package has a name for.
func (t AttachType) Known() bool { return uint32(t) < uint32(len(attachTypeNames)) }

// ParseAttachType finds a AttachType by its String form.
func ParseAttachType(s string) (AttachType, bool) {
	for i, n := range attachTypeNames {
		if n == s {
			return AttachType(i), true
		}
	}
	return 0, false
}
