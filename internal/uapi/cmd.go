package uapi

import "golang.org/x/exp/constraints"

// Cmd is a command of bpf(2) (enum bpf_cmd).
type Cmd uint32

// String returns the kernel's name of the command ("BPF_MAP_CREATE"), or "Cmd(N)" for a number that
// no known kernel defines.
func (c Cmd) String() string {
	if uint32(c) < uint32(len(cmdNames)) {
		return cmdNames[c]
	}
	return unknown("Cmd", int64(c))
}

// LinkType is a link type (enum bpf_link_type).
type LinkType uint32

// String returns libbpf's name of the type ("raw_tracepoint", "kprobe_multi"), or "LinkType(N)" for
// a number that no known kernel defines.
func (t LinkType) String() string {
	if uint32(t) < uint32(len(linkTypeNames)) {
		return linkTypeNames[t]
	}
	return unknown("LinkType", int64(t))
}

// Cmds returns all commands.
func Cmds() []Cmd { return upTo[Cmd](len(cmdNames)) }

// LinkTypes returns all link types.
func LinkTypes() []LinkType { return upTo[LinkType](len(linkTypeNames)) }

// upTo returns the numbers below n.
func upTo[T constraints.Unsigned](n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(i)
	}
	return out
}
