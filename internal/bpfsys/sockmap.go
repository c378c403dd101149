package bpfsys

import (
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Programs of socket maps (net/core/sock_map.c). A map has at most one of each attach type, by
// BPF_PROG_ATTACH or by a link.

// mapAttaches are the attach types of socket maps.
var mapAttaches = []uapi.AttachType{uapi.AttachSkMsgVerdict, uapi.AttachSkSkbStreamParser, uapi.AttachSkSkbStreamVerdict, uapi.AttachSkSkbVerdict}

// verdictRivals: a map has a program of only one of these two attach types at a time.
var verdictRivals = map[uapi.AttachType]uapi.AttachType{
	uapi.AttachSkSkbStreamVerdict: uapi.AttachSkSkbVerdict, uapi.AttachSkSkbVerdict: uapi.AttachSkSkbStreamVerdict,
}

// mapGroup returns the program of a socket map at a place: EBUSY if the map has a program of the
// other kind of verdicts (sock_map_prog_link_lookup).
func (s *System) mapGroup(pl place) (*attachGroup, uapi.Errno) {
	if rival, ok := verdictRivals[pl.at]; ok {
		if g := s.groups[place{kind: onMap, id: pl.id, at: rival}]; g != nil && len(g.list) > 0 {
			return nil, uapi.EBUSY
		}
	}
	return s.group(pl), 0
}

// clearMap makes room for another program of a socket map: the one that BPF_PROG_ATTACH attached is
// replaced, that of a link stays, with EBUSY (sock_map_prog_update).
func (s *System) clearMap(pl place) (*attachGroup, uapi.Errno) {
	g, e := s.mapGroup(pl)
	if e != 0 {
		return nil, e
	}
	for len(g.list) > 0 {
		if g.list[0].link != nil {
			return nil, uapi.EBUSY
		}
		s.leave(g, 0)
	}
	return g, 0
}

// linkSockmap creates a link of a program and a socket map (sock_map_link_create).
func (s *System) linkSockmap(c Caller, a bpfattr.LinkCreate, p *Prog, at uapi.AttachType) Result {
	if !s.has(since.SockmapLinks) || a.Flags() != 0 {
		return fail(uapi.EINVAL)
	}
	m, _, e := fileOf[*Map](c, a.TargetFd())
	if e != 0 {
		return fail(e)
	}
	if m.def.Type != uapi.MapTypeSockmap && m.def.Type != uapi.MapTypeSockhash {
		return fail(uapi.EINVAL)
	}
	if s.full(KindLink) {
		return fail(uapi.ENOMEM)
	}
	pl := place{kind: onMap, id: uint64(m.id), at: at}
	g, e := s.clearMap(pl)
	if e != 0 {
		return fail(e)
	}
	l := &Link{typ: uapi.LinkSockmap, prog: p, attach: at, place: pl, iterMap: m, group: g}
	h := &attachment{prog: p, place: pl, hook: machine.Hook{AttachTo: p.lp.AttachTo, Section: p.lp.Section}}
	g.list = append(g.list, groupEntry{p, l, h})
	g.revision++
	s.hold(m)
	return s.newLink(l, h)
}

// detachFromMap serves BPF_PROG_DETACH at a socket map (sock_map_prog_detach). Unlike other hooks
// it has to be told which program.
func (s *System) detachFromMap(c Caller, a bpfattr.Attach, pl place) Result {
	if a.AttachFlags() != 0 || a.ReplaceBpfFd() != 0 {
		return fail(uapi.EINVAL)
	}
	p, _, e := fileOf[*Prog](c, a.AttachBpfFd())
	if e != 0 {
		return fail(e)
	}
	if !p.attaches(pl.at) {
		return fail(uapi.EINVAL)
	}
	g, e := s.mapGroup(pl)
	switch {
	case e != 0:
		return fail(e)
	case len(g.list) > 0 && g.list[0].link != nil:
		return fail(uapi.EBUSY)
	case len(g.list) == 0 || g.list[0].prog != p:
		return fail(uapi.ENOENT)
	}
	s.leave(g, 0)
	return Result{}
}

// freeMapPrograms drops the programs of a map that is freed (sock_map_free).
func (s *System) freeMapPrograms(m *Map) {
	for _, at := range mapAttaches {
		pl := place{kind: onMap, id: uint64(m.id), at: at}
		if g := s.groups[pl]; g != nil {
			for len(g.list) > 0 {
				s.leave(g, 0) // a link would keep the map
			}
			delete(s.groups, pl)
		}
	}
}
