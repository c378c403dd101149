package progtype

import (
	"strings"

	"github.com/bpfrun/bpfrun/uapi"
)

// Verdict is a named return value.
type Verdict struct {
	Value int32
	Name  string
}

// Vocabulary is a set of names for return values.
type Vocabulary uint8

// Vocabularies.
const (
	NoVocabulary Vocabulary = iota // return values are plain numbers, such as the lengths that socket filters return
	XDPActions
	TCActions // traffic control; programs attached through tcx use only -1, 0, 2 and 7
	SkActions // sockets: sk_skb, sk_msg, sk_lookup, sk_reuseport
	LwtCodes
	DissectorCodes
	NetfilterVerdicts
	AllowDeny  // cgroups
	ErrorNames // LSM: negative error numbers
)

var verdicts = [...][]Verdict{
	XDPActions: {
		{uapi.XDPAborted, "XDP_ABORTED"}, {uapi.XDPDrop, "XDP_DROP"}, {uapi.XDPPass, "XDP_PASS"}, {uapi.XDPTx, "XDP_TX"}, {uapi.XDPRedirect, "XDP_REDIRECT"},
	},
	TCActions: {
		{uapi.TCActUnspec, "TC_ACT_UNSPEC"}, {uapi.TCActOk, "TC_ACT_OK"}, {uapi.TCActReclassify, "TC_ACT_RECLASSIFY"}, {uapi.TCActShot, "TC_ACT_SHOT"},
		{uapi.TCActPipe, "TC_ACT_PIPE"}, {uapi.TCActStolen, "TC_ACT_STOLEN"}, {uapi.TCActQueued, "TC_ACT_QUEUED"}, {uapi.TCActRepeat, "TC_ACT_REPEAT"},
		{uapi.TCActRedirect, "TC_ACT_REDIRECT"}, {uapi.TCActTrap, "TC_ACT_TRAP"},
	},
	SkActions:         {{uapi.SkDrop, "SK_DROP"}, {uapi.SkPass, "SK_PASS"}},
	LwtCodes:          {{uapi.RetOk, "BPF_OK"}, {uapi.RetDrop, "BPF_DROP"}, {uapi.RetRedirect, "BPF_REDIRECT"}, {uapi.RetLwtReroute, "BPF_LWT_REROUTE"}},
	DissectorCodes:    {{uapi.RetOk, "BPF_OK"}, {uapi.RetDrop, "BPF_DROP"}, {uapi.RetFlowDissectorContinue, "BPF_FLOW_DISSECTOR_CONTINUE"}},
	NetfilterVerdicts: {{uapi.NfDrop, "NF_DROP"}, {uapi.NfAccept, "NF_ACCEPT"}},
	AllowDeny:         {{0, "deny"}, {1, "allow"}},
	ErrorNames:        {},
}

// VerdictName returns the name of a program's return value: the kernel's enumerator ("XDP_PASS", "TC_ACT_SHOT"), "allow"
// or "deny" for cgroup programs, "-EPERM" for LSM programs that return a known error. It returns "" if the value is a
// plain number, such as the lengths that socket filters and stream parsers return.
func VerdictName(t uapi.ProgType, ret int32) string {
	words := Of(t).Vocabulary
	for _, v := range verdicts[words] {
		if v.Value == ret {
			return v.Name
		}
	}
	if words == ErrorNames && ret < 0 && ret >= -maxErrno {
		if name := uapi.Errno(-ret).Name(); name != "" {
			return "-" + name
		}
	}
	return ""
}

// ParseVerdict returns the return value that a name stands for in the vocabulary of a program type ("XDP_PASS", "allow",
// "-EPERM"). It is the inverse of [VerdictName].
func ParseVerdict(t uapi.ProgType, name string) (int32, bool) {
	words := Of(t).Vocabulary
	for _, v := range verdicts[words] {
		if v.Name == name {
			return v.Value, true
		}
	}
	if errno, ok := strings.CutPrefix(name, "-"); ok && words == ErrorNames {
		e, ok := uapi.ParseErrno(errno)
		return -int32(e), ok
	}
	return 0, false
}
