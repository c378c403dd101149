package bpfsys

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
)

// The programs of a device's hook have an order (kernel/bpf/mprog.c). A request names places in it:
// that of a program, the one before and the one after another program. Places count from -1, before
// the first program, to the number of programs, and all that a request names must be one.

// Flags with which programs attach to devices (BPF_F_ATTACH_MASK_MPROG).
const mprogFlags = attachReplace | attachBefore | attachAfter | attachID | attachLink

// mprogMost is how many programs a hook has at most (bpf_mprog_max).
const mprogMost = 63

// nowhere is none of the places.
const nowhere = -2

// mprogRequest is what the attributes of a call say about a place.
type mprogRequest struct {
	flags    uint32
	relative uint32 // a descriptor or an id
	revision uint64
	of       uapi.ProgType // that the other program has; 0 for any
}

// same reports whether an entry is the one that a program or a link means: a program means its
// entry with whatever link.
func (x *groupEntry) same(o groupEntry) bool {
	return x.prog == o.prog && (o.link == nil || x.link == o.link)
}

// relative returns the other program, which may be none (bpf_mprog_tuple_relative).
func (s *System) relative(c Caller, r mprogRequest) (groupEntry, uapi.Errno) {
	var x groupEntry
	switch {
	case r.flags&(attachLink|attachID) == 0 && r.relative == 0:
		return x, 0
	case r.flags&attachID != 0:
		kind := KindProg
		if r.flags&attachLink != 0 {
			kind = KindLink
		}
		o, _ := s.byID[kind].Get(r.relative)
		x.link, _ = o.(*Link)
		if x.prog, _ = o.(*Prog); o == nil {
			return x, uapi.ENOENT
		}
	case r.flags&attachLink != 0:
		if r.relative == 0 {
			return x, uapi.EINVAL
		}
		l, _, e := fileOf[*Link](c, int32(r.relative))
		if e != 0 {
			return x, e
		}
		x.link = l
	default:
		p, _, e := fileOf[*Prog](c, int32(r.relative))
		if e != 0 {
			return x, e
		}
		x.prog = p
	}
	if x.link != nil {
		x.prog = x.link.prog
	}
	if x.prog == nil || r.of != 0 && x.prog.typ != r.of {
		return x, uapi.EINVAL
	}
	return x, 0
}

// placeIn returns the place that a request means, starting with that of an entry, if exact is not
// nil.
func (s *System) placeIn(c Caller, g *attachGroup, r mprogRequest, exact *groupEntry) (int, uapi.Errno) {
	other, e := s.relative(c, r)
	if e != 0 {
		return 0, e
	}
	at := nowhere
	if exact != nil {
		at = slices.IndexFunc(g.list, func(x groupEntry) bool { return x.prog == exact.prog })
		switch {
		case at < 0:
			return 0, uapi.ENOENT
		case g.list[at].link != exact.link:
			return 0, uapi.EBUSY
		}
	}
	for _, way := range []struct {
		flag         uint32
		step, nobody int
	}{{attachBefore, -1, -1}, {attachAfter, 1, len(g.list)}} {
		if r.flags&way.flag == 0 {
			continue
		}
		to := way.nobody
		if other.prog != nil {
			i := slices.IndexFunc(g.list, func(x groupEntry) bool { return x.same(other) })
			if i < 0 {
				return 0, uapi.ENOENT
			}
			to = i + way.step
		}
		if at != nowhere && at != to {
			return 0, uapi.ERANGE
		}
		at = to
	}
	if at == nowhere {
		if other.prog != nil || r.flags != 0 {
			return 0, uapi.EINVAL
		}
		at = len(g.list)
	}
	if at >= mprogMost {
		return 0, uapi.ERANGE
	}
	return at, 0
}

// mprogAttach returns the index at which a program enters the list (bpf_mprog_attach). old is the
// one that it replaces, which has left it then.
func (s *System) mprogAttach(c Caller, g *attachGroup, p, old *Prog, r mprogRequest) (int, uapi.Errno) {
	if r.revision != 0 && r.revision != g.revision { // the list changed since the caller looked at it
		return 0, uapi.ESTALE
	}
	if slices.ContainsFunc(g.list, func(x groupEntry) bool { return x.prog == p }) {
		return 0, uapi.EEXIST
	}
	r.of = p.typ
	var exact *groupEntry
	if r.flags&attachReplace != 0 {
		exact = &groupEntry{prog: old}
	}
	at, e := s.placeIn(c, g, r, exact)
	switch {
	case e != 0:
		return 0, e
	case exact != nil:
		s.leave(g, at)
		g.revision-- // one change
	case len(g.list) == mprogMost:
		return 0, uapi.ERANGE
	case r.flags&attachBefore != 0:
		at++
	}
	return at, 0
}

// mprogDetach detaches a program from a device's hook: the one that is given, or the one at the
// place that is asked for, or the last one (bpf_mprog_detach).
func (s *System) mprogDetach(c Caller, a bpfattr.Attach, pl place, missing uapi.Errno) Result {
	if a.AttachFlags()&^mprogFlags != 0 {
		return fail(uapi.EINVAL)
	}
	r := mprogRequest{flags: a.AttachFlags(), relative: a.RelativeId(), revision: a.ExpectedRevision()}
	var exact *groupEntry
	if fd := a.AttachBpfFd(); fd != 0 {
		p, _, e := fileOf[*Prog](c, fd)
		switch {
		case e != 0:
			return fail(e)
		case p.typ != uapi.ProgTypeSchedCls:
			return fail(uapi.EINVAL)
		}
		exact, r.of = &groupEntry{prog: p}, p.typ
	}
	if missing != 0 {
		return fail(missing)
	}
	g := s.group(pl)
	switch tcx := pl.at == uapi.AttachTcxIngress || pl.at == uapi.AttachTcxEgress; {
	case tcx && len(g.list) == 0: // the device has no list
		return fail(uapi.ENOENT)
	case r.flags&attachReplace != 0:
		return fail(uapi.EINVAL)
	case r.revision != 0 && r.revision != g.revision:
		return fail(uapi.ESTALE)
	case len(g.list) == 0:
		return fail(uapi.ENOENT)
	}
	at, e := s.placeIn(c, g, r, exact)
	if e != 0 {
		return fail(e)
	}
	at = min(max(at, 0), len(g.list)-1)
	if g.list[at].link != nil { // only the link's owner detaches its program
		return fail(uapi.EBUSY)
	}
	s.leave(g, at)
	s.emptied(g)
	return Result{}
}

// emptied forgets the list of a tcx hook when its last program has left, and with it the revision,
// unless a qdisc on the device keeps it (tcx_entry_is_active). A netkit device keeps its own.
func (s *System) emptied(g *attachGroup) {
	if at := g.place.at; len(g.list) > 0 || at != uapi.AttachTcxIngress && at != uapi.AttachTcxEgress || s.groups[g.place] != g {
		return
	}
	d := s.tc[deviceOf(g.place)]
	if d == nil || d.kind == "ingress" && g.place.at == uapi.AttachTcxEgress {
		delete(s.groups, g.place)
	}
}
