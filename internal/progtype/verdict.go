package progtype

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Verdict is a named return value.
type Verdict struct {
	Value int32
	Name  string
	// Ends means that the packet goes no further: it is dropped or kept.
	Ends bool
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

// What becomes of the packet, as in Verdict.Ends.
const goesOn, ends = false, true

var verdicts = [...][]Verdict{
	XDPActions: {
		{uapi.XDPAborted, "XDP_ABORTED", ends}, {uapi.XDPDrop, "XDP_DROP", ends},
		{uapi.XDPPass, "XDP_PASS", goesOn}, {uapi.XDPTx, "XDP_TX", goesOn}, {uapi.XDPRedirect, "XDP_REDIRECT", goesOn},
	},
	TCActions: {
		{uapi.TCActUnspec, "TC_ACT_UNSPEC", goesOn}, {uapi.TCActOk, "TC_ACT_OK", goesOn}, {uapi.TCActReclassify, "TC_ACT_RECLASSIFY", goesOn}, {uapi.TCActShot, "TC_ACT_SHOT", ends},
		{uapi.TCActPipe, "TC_ACT_PIPE", goesOn}, {uapi.TCActStolen, "TC_ACT_STOLEN", ends}, {uapi.TCActQueued, "TC_ACT_QUEUED", ends}, {uapi.TCActRepeat, "TC_ACT_REPEAT", goesOn},
		{uapi.TCActRedirect, "TC_ACT_REDIRECT", goesOn}, {uapi.TCActTrap, "TC_ACT_TRAP", ends},
	},
	SkActions:         {{uapi.SkDrop, "SK_DROP", ends}, {uapi.SkPass, "SK_PASS", goesOn}},
	LwtCodes:          {{uapi.RetOk, "BPF_OK", goesOn}, {uapi.RetDrop, "BPF_DROP", ends}, {uapi.RetRedirect, "BPF_REDIRECT", goesOn}, {uapi.RetLwtReroute, "BPF_LWT_REROUTE", goesOn}},
	DissectorCodes:    {{uapi.RetOk, "BPF_OK", goesOn}, {uapi.RetDrop, "BPF_DROP", ends}, {uapi.RetFlowDissectorContinue, "BPF_FLOW_DISSECTOR_CONTINUE", goesOn}},
	NetfilterVerdicts: {{uapi.NfDrop, "NF_DROP", ends}, {uapi.NfAccept, "NF_ACCEPT", goesOn}},
	AllowDeny:         {{0, "deny", ends}, {1, "allow", goesOn}},
	ErrorNames:        {},
}

// VerdictName returns the name of a program's return value: the kernel's enumerator ("XDP_PASS",
// "TC_ACT_SHOT"), "allow" or "deny" for cgroup programs, "-EPERM" for LSM programs that return a
// known error. It returns "" if the value is a plain number, such as the lengths that socket
// filters and stream parsers return.
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

// GoesOn reports whether a packet goes on after a program returned a value: to the stack, back, or
// to another device. XDP treats an unknown value as XDP_ABORTED (bpf_warn_invalid_xdp_action),
// traffic control passes it on (tcf_classify); a length of 0 keeps nothing of the packet.
func GoesOn(t uapi.ProgType, ret int32) bool {
	words := Of(t).Vocabulary
	for _, v := range verdicts[words] {
		if v.Value == ret {
			return !v.Ends
		}
	}
	switch words {
	case XDPActions:
		return false
	case NoVocabulary:
		return ret != 0
	}
	return true
}

// ParseVerdict returns the return value that a name stands for in the vocabulary of a program type
// ("XDP_PASS", "allow", "-EPERM"). It is the inverse of [VerdictName].
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
