package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// lsmRange returns the range of values that the LSM hook may return.
func (u *subject) lsmRange() (retRange, bool) {
	if !u.has(since.LSMReturnRanges) || u.prog.attachProto == nil {
		return retRange{}, false
	}
	if u.prog.attachProto.Ref == 0 {
		return retRange{}, false
	}
	switch strings.TrimPrefix(u.p.AttachTo, "bpf_lsm_") {
	case "xfrm_state_pol_flow_match", "audit_rule_known", "inode_xattr_skipcap":
		return retRange{0, 1}, true
	}
	return retRange{-maxErrno, 0}, true
}

// hookReturn returns the hook's return type according to BTF.
func (u *subject) hookReturn() progtype.HookReturn {
	t := u.prog.attachProto
	if t == nil {
		return progtype.UnknownReturn
	}
	if t.Ref == 0 {
		return progtype.ReturnsVoid
	}
	if u.prog.attachSpec.SkipMods(t.Ref).Kind == btf.KindPtr {
		return progtype.ReturnsPointer
	}
	return progtype.ReturnsNumber
}
