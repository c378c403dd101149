package bpfsys

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// attachGroup is the ordered list of programs at one hook (struct bpf_mprog_bundle, or a cgroup's
// list).
type attachGroup struct {
	place    place
	list     []groupEntry
	revision uint64
	flags    uint32 // flags of a cgroup's list
	xdp      XDPMode
}

type groupEntry struct {
	prog *Prog
	link *Link // nil: attached without a link
	at   *attachment
}

func (g *attachGroup) remove(l *Link) {
	n := len(g.list)
	g.list = slices.DeleteFunc(g.list, func(e groupEntry) bool { return e.link == l })
	if len(g.list) != n {
		g.revision++
	}
}

// replace puts the new program of an updated link in the place of the old one.
func (g *attachGroup) replace(l *Link) {
	for i := range g.list {
		if g.list[i].link == l {
			g.list[i].prog = l.prog
			g.revision++
		}
	}
}

// group returns the list of programs at a hook, a new one if need be.
func (s *System) group(p place) *attachGroup {
	if g := s.groups[p]; g != nil {
		return g
	}
	if s.groups == nil {
		s.groups = map[place]*attachGroup{}
	}
	if len(s.groups) > maxObjects {
		for q, g := range s.groups {
			if len(g.list) == 0 {
				delete(s.groups, q)
			}
		}
	}
	g := &attachGroup{place: p, revision: 1}
	s.groups[p] = g
	return g
}

// Flags of attachments (BPF_F_*).
const (
	attachOverride, attachMulti, attachReplace, attachBefore, attachAfter, attachID, attachLink = 1, 2, 4, 8, 16, 32, 1 << 13
)

// groupLink inserts a link into the ordered list of its hook.
func (s *System) groupLink(c Caller, a bpfattr.LinkCreate, l *Link, pl place, flags uint32) (uapi.Errno, *attachment) {
	g := s.group(pl)
	i, e := len(g.list), uapi.Errno(0)
	switch l.typ {
	case uapi.LinkTcx:
		i, e = s.mprogAttach(c, g, l.prog, nil, mprogRequest{flags: flags, relative: a.Tcx().RelativeId(), revision: a.Tcx().ExpectedRevision()})
	case uapi.LinkNetkit:
		i, e = s.mprogAttach(c, g, l.prog, nil, mprogRequest{flags: flags, relative: a.Netkit().RelativeId(), revision: a.Netkit().ExpectedRevision()})
	case uapi.LinkCgroup:
		r := mprogRequest{flags: flags | attachMulti}
		if s.has(since.CgroupMprog) {
			r.relative, r.revision = a.Cgroup().RelativeId(), a.Cgroup().ExpectedRevision()
		}
		i, e = s.cgroupAttach(c, g, l.prog, nil, true, r)
	}
	if e != 0 {
		return e, nil
	}
	h := &attachment{prog: l.prog, place: pl, preorder: l.typ == uapi.LinkCgroup && flags&attachPreorder != 0, cookie: l.cookie, hook: machine.Hook{AttachTo: l.prog.lp.AttachTo, Section: l.prog.lp.Section}}
	g.list = slices.Insert(g.list, i, groupEntry{l.prog, l, h})
	g.revision++
	l.group = g
	return 0, h
}

// linkCgroup attaches to a cgroup, a directory of the host (cgroup_bpf_link_attach).
func (s *System) linkCgroup(c Caller, a bpfattr.LinkCreate, p *Prog, at uapi.AttachType) Result {
	flags := a.Flags()
	if flags&^s.cgroupLinkFlags() != 0 {
		return fail(uapi.EINVAL)
	}
	id, e := cgroupOf(c, a.TargetFd())
	if e != 0 {
		return fail(e)
	}
	pl := place{kind: onCgroup, id: id, at: at}
	l := &Link{typ: uapi.LinkCgroup, prog: p, attach: at, place: pl}
	e, h := s.groupLink(c, a, l, pl, flags)
	if e != 0 {
		return fail(e)
	}
	s.addStorage(p, pl)
	return s.newLink(l, h)
}

// cgroupOf returns the cgroup that a directory is, by its inode.
func cgroupOf(c Caller, fd int32) (uint64, uapi.Errno) {
	f := c.File(fd)
	switch f.Kind {
	case NoFile, OtherFile, ObjectFile, NetnsFile, PidFile, SocketFile, BPFFSFile:
		return 0, uapi.EBADF
	}
	return f.Inode, 0
}

