package progtype

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Groups of __sk_buff fields that are hidden from some program types.
var (
	// socketFields are copied from the packet's socket.
	socketFields = []string{"family", "remote_ip4", "local_ip4", "remote_ip6", "local_ip6", "remote_port", "local_port"}
	// lateFields are only visible to traffic control programs.
	lateFields = []string{"tc_classid", "data_meta", "wire_len", "tstamp_type", "flow_keys"}
	// dissectorHidden lists the fields that are hidden from flow dissectors.
	dissectorHidden = func() []string {
		var out []string
		for _, f := range skbFields {
			if f.Yields != PacketData && f.Yields != PacketEnd && f.Yields != FlowKeys {
				out = append(out, f.Group())
			}
		}
		return out
	}()
)

func list(parts ...[]string) []string { return slices.Concat(parts...) }

// tcAccess lists the accesses of traffic control programs to __sk_buff
// (tc_cls_act_is_valid_access).
var tcAccess = Access{
	Hidden:  list(socketFields, []string{"flow_keys"}),
	Written: []string{"mark", "tc_index", "priority", "tc_classid", "cb", "tstamp", "queue_mapping"},
}

// lwtAccess lists the accesses of lightweight tunnel programs to __sk_buff (lwt_is_valid_access).
var lwtAccess = Access{
	Hidden:  list(socketFields, lateFields, []string{"tstamp", "hwtstamp"}),
	Written: []string{"mark", "priority", "cb"},
}

const takesSkb = TakesPacket | TakesBytes | TakesSocket | TakesSkb | TakesFrags

