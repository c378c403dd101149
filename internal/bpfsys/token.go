package bpfsys

import (
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
)

// Token is a BPF token: what a bpffs delegated to the user namespace that owns it
// (kernel/bpf/token.c).
type Token struct {
	object
	userNS uint64
	grants Delegation
}

// statsFile is the descriptor of BPF_ENABLE_STATS.
type statsFile struct{ object }

// Capabilities that tokens grant within their user namespace.
const (
	capNetAdmin, capSysAdmin, capPerfmon, capBPF = 12, 21, 38, 39
)

// has reports whether a caller in a user namespace has a capability there (bpf_ns_capable).
func has(caps uint64, capability int) bool {
	return caps>>capability&1 != 0 || caps>>capSysAdmin&1 != 0
}

func (s *System) tokenCreate(c Caller, a bpfattr.TokenCreate) Result {
	if a.Flags() != 0 {
		return fail(uapi.EINVAL)
	}
	f := c.File(a.BpffsFd())
	switch {
	case f.Kind == NoFile:
		return fail(uapi.EBADF)
	case f.Kind != BPFFSFile, !isRoot(f.Path):
		return fail(uapi.EINVAL)
	}
	sb := s.fs.supers[f.Path]
	if sb == nil {
		return fail(uapi.EINVAL)
	}
	ns, caps := c.UserNS()
	switch {
	case ns != sb.userNS, ns != 0 && !has(caps, capBPF):
		return fail(uapi.EPERM)
	case ns == 0:
		return fail(uapi.EOPNOTSUPP)
	case sb.grants == Delegation{}:
		return fail(uapi.ENOENT)
	case s.full(KindToken):
		return fail(uapi.ENOMEM)
	}
	t := &Token{userNS: sb.userNS, grants: sb.grants}
	s.add(t, KindToken, "token", nil)
	return s.newFile(t, ReadWrite)
}

// tokenOf returns the token that a command was given, or nil if the command has no token flag or
// the token does not allow what it does. The error is EPERM if the caller may then not use the
// command.
func (s *System) tokenOf(c Caller, flagged bool, fd int32, cmd uapi.Cmd, allows func(Delegation) bool, needs ...int) (*Token, uapi.Errno) {
	var t *Token
	if flagged {
		var e uapi.Errno
		if t, _, e = fileOf[*Token](c, fd); e != 0 {
			return nil, e
		}
		if t.grants.Cmds>>cmd&1 == 0 || !allows(t.grants) {
			t = nil
		}
	}
	ns, caps := c.UserNS()
	if ns == 0 { // callers have all capabilities there
		return t, 0
	}
	if t == nil && !flagged {
		s.note("a process in its own user namespace uses bpf(2) without a token: a kernel would refuse that")
		return nil, 0
	}
	if t == nil || t.userNS != ns {
		return nil, uapi.EPERM
	}
	for _, n := range needs {
		if !has(caps, n) {
			return nil, uapi.EPERM
		}
	}
	return t, 0
}

// mapNeeds returns the capabilities for creating a map (map_create).
func mapNeeds(t uapi.MapType) []int {
	switch t {
	case uapi.MapTypeSockmap, uapi.MapTypeSockhash, uapi.MapTypeDevmap, uapi.MapTypeDevmapHash, uapi.MapTypeXskmap:
		return []int{capBPF, capNetAdmin}
	}
	return []int{capBPF}
}

// progNeeds returns the capabilities for loading a program (bpf_prog_load).
func progNeeds(t uapi.ProgType) []int {
	out := []int{capBPF}
	needs := progtype.Of(t).Needs
	if needs&progtype.NetAdmin != 0 {
		out = append(out, capNetAdmin)
	}
	if needs&progtype.Perfmon != 0 {
		out = append(out, capPerfmon)
	}
	return out
}

func bit(mask uint64, n uint32) bool { return n < 64 && mask>>n&1 != 0 }