// onDevices reports whether an attach type is for hooks of devices with several programs.
func onDevices(at uapi.AttachType) bool {
	return slices.Contains([]uapi.AttachType{uapi.AttachTcxIngress, uapi.AttachTcxEgress, uapi.AttachNetkitPrimary, uapi.AttachNetkitPeer}, at)
}

// attachPlace returns the hook that the attributes of BPF_PROG_ATTACH and BPF_PROG_DETACH name. They
// name no network namespace: the caller's is meant.
func (s *System) attachPlace(c Caller, fd int32, at uapi.AttachType) (place, uapi.Errno) {
	if at == uapi.AttachFlowDissector || at == uapi.AttachSkLookup {
		return place{kind: onNetns, id: uint64(c.Netns()), at: at}, 0
	}
	return s.placeOf(c, fd, at)
}

// placeOf returns the hook that a descriptor or an index of a device and an attach type name.
func (s *System) placeOf(c Caller, fd int32, at uapi.AttachType) (place, uapi.Errno) {
	if onDevices(at) {
		if !s.target.HasAttachType(at) {
			return place{}, uapi.EINVAL
		}
		return s.attachable(c, uint32(fd), at)
	}
	switch at {
	case uapi.AttachSkSkbStreamParser, uapi.AttachSkSkbStreamVerdict, uapi.AttachSkSkbVerdict, uapi.AttachSkMsgVerdict:
		m, _, e := fileOf[*Map](c, fd)
		if e != 0 {
			return place{}, e
		}
		if m.def.Type != uapi.MapTypeSockmap && m.def.Type != uapi.MapTypeSockhash {
			return place{}, uapi.EOPNOTSUPP
		}
		return place{kind: onMap, id: uint64(m.id), at: at}, 0
	case uapi.AttachFlowDissector, uapi.AttachSkLookup:
		f := c.File(fd)
		switch f.Kind {
		case NetnsFile:
			return place{kind: onNetns, id: f.Inode, at: at}, 0
		case NoFile:
			return place{}, uapi.EBADF
		}
		return place{}, uapi.EINVAL
	case uapi.AttachLircMode2:
		if c.File(fd).Kind != NoFile {
			s.note("attach type lirc_mode2 needs an infrared receiver (/dev/lircN); there is none")
		}
		return place{}, uapi.EBADF
	}
	if !isCgroupAttach(at) {
		return place{}, uapi.EINVAL
	}
	id, e := cgroupOf(c, fd)
	return place{kind: onCgroup, id: id, at: at}, e
}

func isCgroupAttach(at uapi.AttachType) bool {
	for _, r := range progtype.All() {
		if cgroupAttach(r.Type, at) && (r.Attached(at) != nil || r.Attach == at) {
			return true
		}
	}
	return at <= uapi.AttachCgroupSockOps || at == uapi.AttachCgroupDevice || at == uapi.AttachCgroupSysctl || at == uapi.AttachLSMCgroup
}

// attaches reports whether BPF_PROG_ATTACH accepts the program with an attach type
// (bpf_prog_attach_check_attach_type).
func (p *Prog) attaches(at uapi.AttachType) bool {
	switch at {
	case uapi.AttachTcxIngress, uapi.AttachTcxEgress, uapi.AttachNetkitPrimary, uapi.AttachNetkitPeer:
		return p.typ == uapi.ProgTypeSchedCls
	case uapi.AttachSkSkbStreamParser, uapi.AttachSkSkbStreamVerdict, uapi.AttachSkSkbVerdict:
		return p.typ == uapi.ProgTypeSkSkb
	case uapi.AttachSkMsgVerdict:
		return p.typ == uapi.ProgTypeSkMsg
	case uapi.AttachFlowDissector:
		return p.typ == uapi.ProgTypeFlowDissector
	case uapi.AttachCgroupInetIngress, uapi.AttachCgroupInetEgress:
		return p.typ == uapi.ProgTypeCgroupSkb && (p.expected == at || !p.bound)
	}
	row := progtype.Of(p.typ)
	if row.Attached(at) == nil && row.Attach != at {
		return false
	}
	switch p.typ {
	case uapi.ProgTypeCgroupSock, uapi.ProgTypeCgroupSockAddr, uapi.ProgTypeCgroupSockopt, uapi.ProgTypeSkLookup:
		return p.expected == at
	}
	return true
}

