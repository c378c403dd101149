package progtype

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Address families.
const (
	unixFamily  = 1
	inetFamily  = 2
	inet6Family = 10
)

// addressAccess returns the rules for a socket address hook: fields that its addresses lack are
// hidden (sock_addr_is_valid_access).
func addressAccess(h *Address) *Access {
	a := &Access{Written: []string{"user_port"}}
	have := func(field string, ok bool) {
		if ok {
			a.Written = append(a.Written, field)
		} else {
			a.Hidden = append(a.Hidden, field)
		}
	}
	have("user_ip4", h.Family == inetFamily)
	have("user_ip6", h.Family == inet6Family)
	have("msg_src_ip4", h.Family == inetFamily && h.Send)
	have("msg_src_ip6", h.Family == inet6Family && h.Send)
	return a
}

func addressHook(t uapi.AttachType, since uapi.Release, h Address, returns []Return) Attach {
	return Attach{Type: t, Since: since, Access: addressAccess(&h), Address: &h, Returns: returns}
}

var (
	one1 = from(1, 1)
	// bindReturns lists the return values of bind hooks; bit 1 skips the check for privileged
	// ports.
	bindReturns = []Return{{Range: Range{High: 1}}, {Since: v512, Range: Range{High: 3}}}
	v67         = uapi.R(6, 7)

	bindReads   = &Access{Hidden: []string{"bound_dev_if", "mark", "priority", "src_ip6"}}
	bindReads6  = &Access{Hidden: []string{"bound_dev_if", "mark", "priority", "src_ip4"}}
	sockWritten = Access{Hidden: []string{"src_ip4", "src_ip6", "src_port"}, Written: []string{"bound_dev_if", "mark", "priority"}}
)

