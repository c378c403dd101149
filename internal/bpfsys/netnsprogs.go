package bpfsys

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
)

// The programs of a network namespace: dissectors of flows, of which one is attached, by a link or
// without, and programs that look up sockets, by links (kernel/bpf/net_namespace.c).

// netnsMost returns how many links a namespace has at most (netns_bpf_max_progs).
func netnsMost(at uapi.AttachType) int {
	if at == uapi.AttachSkLookup {
		return 64 // MAX_SK_LOOKUP_PROGS
	}
	return 1
}

// rivals reports whether a dissector of the initial namespace and one of another would meet: there
// is either one of them or the others (flow_dissector_bpf_prog_attach_check).
func (s *System) rivals(pl place) bool {
	for other, g := range s.groups {
		if other.kind == onNetns && other.at == pl.at && len(g.list) > 0 && (other.id == 0) != (pl.id == 0) {
			return true
		}
	}
	return false
}

// linkNetns attaches to a network namespace (netns_bpf_link_create).
func (s *System) linkNetns(c Caller, a bpfattr.LinkCreate, p *Prog, at uapi.AttachType) Result {
	if a.Flags() != 0 {
		return fail(uapi.EINVAL)
	}
	if progtype.Of(p.typ).Attached(at) == nil && at != uapi.AttachFlowDissector {
		return fail(uapi.EINVAL)
	}
	f := c.File(a.TargetFd())
	switch f.Kind {
	case NoFile:
		return fail(uapi.EBADF)
	case NetnsFile:
	default:
		return fail(uapi.EINVAL)
	}
	pl := place{kind: onNetns, id: f.Inode, at: at}
	g := s.group(pl)
	direct := len(g.list) > 0 && g.list[0].link == nil
	switch {
	case !direct && len(g.list) >= netnsMost(at):
		return fail(uapi.E2BIG)
	case direct, at == uapi.AttachFlowDissector && s.rivals(pl):
		return fail(uapi.EEXIST)
	}
	l, h := &Link{typ: uapi.LinkNetns, prog: p, attach: at, place: pl, netns: f.Inode, group: g}, &attachment{prog: p, place: pl}
	g.list = append(g.list, groupEntry{p, l, h})
	return s.newLink(l, h)
}

// netnsAttach attaches a dissector to the caller's network namespace, in place of the one that was
// attached like this before (netns_bpf_prog_attach).
func (s *System) netnsAttach(a bpfattr.Attach, p *Prog, pl place) Result {
	if a.TargetFd() != 0 || a.AttachFlags() != 0 || a.ReplaceBpfFd() != 0 {
		return fail(uapi.EINVAL)
	}
	g := s.group(pl)
	switch {
	case len(g.list) > 0 && g.list[0].link != nil:
		return fail(uapi.EEXIST)
	case pl.at != uapi.AttachFlowDissector:
		return fail(uapi.EINVAL)
	case s.rivals(pl):
		return fail(uapi.EEXIST)
	case len(g.list) > 0 && g.list[0].prog == p:
		return fail(uapi.EINVAL)
	case len(g.list) > 0:
		s.leave(g, 0)
	}
	s.hold(p)
	h := s.attach(&attachment{prog: p, place: pl, hook: machine.Hook{AttachTo: p.lp.AttachTo, Section: p.lp.Section}})
	g.list = slices.Insert(g.list, 0, groupEntry{p, nil, h})
	return Result{}
}

// netnsDetach detaches the dissector that was attached without a link, which the caller must name
// (netns_bpf_prog_detach).
func (s *System) netnsDetach(c Caller, a bpfattr.Attach, pl place) Result {
	if a.TargetFd() != 0 {
		return fail(uapi.EINVAL)
	}
	p, _, e := fileOf[*Prog](c, a.AttachBpfFd())
	if e != 0 {
		return fail(e)
	}
	g := s.group(pl)
	switch {
	case progtype.Of(p.typ).Attached(pl.at) == nil && !p.attaches(pl.at), len(g.list) > 0 && g.list[0].link != nil:
		return fail(uapi.EINVAL)
	case len(g.list) == 0 || g.list[0].prog != p:
		return fail(uapi.ENOENT)
	}
	s.leave(g, 0)
	return Result{}
}