// progAttach attaches a program without a link (bpf_prog_attach): it stays when its descriptors are
// closed, until it is detached.
func (s *System) progAttach(c Caller, a bpfattr.Attach) Result {
	at, flags := a.AttachType(), a.AttachFlags()
	if !s.target.HasAttachType(at) {
		return fail(uapi.EINVAL)
	}
	pl, e := s.attachPlace(c, a.TargetFd(), at)
	allowed, placed := s.cgroupFlags(), pl.kind == onCgroup && s.has(since.CgroupMprog)
	mprog := pl.kind == onDevice
	switch {
	case mprog:
		allowed, placed = mprogFlags, true
	case pl.kind != onCgroup:
		allowed &^= mprogFlags &^ attachReplace
	}
	if flags&^allowed != 0 || !placed && (a.RelativeId() != 0 || a.ExpectedRevision() != 0) {
		return fail(uapi.EINVAL)
	}
	r := mprogRequest{flags: flags, relative: a.RelativeId(), revision: a.ExpectedRevision()}
	p, _, pe := fileOf[*Prog](c, a.AttachBpfFd())
	if pe != 0 {
		return fail(pe)
	}
	if !p.attaches(at) || slices.Contains(mapAttaches, at) && (flags != 0 || a.ReplaceBpfFd() != 0) {
		return fail(uapi.EINVAL)
	}
	if e != 0 {
		return fail(e)
	}
	if pl.kind == onNetns {
		return s.netnsAttach(a, p, pl)
	}
	g := s.group(pl)
	i := 0
	switch {
	case pl.kind == onMap:
		if g, e = s.clearMap(pl); e != 0 {
			return fail(e)
		}
	case mprog:
		var old *Prog
		if flags&attachReplace != 0 {
			if old, e = replaced(c, a, p); e != 0 {
				return fail(e)
			}
		}
		if i, e = s.mprogAttach(c, g, p, old, r); e != 0 {
			return fail(e)
		}
	case pl.kind == onCgroup:
		var old *Prog
		if flags&attachMulti != 0 && flags&attachReplace != 0 {
			if old, e = replaced(c, a, p); e != 0 {
				return fail(e)
			}
		}
		if i, e = s.cgroupAttach(c, g, p, old, false, r); e != 0 {
			return fail(e)
		}
	}
	h := s.attach(&attachment{prog: p, place: pl, preorder: pl.kind == onCgroup && flags&attachPreorder != 0, hook: machine.Hook{AttachTo: p.lp.AttachTo, Section: p.lp.Section}})
	s.hold(p)
	s.addStorage(p, pl)
	g.list = slices.Insert(g.list, i, groupEntry{p, nil, h})
	g.revision++
	return Result{}
}

// replaced returns the program that p is to replace, which has the same type.
func replaced(c Caller, a bpfattr.Attach, p *Prog) (*Prog, uapi.Errno) {
	old, _, e := fileOf[*Prog](c, a.ReplaceBpfFd())
	if e == 0 && old.typ != p.typ {
		e = uapi.EINVAL
	}
	return old, e
}

// leave detaches a program that was attached without a link.
func (s *System) leave(g *attachGroup, i int) {
	x := g.list[i]
	g.list = slices.Delete(g.list, i, i+1)
	g.revision++
	s.detach(x.at)
	s.put(x.prog)
}

