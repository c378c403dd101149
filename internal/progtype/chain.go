package progtype

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Chain is how the programs attached to one hook decide together.
type Chain uint8

// Kinds of chains.
const (
	Alone        Chain = iota // the hook has one program, or each program a place of its own
	AllRun                    // all run; none decides anything for the others
	UntilVerdict              // until a program returns something other than "next": tc filters, tcx, netkit
	UntilError                // until a program returns something other than 0: LSM hooks, fmod_ret
	UntilDrop                 // until a program drops the packet: netfilter
	AllAllow                  // all run, and all must allow: cgroups
)

// ChainAt returns how programs with the attach type decide together.
func (r *Row) ChainAt(a uapi.AttachType) Chain {
	if at := r.Attached(a); at != nil && at.Modifies {
		return UntilError
	}
	return r.Chain
}

// Decision follows what the programs of one hook decide, in the order of their attachment. Create
// it with [NewDecision].
type Decision struct {
	chain  Chain
	typ    uapi.ProgType
	attach uapi.AttachType
	ended  bool
	ret    int32
	denied bool
}

// NewDecision begins a decision of programs with the type and attach type. ok is false if programs
// with these do not share a hook.
func NewDecision(t uapi.ProgType, a uapi.AttachType) (d *Decision, ok bool) {
	c := Of(t).ChainAt(a)
	return &Decision{chain: c, typ: t, attach: a}, c != Alone
}

// TCNext is the verdict after which the next program of a tc hook decides (TC_ACT_UNSPEC, TCX_NEXT,
// NETKIT_NEXT).
const TCNext = uapi.TCActUnspec

// Add notes what a program returned. retval is the value that cgroup programs set with
// bpf_set_retval, by then. Add reports whether the kernel runs the next program.
func (d *Decision) Add(ret uint32, retval int32) bool {
	v := int32(ret)
	switch d.chain {
	case UntilVerdict:
		if d.attach == 0 { // cls_bpf_exec_opcode: what is not an action does not decide
			switch v {
			case uapi.TCActOk, uapi.TCActShot, uapi.TCActStolen, uapi.TCActRedirect, uapi.TCActTrap:
			default:
				v = TCNext
			}
		}
		d.ret, d.ended = v, v != TCNext
	case UntilError:
		d.ret, d.ended = v, v != 0
	case UntilDrop:
		d.ret, d.ended = v, v != uapi.NfAccept
	case AllAllow: // bpf_prog_run_array_cg: the lowest bit allows
		d.denied = d.denied || ret&1 == 0
		d.ret = retval
	}
	return !d.ended
}

// Retval is the value that the next cgroup program finds (bpf_get_retval): -EPERM after a denial,
// unless a program set an error.
func (d *Decision) Retval() int32 {
	if d.denied && d.ret >= 0 {
		return -int32(uapi.EPERM)
	}
	return d.ret
}

// Verdict is what the kernel does after all programs that it ran, in its words; "" if the programs
// decide nothing.
func (d *Decision) Verdict() string {
	switch d.chain {
	case UntilVerdict:
		return d.tcVerdict()
	case UntilError:
		if d.ret == 0 {
			return "0"
		}
		if name := VerdictName(uapi.ProgTypeLSM, d.ret); name != "" {
			return name
		}
		return fmt.Sprint(d.ret)
	case UntilDrop:
		return VerdictName(d.typ, d.ret)
	case AllAllow:
		if v := d.Retval(); v != 0 {
			return fmt.Sprintf("deny (%s)", VerdictName(uapi.ProgTypeLSM, v))
		}
		return "allow"
	}
	return ""
}

// tcVerdict applies what the hook makes of other values: tcx passes the packet on (tcx_run,
// tcx_action_code), netkit drops it (netkit_xmit), and packets that no filter decided about pass.
func (d *Decision) tcVerdict() string {
	known := map[int32]string{uapi.TCActOk: "PASS", uapi.TCActShot: "DROP", uapi.TCActRedirect: "REDIRECT"}
	switch d.attach {
	case uapi.AttachNetkitPrimary, uapi.AttachNetkitPeer:
		if d.ret == TCNext {
			return "NETKIT_PASS"
		}
		if name := known[d.ret]; name != "" {
			return "NETKIT_" + name
		}
		return "NETKIT_DROP"
	case uapi.AttachTcxIngress, uapi.AttachTcxEgress:
		if name := known[d.ret]; name != "" {
			return "TCX_" + name
		}
		return "TCX_PASS"
	}
	if d.ret == TCNext {
		return VerdictName(d.typ, uapi.TCActOk)
	}
	return VerdictName(d.typ, d.ret)
}
