package uapi

// XDP verdicts (enum xdp_action).
const (
	XDPAborted  = 0
	XDPDrop     = 1
	XDPPass     = 2
	XDPTx       = 3
	XDPRedirect = 4
)

// Traffic control verdicts (linux/pkt_cls.h). tcx programs use the subset -1 (TCX_NEXT), 0, 2 and 7 with the same numbers.
const (
	TCActUnspec     = -1
	TCActOk         = 0
	TCActReclassify = 1
	TCActShot       = 2
	TCActPipe       = 3
	TCActStolen     = 4
	TCActQueued     = 5
	TCActRepeat     = 6
	TCActRedirect   = 7
	TCActTrap       = 8
)

// Socket verdicts (enum sk_action) of sk_skb, sk_msg, sk_lookup and sk_reuseport programs.
const (
	SkDrop = 0
	SkPass = 1
)

// Generic verdicts (enum bpf_ret_code) of lightweight tunnel and flow dissector programs.
const (
	RetOk                    = 0
	RetDrop                  = 2
	RetRedirect              = 7
	RetLwtReroute            = 128
	RetFlowDissectorContinue = 129
)

// Netfilter verdicts a BPF program may return (linux/netfilter.h).
const (
	NfDrop   = 0
	NfAccept = 1
)

type verdict struct {
	value int32
	name  string
}

var (
	xdpVerdicts = []verdict{
		{XDPAborted, "XDP_ABORTED"}, {XDPDrop, "XDP_DROP"}, {XDPPass, "XDP_PASS"}, {XDPTx, "XDP_TX"}, {XDPRedirect, "XDP_REDIRECT"},
	}
	tcVerdicts = []verdict{
		{TCActUnspec, "TC_ACT_UNSPEC"}, {TCActOk, "TC_ACT_OK"}, {TCActReclassify, "TC_ACT_RECLASSIFY"}, {TCActShot, "TC_ACT_SHOT"},
		{TCActPipe, "TC_ACT_PIPE"}, {TCActStolen, "TC_ACT_STOLEN"}, {TCActQueued, "TC_ACT_QUEUED"}, {TCActRepeat, "TC_ACT_REPEAT"},
		{TCActRedirect, "TC_ACT_REDIRECT"}, {TCActTrap, "TC_ACT_TRAP"},
	}
	skVerdicts     = []verdict{{SkDrop, "SK_DROP"}, {SkPass, "SK_PASS"}}
	lwtVerdicts    = []verdict{{RetOk, "BPF_OK"}, {RetDrop, "BPF_DROP"}, {RetRedirect, "BPF_REDIRECT"}, {RetLwtReroute, "BPF_LWT_REROUTE"}}
	flowVerdicts   = []verdict{{RetOk, "BPF_OK"}, {RetDrop, "BPF_DROP"}, {RetFlowDissectorContinue, "BPF_FLOW_DISSECTOR_CONTINUE"}}
	nfVerdicts     = []verdict{{NfDrop, "NF_DROP"}, {NfAccept, "NF_ACCEPT"}}
	accessVerdicts = []verdict{{0, "deny"}, {1, "allow"}}
	tcxAliases     = []verdict{{TCActUnspec, "TCX_NEXT"}, {TCActOk, "TCX_PASS"}, {TCActShot, "TCX_DROP"}, {TCActRedirect, "TCX_REDIRECT"}}
	allVerdicts    = [][]verdict{xdpVerdicts, tcVerdicts, skVerdicts, lwtVerdicts, flowVerdicts, nfVerdicts, tcxAliases}
)

// verdicts are the named return values of a program type.
func verdicts(t ProgType) []verdict {
	switch t {
	case ProgTypeXDP:
		return xdpVerdicts
	case ProgTypeSchedCls, ProgTypeSchedAct:
		return tcVerdicts
	case ProgTypeSkSkb, ProgTypeSkMsg, ProgTypeSkLookup, ProgTypeSkReuseport:
		return skVerdicts
	case ProgTypeLwtIn, ProgTypeLwtOut, ProgTypeLwtXmit, ProgTypeLwtSeg6local:
		return lwtVerdicts
	case ProgTypeFlowDissector:
		return flowVerdicts
	case ProgTypeNetfilter:
		return nfVerdicts
	case ProgTypeCgroupSkb, ProgTypeCgroupSock, ProgTypeCgroupSockAddr, ProgTypeCgroupDevice, ProgTypeCgroupSysctl, ProgTypeCgroupSockopt:
		return accessVerdicts
	}
	return nil
}

// VerdictName names a return value of a program of type t: the kernel's enumerator ("XDP_PASS", "TC_ACT_SHOT"), "allow" or
// "deny" for cgroup programs, "-EPERM" for LSM programs that return a known error. It is empty where the value is only a number,
// which includes the lengths that socket filters and stream parsers return.
func VerdictName(t ProgType, ret int32) string {
	for _, v := range verdicts(t) {
		if v.value == ret {
			return v.name
		}
	}
	if t == ProgTypeLSM && ret < 0 && -int64(ret) < int64(len(errnoNames)) && errnoNames[-ret] != "" {
		return "-" + errnoNames[-ret]
	}
	return ""
}

// ParseVerdict finds the value of a verdict by the kernel's enumerator; names are unique over all program types.
func ParseVerdict(name string) (int32, bool) {
	for _, list := range allVerdicts {
		for _, v := range list {
			if v.name == name {
				return v.value, true
			}
		}
	}
	return 0, false
}
