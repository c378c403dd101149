package uapi

// XDP verdicts (enum xdp_action).
const (
	XDPAborted  = 0
	XDPDrop     = 1
	XDPPass     = 2
	XDPTx       = 3
	XDPRedirect = 4
)

// Traffic control verdicts (linux/pkt_cls.h). tcx programs use the subset -1 (TCX_NEXT), 0, 2 and 7
// with the same numbers.
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

// Netfilter verdicts that a BPF program may return (linux/netfilter.h).
const (
	NfDrop   = 0
	NfAccept = 1
)