// networkRows lists the program types of the networking stack.
var networkRows = []Row{
	{
		Type: uapi.ProgTypeSocketFilter, Runs: inBoth("sk_filter_trim_cap"), Since: uapi.R(3, 19),
		Sections: []Section{{Name: "socket"}},
		Takes:    takesSkb, Context: skbContext, Layer: Network,
		Access:  Access{Hidden: list(socketFields, lateFields, []string{"data", "data_end", "tstamp", "hwtstamp"}), Written: []string{"cb"}},
		Returns: anyReturn, TestRun: true,
	},
	{
		Type: uapi.ProgTypeSchedCls, Runs: inSoftIRQs("cls_bpf_classify"), Chain: UntilVerdict, Needs: NetAdmin, Standard: true, Since: uapi.R(4, 1),
		Sections: []Section{
			{Name: "tc/ingress", Attach: uapi.AttachTcxIngress, Flags: OptionalAttach}, {Name: "tc/egress", Attach: uapi.AttachTcxEgress, Flags: OptionalAttach},
			{Name: "tcx/ingress", Attach: uapi.AttachTcxIngress}, {Name: "tcx/egress", Attach: uapi.AttachTcxEgress},
			{Name: "tc"}, {Name: "classifier"},
			{Name: "netkit/primary", Attach: uapi.AttachNetkitPrimary}, {Name: "netkit/peer", Attach: uapi.AttachNetkitPeer},
		},
		Attaches: []Attach{
			{Type: uapi.AttachTcxIngress, Since: uapi.R(6, 6), Ingress: true}, {Type: uapi.AttachTcxEgress, Since: uapi.R(6, 6)},
			{Type: uapi.AttachNetkitPrimary, Since: uapi.R(6, 7)}, {Type: uapi.AttachNetkitPeer, Since: uapi.R(6, 7)},
		},
		Takes: takesSkb, Context: skbContext, Layer: Link, Access: tcAccess, Packet: WritesPacket,
		Returns: anyReturn, Vocabulary: TCActions, TestRun: true,
	},
	{
		Type: uapi.ProgTypeSchedAct, Runs: inSoftIRQs("tcf_bpf_act"), Needs: NetAdmin, Since: uapi.R(4, 1),
		Sections: []Section{{Name: "action"}},
		Takes:    takesSkb, Context: skbContext, Layer: Link, Access: tcAccess, Packet: WritesPacket,
		Returns: anyReturn, Vocabulary: TCActions, TestRun: true,
	},
	{
		Type: uapi.ProgTypeXDP, Runs: inSoftIRQs("bpf_prog_run_xdp"), Needs: NetAdmin, Standard: true, Since: uapi.R(4, 8),
		Sections: []Section{
			{Name: "xdp.frags/devmap", Attach: uapi.AttachXDPDevmap, Flags: Frags}, {Name: "xdp/devmap", Attach: uapi.AttachXDPDevmap},
			{Name: "xdp.frags/cpumap", Attach: uapi.AttachXDPCpumap, Flags: Frags}, {Name: "xdp/cpumap", Attach: uapi.AttachXDPCpumap},
			{Name: "xdp.frags", Attach: uapi.AttachXDP, Flags: Frags}, {Name: "xdp", Attach: uapi.AttachXDP},
		},
		Attach: uapi.AttachXDP,
		Attaches: []Attach{
			{Type: uapi.AttachXDP, Since: uapi.R(5, 9), Optional: true},
			{Type: uapi.AttachXDPDevmap, Since: uapi.R(5, 8), Access: &Access{}},
			{Type: uapi.AttachXDPCpumap, Since: uapi.R(5, 9)},
		},
		Takes: TakesPacket | TakesBytes | TakesFrags | TakesXDP, FragsByFlag: true, Context: xdpContext, Layer: Link,
		Access: Access{Hidden: []string{"egress_ifindex"}}, Packet: WritesPacket,
		Returns: anyReturn, Vocabulary: XDPActions, TestRun: true,
	},
	{
		Type: uapi.ProgTypeLwtIn, Runs: inSoftIRQs("run_lwt_bpf"), Needs: NetAdmin, Since: uapi.R(4, 10), Sections: []Section{{Name: "lwt_in"}},
		Takes: takesSkb, Context: skbContext, Layer: Network, Access: lwtAccess, Packet: ReadsPacket,
		Returns: anyReturn, Vocabulary: LwtCodes, TestRun: true,
	},
	{
		Type: uapi.ProgTypeLwtOut, Runs: inSoftIRQs("run_lwt_bpf"), Needs: NetAdmin, Since: uapi.R(4, 10), Sections: []Section{{Name: "lwt_out"}},
		Takes: takesSkb, Context: skbContext, Layer: Network, Access: lwtAccess, Packet: ReadsPacket,
		Returns: anyReturn, Vocabulary: LwtCodes, TestRun: true,
	},
	{
		Type: uapi.ProgTypeLwtXmit, Runs: inSoftIRQs("run_lwt_bpf"), Needs: NetAdmin, Since: uapi.R(4, 10), Sections: []Section{{Name: "lwt_xmit"}},
		Takes: takesSkb, Context: skbContext, Layer: Network, Access: lwtAccess, Packet: WritesPacket,
		Returns: anyReturn, Vocabulary: LwtCodes, TestRun: true,
	},
	{
		Type: uapi.ProgTypeLwtSeg6local, Runs: inSoftIRQs("input_action_end_bpf"), Needs: NetAdmin, Since: uapi.R(4, 18), Sections: []Section{{Name: "lwt_seg6local"}},
		Takes: takesSkb, Context: skbContext, Layer: Network, Access: lwtAccess, Packet: ReadsPacket,
		Returns: anyReturn, Vocabulary: LwtCodes,
	},
	{
		Type: uapi.ProgTypeSkSkb, Runs: sockmapBytes, Needs: NetAdmin, Since: uapi.R(4, 14),
		Sections: []Section{
			{Name: "sk_skb/stream_parser", Attach: uapi.AttachSkSkbStreamParser}, {Name: "sk_skb/stream_verdict", Attach: uapi.AttachSkSkbStreamVerdict},
			{Name: "sk_skb/verdict", Attach: uapi.AttachSkSkbVerdict}, {Name: "sk_skb"},
		},
		Attaches: []Attach{
			{Type: uapi.AttachSkSkbStreamParser, Since: uapi.R(4, 14)}, {Type: uapi.AttachSkSkbStreamVerdict, Since: uapi.R(4, 14)},
			{Type: uapi.AttachSkSkbVerdict, Since: uapi.R(5, 13)},
		},
		Takes: takesSkb, Context: skbContext, Layer: Payload,
		Access: Access{Hidden: list(lateFields, []string{"tstamp", "hwtstamp", "mark"}), Written: []string{"tc_index", "priority"}},
		Packet: WritesPacket, Returns: anyReturn, Vocabulary: SkActions,
	},
	{
		Type: uapi.ProgTypeSkMsg, Runs: inTasks("sk_psock_msg_verdict"), Needs: NetAdmin, Since: uapi.R(4, 17),
		Sections: []Section{{Name: "sk_msg", Attach: uapi.AttachSkMsgVerdict}},
		Attach:   uapi.AttachSkMsgVerdict, Attaches: []Attach{{Type: uapi.AttachSkMsgVerdict, Since: uapi.R(4, 17)}},
		Takes: TakesSocket | TakesMessage, Context: skMsgContext, Packet: WritesPacket, Returns: anyReturn, Vocabulary: SkActions,
	},
	{
		Type: uapi.ProgTypeSkReuseport, Runs: inSoftIRQs("bpf_run_sk_reuseport"), Since: uapi.R(4, 19),
		Sections: []Section{
			{Name: "sk_reuseport/migrate", Attach: uapi.AttachSkReuseportSelectOrMigrate}, {Name: "sk_reuseport", Attach: uapi.AttachSkReuseportSelect},
		},
		Attach: uapi.AttachSkReuseportSelect,
		Attaches: []Attach{
			{Type: uapi.AttachSkReuseportSelect, Since: uapi.R(5, 14), Optional: true},
			{Type: uapi.AttachSkReuseportSelectOrMigrate, Since: uapi.R(5, 14), Optional: true},
		},
		Takes: TakesPacket | TakesSocket, Context: skReuseportContext, Layer: Transport, Packet: ReadsPacket,
		Returns: anyReturn, Vocabulary: SkActions,
	},
	{
		Type: uapi.ProgTypeFlowDissector, Runs: inBoth("bpf_flow_dissect"), Needs: NetAdmin, Since: uapi.R(4, 20),
		Sections: []Section{{Name: "flow_dissector", Attach: uapi.AttachFlowDissector}},
		Attach:   uapi.AttachFlowDissector, Attaches: []Attach{{Type: uapi.AttachFlowDissector, Since: uapi.R(4, 20)}},
		Takes: TakesPacket | TakesBytes, Context: flowContext, Layer: Link, Access: Access{Hidden: dissectorHidden}, Packet: ReadsPacket,
		Returns: anyReturn, Vocabulary: DissectorCodes, TestRun: true,
	},
	{
		Type: uapi.ProgTypeSkLookup, Runs: inBoth("bpf_sk_lookup_run_v4"), Since: uapi.R(5, 9),
		Sections: []Section{{Name: "sk_lookup", Attach: uapi.AttachSkLookup}},
		Attach:   uapi.AttachSkLookup, Attaches: []Attach{{Type: uapi.AttachSkLookup, Since: uapi.R(5, 9)}},
		Takes: TakesBytes, Context: skLookupContext, Returns: from(0, 1), Vocabulary: SkActions, TestRun: true,
	},
	{
		Type: uapi.ProgTypeNetfilter, Runs: inBoth("nf_hook_run_bpf"), Chain: UntilDrop, Needs: NetAdmin, Since: uapi.R(6, 4),
		Sections: []Section{{Name: "netfilter", Attach: uapi.AttachNetfilter}},
		Attach:   uapi.AttachNetfilter, Attaches: []Attach{{Type: uapi.AttachNetfilter, Since: uapi.R(6, 4)}},
		Takes: TakesPacket, Context: netfilterContext, Layer: Network, Returns: from(0, 1), Vocabulary: NetfilterVerdicts,
		TestRun: true,
	},
}

// SockMapPart is what a program decides for the sockets of a sockmap or sockhash that it is
// attached to.
type SockMapPart int

// The parts. A map has at most one program for each.
const (
	NoPart            SockMapPart = iota // the program cannot be attached to a map of sockets
	PartParser                           // where messages of a stream end
	PartStreamVerdict                    // what becomes of them
	PartVerdict                          // the same without a parser
	PartMessage                          // what becomes of data that a socket sends
)

// SockMapPartOf returns the part of a program (sock_map_prog_lookup).
func SockMapPartOf(t uapi.ProgType, a uapi.AttachType) SockMapPart {
	switch {
	case t == uapi.ProgTypeSkMsg:
		return PartMessage
	case t != uapi.ProgTypeSkSkb:
		return NoPart
	}
	switch a {
	case uapi.AttachSkSkbStreamParser:
		return PartParser
	case uapi.AttachSkSkbStreamVerdict:
		return PartStreamVerdict
	case uapi.AttachSkSkbVerdict:
		return PartVerdict
	}
	return NoPart
}