// progDetach detaches a program that was attached without a link (bpf_prog_detach).
func (s *System) progDetach(c Caller, a bpfattr.Attach) Result {
	at := a.AttachType()
	if !s.target.HasAttachType(at) {
		return fail(uapi.EINVAL)
	}
	pl, e := s.attachPlace(c, a.TargetFd(), at)
	if onDevices(at) {
		return s.mprogDetach(c, a, pl, e)
	}
	if e != 0 {
		return fail(e)
	}
	switch pl.kind {
	case onMap:
		return s.detachFromMap(c, a, pl)
	case onNetns:
		return s.netnsDetach(c, a, pl)
	}
	g := s.group(pl)
	fd := a.AttachBpfFd()
	var p *Prog
	if fd != 0 {
		if p, _, e = fileOf[*Prog](c, fd); e != 0 {
			if pl.kind != onCgroup {
				return fail(e)
			}
			p = nil
		}
	}
	if rev := a.ExpectedRevision(); rev != 0 && rev != g.revision {
		return fail(uapi.ESTALE)
	}
	i := slices.IndexFunc(g.list, func(x groupEntry) bool { return x.prog == p && x.link == nil })
	switch {
	case p == nil && pl.kind == onCgroup && g.flags&attachMulti != 0:
		return fail(uapi.EINVAL)
	case p == nil && len(g.list) > 0 && g.list[0].link == nil:
		i = 0
	}
	if i < 0 || i >= len(g.list) {
		return fail(uapi.ENOENT)
	}
	s.leave(g, i) // which no link owns
	return Result{}
}

// progQuery lists the programs at a hook (bpf_prog_query): how many there are in any case, and as
// many ids as the caller has room for.
func (s *System) progQuery(c Caller, a bpfattr.Query) Result {
	at := a.AttachType()
	if a.QueryFlags()&^1 != 0 {
		return fail(uapi.EINVAL)
	}
	pl, e := s.placeOf(c, a.TargetFd(), at)
	if e != 0 {
		return fail(e)
	}
	if s.queryRefused(a, pl) {
		return fail(uapi.EINVAL)
	}
	g, busy := s.groups[pl], uapi.Errno(0)
	if pl.kind == onMap {
		_, busy = s.mapGroup(pl) // EBUSY if the map has a verdict program of the other attach type
	}
	if g == nil {
		g = &attachGroup{revision: 1}
	}
	mprog := pl.kind == onDevice
	n := uint32(len(g.list))
	flags, revision := g.flags, g.revision
	if a.QueryFlags() != 0 {
		flags, revision = 0, 0
	}
	if len(g.list) == 0 {
		flags = 0
	}
	if !a.PutAttachFlags(flags) || mprog && !a.PutRevision(revision) || !a.PutProgCnt(n) {
		return fail(uapi.EFAULT)
	}
	if pl.kind == onCgroup && s.has(since.CgroupMprog) && a.HasRevision() {
		_ = a.PutRevision(revision)
	}
	room, ids := a.ProgCnt(), a.ProgIds()
	if room == 0 || ids == 0 || n == 0 {
		return fail(busy)
	}
	list := g.list
	if a.QueryFlags() != 0 {
		list = g.effective()
	}
	for i, x := range list {
		if uint32(i) >= room {
			return fail(uapi.ENOSPC)
		}
		link := uint32(0)
		if x.link != nil {
			link = x.link.id
		}
		if !c.Write(ids+4*uint64(i), le.AppendUint32(nil, x.prog.id)) {
			return fail(uapi.EFAULT)
		}
		if to := a.LinkIds(); mprog && to != 0 && !c.Write(to+4*uint64(i), le.AppendUint32(nil, link)) {
			return fail(uapi.EFAULT)
		}
		if to := a.LinkAttachFlags(); mprog && to != 0 && !c.Write(to+4*uint64(i), make([]byte, 4)) {
			return fail(uapi.EFAULT)
		}
		if to := a.ProgAttachFlags(); (mprog || pl.kind == onCgroup) && to != 0 && !c.Write(to+4*uint64(i), le.AppendUint32(nil, g.flags)) {
			return fail(uapi.EFAULT)
		}
	}
	return Result{}
}

// queryRefused reports whether the attributes of a query say what its kind of hook does not answer
// (bpf_mprog_query, __cgroup_bpf_query, netns_bpf_prog_query, sock_map_bpf_prog_query).
func (s *System) queryRefused(a bpfattr.Query, pl place) bool {
	effective := a.QueryFlags() != 0
	switch pl.kind {
	case onDevice:
		return effective || a.AttachFlags() != 0
	case onCgroup:
		if effective {
			return a.ProgAttachFlags() != 0 && s.has(since.QueryEffectiveFlags)
		}
		// Each hook of an LSM has flags of its own.
		return pl.at == uapi.AttachLSMCgroup && a.ProgCnt() != 0 && a.ProgIds() != 0 && a.ProgAttachFlags() == 0
	}
	return effective
}
