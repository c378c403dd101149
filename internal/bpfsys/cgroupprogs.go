package bpfsys

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// The programs of a cgroup's hook have an order as those of a device have (kernel/bpf/cgroup.c).
// From CgroupMprog on requests name places in it as requests for devices do, but are answered by
// rules of their own.

// attachPreorder is BPF_F_PREORDER: the program runs before those without it.
const attachPreorder = 64

// cgroupMost is how many programs a cgroup's hook has at most (BPF_CGROUP_MAX_PROGS).
const cgroupMost = 64

// cgroupFlags returns the flags with which programs attach to cgroups (bpf_prog_attach).
func (s *System) cgroupFlags() uint32 {
	flags := uint32(attachOverride | attachMulti | attachReplace)
	if s.has(since.CgroupPreorder) {
		flags |= attachPreorder
	}
	if s.has(since.CgroupMprog) {
		flags |= mprogFlags
	}
	return flags
}

// cgroupLinkFlags returns the flags with which links attach to cgroups (cgroup_bpf_link_attach).
func (s *System) cgroupLinkFlags() uint32 {
	if s.has(since.CgroupMprog) {
		return mprogFlags&^attachReplace | attachPreorder
	}
	return 0
}

// cgroupAttach returns the index at which a program enters the list, by itself or by a link
// (__cgroup_bpf_attach). old is the one that it replaces, which has left the list then.
func (s *System) cgroupAttach(c Caller, g *attachGroup, p, old *Prog, link bool, r mprogRequest) (int, uapi.Errno) {
	mode := r.flags & (attachOverride | attachMulti)
	replaces := r.flags&attachReplace != 0
	switch {
	// A list of programs and a program that may be overridden exclude each other.
	case mode == attachOverride|attachMulti, replaces && (mode != attachMulti || r.flags&(attachBefore|attachAfter) != 0):
		return 0, uapi.EINVAL
	case r.revision != 0 && r.revision != g.revision: // the list changed since the caller looked at it
		return 0, uapi.ESTALE
	case len(g.list) > 0 && g.flags != mode: // the first program decides for the cgroup
		return 0, uapi.EPERM
	case len(g.list) >= cgroupMost:
		return 0, uapi.E2BIG
	}
	at := -1
	switch {
	case mode != attachMulti: // alone in its cgroup, a program replaces the one before it
		at = min(len(g.list), 1) - 1
	case !link && p != old && g.direct(p) >= 0:
		return 0, uapi.EINVAL
	case replaces:
		if at = g.direct(old); at < 0 {
			return 0, uapi.ENOENT
		}
	}
	if at >= 0 {
		s.leave(g, at)
		g.revision-- // one change
	} else {
		var e uapi.Errno
		if at, e = s.cgroupPlace(c, g, link, r); e != 0 {
			return 0, e
		}
	}
	g.flags = mode
	return at, 0
}

// direct returns the index of a program that was attached without a link, -1 if there is none.
func (g *attachGroup) direct(p *Prog) int {
	return slices.IndexFunc(g.list, func(x groupEntry) bool { return x.prog == p && x.link == nil })
}

// cgroupPlace returns the index that a request names (get_prog_list). Programs name a place by
// another program, links by another link.
func (s *System) cgroupPlace(c Caller, g *attachGroup, link bool, r mprogRequest) (int, uapi.Errno) {
	before, after := r.flags&attachBefore != 0, r.flags&attachAfter != 0
	byLink := r.flags&attachLink != 0
	if named := byLink || r.flags&attachID != 0 || r.relative != 0; !named {
		switch {
		case before && after && len(g.list) > 0:
			return 0, uapi.EINVAL
		case before:
			return 0, 0
		}
		return len(g.list), 0
	}
	if before == after || byLink != link {
		return 0, uapi.EINVAL
	}
	other, e := s.relative(c, r)
	if e != 0 {
		return 0, e
	}
	at := slices.IndexFunc(g.list, func(x groupEntry) bool { return x.prog == other.prog && x.link == other.link })
	switch {
	case at < 0:
		return 0, uapi.ENOENT
	case g.list[at].at.preorder != (r.flags&attachPreorder != 0):
		return 0, uapi.EINVAL
	case after:
		at++
	}
	return at, 0
}

// effective returns the programs of a list in the order in which they run
// (compute_effective_progs).
func (g *attachGroup) effective() []groupEntry {
	list := slices.Clone(g.list)
	slices.SortStableFunc(list, func(a, b groupEntry) int {
		switch {
		case a.at.preorder == b.at.preorder:
			return 0
		case a.at.preorder:
			return -1
		}
		return 1
	})
	return list
}
