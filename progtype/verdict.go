package progtype

import "github.com/bpfrun/bpfrun/uapi"

// Verdict is a return value with a name.
type Verdict struct {
	Value int32
	Name  string
}

var (
	xdpVerdicts = []Verdict{
		{uapi.XDPAborted, "XDP_ABORTED"}, {uapi.XDPDrop, "XDP_DROP"}, {uapi.XDPPass, "XDP_PASS"}, {uapi.XDPTx, "XDP_TX"}, {uapi.XDPRedirect, "XDP_REDIRECT"},
	}
	tcVerdicts = []Verdict{
		{uapi.TCActUnspec, "TC_ACT_UNSPEC"}, {uapi.TCActOk, "TC_ACT_OK"}, {uapi.TCActReclassify, "TC_ACT_RECLASSIFY"}, {uapi.TCActShot, "TC_ACT_SHOT"},
		{uapi.TCActPipe, "TC_ACT_PIPE"}, {uapi.TCActStolen, "TC_ACT_STOLEN"}, {uapi.TCActQueued, "TC_ACT_QUEUED"}, {uapi.TCActRepeat, "TC_ACT_REPEAT"},
		{uapi.TCActRedirect, "TC_ACT_REDIRECT"}, {uapi.TCActTrap, "TC_ACT_TRAP"},
	}
	skVerdicts     = []Verdict{{uapi.SkDrop, "SK_DROP"}, {uapi.SkPass, "SK_PASS"}}
	lwtVerdicts    = []Verdict{{uapi.RetOk, "BPF_OK"}, {uapi.RetDrop, "BPF_DROP"}, {uapi.RetRedirect, "BPF_REDIRECT"}, {uapi.RetLwtReroute, "BPF_LWT_REROUTE"}}
	flowVerdicts   = []Verdict{{uapi.RetOk, "BPF_OK"}, {uapi.RetDrop, "BPF_DROP"}, {uapi.RetFlowDissectorContinue, "BPF_FLOW_DISSECTOR_CONTINUE"}}
	nfVerdicts     = []Verdict{{uapi.NfDrop, "NF_DROP"}, {uapi.NfAccept, "NF_ACCEPT"}}
	accessVerdicts = []Verdict{{0, "deny"}, {1, "allow"}}
	// tcxAliases are the names of the verdicts that programs attached by tcx use.
	tcxAliases = []Verdict{
		{uapi.TCActUnspec, "TCX_NEXT"}, {uapi.TCActOk, "TCX_PASS"}, {uapi.TCActShot, "TCX_DROP"}, {uapi.TCActRedirect, "TCX_REDIRECT"},
	}
	enumerators = [][]Verdict{xdpVerdicts, tcVerdicts, skVerdicts, lwtVerdicts, flowVerdicts, nfVerdicts, tcxAliases}
)

// VerdictName names a return value of a program: the kernel's enumerator ("XDP_PASS", "TC_ACT_SHOT"), "allow" or "deny" for
// cgroup programs, "-EPERM" for LSM programs that return a known error. It is empty where the value is only a number, such as the
// lengths that socket filters and stream parsers return.
func VerdictName(t uapi.ProgType, ret int32) string {
	r := Of(t)
	for _, v := range r.Verdicts {
		if v.Value == ret {
			return v.Name
		}
	}
	if r.Target == LSMHook && ret < 0 && ret >= -maxErrno {
		if name := uapi.Errno(-ret).Name(); name != "" {
			return "-" + name
		}
	}
	return ""
}

// ParseVerdict finds the value of a verdict by the kernel's enumerator; the enumerators are unique over all program types.
func ParseVerdict(name string) (int32, bool) {
	for _, list := range enumerators {
		for _, v := range list {
			if v.Name == name {
				return v.Value, true
			}
		}
	}
	return 0, false
}