// cgroupRows lists the program types that attach to cgroups.
var cgroupRows = []Row{
	{
		Type: uapi.ProgTypeCgroupSkb, Runs: inBoth("__cgroup_bpf_run_filter_skb"), Chain: AllAllow, Since: uapi.R(4, 10),
		Sections: []Section{
			{Name: "cgroup_skb/ingress", Attach: uapi.AttachCgroupInetIngress}, {Name: "cgroup_skb/egress", Attach: uapi.AttachCgroupInetEgress},
			{Name: "cgroup/skb"},
		},
		Attaches: []Attach{
			{Type: uapi.AttachCgroupInetIngress, Since: uapi.R(4, 10), Ingress: true},
			// Bit 1 requests a congestion notification.
			{Type: uapi.AttachCgroupInetEgress, Since: uapi.R(4, 10), Returns: from(0, 3)},
		},
		Takes: takesSkb, Context: skbContext, Layer: Network, Packet: ReadsPacket,
		Access:  Access{Hidden: lateFields, Written: []string{"mark", "priority", "cb", "tstamp"}},
		Returns: from(0, 1), Vocabulary: AllowDeny, TestRun: true,
	},
	{
		Type: uapi.ProgTypeCgroupSock, Runs: inTasks("__cgroup_bpf_run_filter_sk"), Chain: AllAllow, Needs: NetAdmin, Since: uapi.R(4, 10),
		Sections: []Section{
			{Name: "cgroup/sock_create", Attach: uapi.AttachCgroupInetSockCreate}, {Name: "cgroup/sock_release", Attach: uapi.AttachCgroupInetSockRelease},
			{Name: "cgroup/sock", Attach: uapi.AttachCgroupInetSockCreate},
			{Name: "cgroup/post_bind4", Attach: uapi.AttachCgroupInet4PostBind}, {Name: "cgroup/post_bind6", Attach: uapi.AttachCgroupInet6PostBind},
		},
		Attach: uapi.AttachCgroupInetSockCreate,
		Attaches: []Attach{
			{Type: uapi.AttachCgroupInetSockCreate, Since: uapi.R(4, 10)}, {Type: uapi.AttachCgroupInetSockRelease, Since: uapi.R(5, 9)},
			{Type: uapi.AttachCgroupInet4PostBind, Since: uapi.R(4, 17), Access: bindReads, Address: &Address{Family: inetFamily, Local: true}},
			{Type: uapi.AttachCgroupInet6PostBind, Since: uapi.R(4, 17), Access: bindReads6, Address: &Address{Family: inet6Family, Local: true}},
		},
		Takes: TakesSocket, Context: Sock, Access: sockWritten,
		Returns: from(0, 1), Vocabulary: AllowDeny,
	},
	{
		Type: uapi.ProgTypeCgroupSockAddr, Runs: inTasks("__cgroup_bpf_run_filter_sock_addr"), Chain: AllAllow, Needs: NetAdmin, Standard: true, Since: uapi.R(4, 17),
		Sections: []Section{
			{Name: "cgroup/bind4", Attach: uapi.AttachCgroupInet4Bind}, {Name: "cgroup/bind6", Attach: uapi.AttachCgroupInet6Bind},
			{Name: "cgroup/connect4", Attach: uapi.AttachCgroupInet4Connect}, {Name: "cgroup/connect6", Attach: uapi.AttachCgroupInet6Connect},
			{Name: "cgroup/connect_unix", Attach: uapi.AttachCgroupUnixConnect},
			{Name: "cgroup/sendmsg4", Attach: uapi.AttachCgroupUdp4Sendmsg}, {Name: "cgroup/sendmsg6", Attach: uapi.AttachCgroupUdp6Sendmsg},
			{Name: "cgroup/sendmsg_unix", Attach: uapi.AttachCgroupUnixSendmsg},
			{Name: "cgroup/recvmsg4", Attach: uapi.AttachCgroupUdp4Recvmsg}, {Name: "cgroup/recvmsg6", Attach: uapi.AttachCgroupUdp6Recvmsg},
			{Name: "cgroup/recvmsg_unix", Attach: uapi.AttachCgroupUnixRecvmsg},
			{Name: "cgroup/getpeername4", Attach: uapi.AttachCgroupInet4Getpeername}, {Name: "cgroup/getpeername6", Attach: uapi.AttachCgroupInet6Getpeername},
			{Name: "cgroup/getpeername_unix", Attach: uapi.AttachCgroupUnixGetpeername},
			{Name: "cgroup/getsockname4", Attach: uapi.AttachCgroupInet4Getsockname}, {Name: "cgroup/getsockname6", Attach: uapi.AttachCgroupInet6Getsockname},
			{Name: "cgroup/getsockname_unix", Attach: uapi.AttachCgroupUnixGetsockname},
		},
		Attach: uapi.AttachCgroupInet4Connect,
		Attaches: []Attach{
			addressHook(uapi.AttachCgroupInet4Bind, uapi.R(4, 17), Address{Family: inetFamily, Local: true}, bindReturns),
			addressHook(uapi.AttachCgroupInet6Bind, uapi.R(4, 17), Address{Family: inet6Family, Local: true}, bindReturns),
			addressHook(uapi.AttachCgroupInet4Connect, uapi.R(4, 17), Address{Family: inetFamily}, nil),
			addressHook(uapi.AttachCgroupInet6Connect, uapi.R(4, 17), Address{Family: inet6Family}, nil),
			addressHook(uapi.AttachCgroupUnixConnect, v67, Address{Family: unixFamily}, nil),
			addressHook(uapi.AttachCgroupUdp4Sendmsg, uapi.R(4, 18), Address{Family: inetFamily, Send: true}, nil),
			addressHook(uapi.AttachCgroupUdp6Sendmsg, uapi.R(4, 18), Address{Family: inet6Family, Send: true}, nil),
			addressHook(uapi.AttachCgroupUnixSendmsg, v67, Address{Family: unixFamily, Send: true}, nil),
			addressHook(uapi.AttachCgroupUdp4Recvmsg, uapi.R(5, 2), Address{Family: inetFamily, Receive: true}, one1),
			addressHook(uapi.AttachCgroupUdp6Recvmsg, uapi.R(5, 2), Address{Family: inet6Family, Receive: true}, one1),
			addressHook(uapi.AttachCgroupUnixRecvmsg, v67, Address{Family: unixFamily, Receive: true}, one1),
			addressHook(uapi.AttachCgroupInet4Getpeername, uapi.R(5, 8), Address{Family: inetFamily}, one1),
			addressHook(uapi.AttachCgroupInet6Getpeername, uapi.R(5, 8), Address{Family: inet6Family}, one1),
			addressHook(uapi.AttachCgroupUnixGetpeername, v67, Address{Family: unixFamily}, one1),
			addressHook(uapi.AttachCgroupInet4Getsockname, uapi.R(5, 8), Address{Family: inetFamily, Local: true}, one1),
			addressHook(uapi.AttachCgroupInet6Getsockname, uapi.R(5, 8), Address{Family: inet6Family, Local: true}, one1),
			addressHook(uapi.AttachCgroupUnixGetsockname, v67, Address{Family: unixFamily, Local: true}, one1),
		},
		Takes: TakesSocket, Context: sockAddrContext,
		Returns: from(0, 1), Vocabulary: AllowDeny,
	},
	{
		Type: uapi.ProgTypeSockOps, Runs: inBoth("__cgroup_bpf_run_filter_sock_ops"), Chain: AllAllow, Needs: NetAdmin, Standard: true, Since: uapi.R(4, 13),
		Sections: []Section{{Name: "sockops", Attach: uapi.AttachCgroupSockOps}},
		Attach:   uapi.AttachCgroupSockOps, Attaches: []Attach{{Type: uapi.AttachCgroupSockOps, Since: uapi.R(4, 13)}},
		Takes: TakesPacket | TakesSocket, Context: sockOpsContext, Layer: Link, Access: Access{Written: []string{"reply", "sk_txhash"}},
		Returns: from(0, 1),
	},
	{
		Type: uapi.ProgTypeCgroupSockopt, Runs: inTasks("__cgroup_bpf_run_filter_setsockopt"), Chain: AllAllow, Needs: NetAdmin, Since: uapi.R(5, 3),
		Sections: []Section{
			{Name: "cgroup/getsockopt", Attach: uapi.AttachCgroupGetsockopt}, {Name: "cgroup/setsockopt", Attach: uapi.AttachCgroupSetsockopt},
		},
		Attach: uapi.AttachCgroupGetsockopt,
		Attaches: []Attach{
			{Type: uapi.AttachCgroupGetsockopt, Since: uapi.R(5, 3), Access: &Access{Written: []string{"retval", "optlen"}}},
			{Type: uapi.AttachCgroupSetsockopt, Since: uapi.R(5, 3), Access: &Access{Hidden: []string{"retval"}, Written: []string{"level", "optname", "optlen"}}},
		},
		Takes: TakesSocket | TakesSockopt, Context: sockoptContext, Access: Access{Hidden: []string{"retval"}, Written: []string{"optlen"}},
		Packet: WritesPacket, Returns: from(0, 1), Vocabulary: AllowDeny,
	},
	{
		Type: uapi.ProgTypeCgroupSysctl, Runs: inTasks("__cgroup_bpf_run_filter_sysctl"), Chain: AllAllow, Needs: NetAdmin, Standard: true, Since: uapi.R(5, 2),
		Sections: []Section{{Name: "cgroup/sysctl", Attach: uapi.AttachCgroupSysctl}},
		Attach:   uapi.AttachCgroupSysctl, Attaches: []Attach{{Type: uapi.AttachCgroupSysctl, Since: uapi.R(5, 2)}},
		Takes: TakesSysctl, Context: sysctlContext, Access: Access{Written: []string{"file_pos"}},
		Returns: from(0, 1), Vocabulary: AllowDeny,
	},
	{
		Type: uapi.ProgTypeCgroupDevice, Runs: inTasks("__cgroup_bpf_check_dev_permission"), Chain: AllAllow, Needs: NetAdmin, Since: uapi.R(4, 15),
		Sections: []Section{{Name: "cgroup/dev", Attach: uapi.AttachCgroupDevice}},
		Attach:   uapi.AttachCgroupDevice, Attaches: []Attach{{Type: uapi.AttachCgroupDevice, Since: uapi.R(4, 15)}},
		Takes: TakesDevice, Context: deviceContext,
		Returns: from(0, 1), Vocabulary: AllowDeny,
	},
}
