package bpfsys

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Link is a BPF link: it holds a program and the hook it is attached to.
type Link struct {
	object
	typ      uapi.LinkType
	prog     *Prog
	attach   uapi.AttachType
	at       []*attachment
	name     string // tracepoint or iterator
	obj      *BTF   // BTF of a tracing target
	btfID    btf.ID
	cookie   uint64
	place    place
	event    *PerfEvent
	iterMap  *Map
	ops      *Map
	multi    *multi
	netns    uint64
	pf       [4]uint32 // netfilter: protocol family, hook number, priority, flags
	group    *attachGroup
	detached bool
	tgtProg  *Prog
}

// multi holds the attributes that a multi link was created with.
type multi struct {
	names   []string
	path    string
	offsets []uint64
	addrs   []uint64
	refs    []uint64
	cookies []uint64
	ids     []btf.ID // sorted
	flags   uint32
	pid     uint32
}

// attachment is a program at a hook.
type attachment struct {
	order  uint32
	prog   *Prog
	hook   machine.Hook
	cookie uint64
	place  place // set for packet and cgroup hooks
	event  *PerfEvent
	// preorder is set for programs of cgroups that run before others.
	preorder bool
}

// place identifies the hook of a device, cgroup or namespace program.
type place struct {
	kind placeKind
	id   uint64 // of a device, or inode
	at   uapi.AttachType
}

// device returns the device of a hook on one.
func (p place) device() Device { return Device{uint32(p.id >> 32), uint32(p.id)} }

type placeKind uint8

const (
	noPlace placeKind = iota
	onDevice
	onCgroup
	onNetns
	onMap
)

func (s *System) attach(a *attachment) *attachment {
	s.lastHook++
	a.order = s.lastHook
	s.hooks.Add(a.order, a)
	return a
}

func (s *System) isAttached(a *attachment) bool {
	found, _ := s.hooks.Get(a.order)
	return found == a
}

func (s *System) detach(a *attachment) {
	if a != nil && s.isAttached(a) {
		s.hooks.Remove(a.order)
	}
}

// newLink creates a link and its descriptor.
func (s *System) newLink(l *Link, hooks ...*attachment) Result {
	if s.full(KindLink) {
		return fail(uapi.ENOMEM)
	}
	s.add(l, KindLink, l.prog.nameOr(l.name), func() { s.freeLink(l) })
	s.hold(l.prog)
	for _, h := range hooks {
		l.at = append(l.at, s.attach(h))
	}
	return s.newFile(l, ReadOnly)
}

func (p *Prog) nameOr(other string) string {
	if p == nil {
		return other
	}
	return p.object.name
}

// freeLink detaches the link and lets go what it holds (bpf_link_free): a link that nobody refers
// to any more attaches nothing, unlike the older attachments without one.
func (s *System) freeLink(l *Link) {
	s.detachLink(l)
	if l.prog != nil {
		s.put(l.prog)
	}
	if l.event != nil {
		l.event.link = nil
		s.put(l.event)
	}
	if l.iterMap != nil {
		s.put(l.iterMap)
	}
	if l.ops != nil {
		s.put(l.ops)
	}
	if l.tgtProg != nil {
		s.put(l.tgtProg)
	}
}

// detachLink detaches the program and leaves the link (bpf_link_detach): its file stays open.
func (s *System) detachLink(l *Link) {
	for _, h := range l.at {
		s.detach(h)
	}
	was := l.detached
	l.at, l.detached = nil, true
	if !was {
		s.detachFromProgram(l)
	}
	if l.group != nil {
		l.group.remove(l)
		s.emptied(l.group)
		l.group = nil
	}
	if l.ops != nil {
		s.unregisterOps(l.ops)
	}
}

// linkCreate attaches a program by a new link (link_create). The program's type decides what it may
// attach to, the attach type what of that is meant.
func (s *System) linkCreate(c Caller, a bpfattr.LinkCreate) Result {
	at := a.AttachType()
	// Such a link is of a map with programs, not of a program.
	if at == uapi.AttachStructOps {
		return s.linkOps(c, a)
	}
	p, _, e := fileOf[*Prog](c, a.ProgFd())
	if e != 0 {
		return fail(e)
	}
	if !s.target.HasAttachType(at) {
		return fail(uapi.EINVAL)
	}
	switch p.typ {
	case uapi.ProgTypeExt, uapi.ProgTypeTracing, uapi.ProgTypeLSM, uapi.ProgTypeRawTracepoint, uapi.ProgTypeRawTracepointWritable:
		if (p.typ == uapi.ProgTypeTracing || p.typ == uapi.ProgTypeLSM) && at != p.expected {
			return fail(uapi.EINVAL)
		}
		switch {
		case p.expected == uapi.AttachTraceIter && p.typ == uapi.ProgTypeTracing:
			return s.linkIter(c, a, p)
		case p.expected == uapi.AttachLSMCgroup:
			return s.linkCgroup(c, a, p, at)
		case p.typ == uapi.ProgTypeExt:
			return s.linkTracing(c, p, a.TargetFd(), btf.ID(a.TargetBtfId()), 0)
		case p.typ == uapi.ProgTypeRawTracepoint || p.typ == uapi.ProgTypeRawTracepointWritable:
			// These have a command of their own (BPF_RAW_TRACEPOINT_OPEN).
			return fail(uapi.EINVAL)
		case progtype.TracesMany(p.expected):
			return s.linkTracingMulti(c, a, p)
		}
		in := a.Tracing()
		return s.linkTracing(c, p, a.TargetFd(), btf.ID(in.TargetBtfId()), in.Cookie())
	case uapi.ProgTypeKprobe:
		switch at {
		case uapi.AttachPerfEvent:
			return s.linkPerf(c, a, p)
		case uapi.AttachTraceKprobeMulti, uapi.AttachTraceKprobeSession:
			return s.linkKprobeMulti(c, a, p)
		case uapi.AttachTraceUprobeMulti, uapi.AttachTraceUprobeSession:
			return s.linkUprobeMulti(c, a, p)
		}
		return fail(uapi.EINVAL)
	case uapi.ProgTypePerfEvent, uapi.ProgTypeTracepoint:
		if at != uapi.AttachPerfEvent {
			return fail(uapi.EINVAL)
		}
		return s.linkPerf(c, a, p)
	case uapi.ProgTypeXDP:
		if at != uapi.AttachXDP {
			return fail(uapi.EINVAL)
		}
		return s.linkDevice(c, a, p, at)
	case uapi.ProgTypeSchedCls:
		if at == uapi.AttachTcxIngress || at == uapi.AttachTcxEgress || at == uapi.AttachNetkitPrimary || at == uapi.AttachNetkitPeer {
			return s.linkDevice(c, a, p, at)
		}
		return fail(uapi.EINVAL)
	case uapi.ProgTypeFlowDissector, uapi.ProgTypeSkLookup:
		return s.linkNetns(c, a, p, at)
	case uapi.ProgTypeNetfilter:
		return s.linkNetfilter(c, a, p, at)
	case uapi.ProgTypeSkMsg, uapi.ProgTypeSkSkb:
		return s.linkSockmap(c, a, p, at)
	}
	if cgroupAttach(p.typ, at) && p.attaches(at) {
		return s.linkCgroup(c, a, p, at)
	}
	return fail(uapi.EINVAL)
}

// linkTracing attaches to the function that the program was loaded for, or to another one of the
// same type (bpf_tracing_prog_attach).
func (s *System) linkTracing(c Caller, p *Prog, targetFD int32, id btf.ID, cookie uint64) Result {
	// A target other than that of the load is a program and a function in it.
	if (targetFD != 0) != (id != 0) {
		return fail(uapi.EINVAL)
	}
	name, obj, tgt, btfID := p.lp.AttachTo, p.hook.obj, p.ext, p.hook.id
	if targetFD != 0 {
		q, _, e := fileOf[*Prog](c, targetFD)
		if e != 0 {
			return fail(e)
		}
		// Only an extension may be attached to another function than it was verified for: the two
		// are of one type.
		if p.typ != uapi.ProgTypeExt {
			return fail(uapi.EINVAL)
		}
		tgt, btfID = q, id
		if q.types != nil && int(id) < q.types.spec.NumTypes() {
			name = q.types.spec.Name(id)
		}
	}
	if p.hook.id == 0 {
		return fail(uapi.EINVAL)
	}
	if p.typ == uapi.ProgTypeExt {
		if e := s.canExtend(p, tgt, btfID, targetFD != 0); e != 0 {
			return fail(e)
		}
	} else if p.expected != uapi.AttachTraceRawTp && tgt == nil {
		if e := s.canTrace(p, obj, btfID); e != 0 {
			return fail(e)
		}
	}
	l := &Link{typ: uapi.LinkTracing, prog: p, attach: p.expected, name: name, obj: obj, btfID: btfID, cookie: cookie, tgtProg: tgt}
	if p.expected == uapi.AttachTraceRawTp && p.typ == uapi.ProgTypeTracing {
		l.typ = uapi.LinkRawTracepoint
	}
	if tgt == nil {
		return s.newLink(l, &attachment{prog: p, hook: machine.Hook{AttachTo: name, Section: p.lp.Section}, cookie: cookie})
	}
	if e := s.attachToProgram(l); e != 0 {
		return fail(e)
	}
	s.hold(tgt)
	r := s.newLink(l)
	if r.Errno != 0 {
		s.detachFromProgram(l)
		s.put(tgt)
		return r
	}
	p.consumed = p.consumed || tgt == p.ext && btfID == p.hook.id
	return r
}

func (s *System) rawTracepointOpen(c Caller, a bpfattr.RawTracepoint) Result {
	p, _, e := fileOf[*Prog](c, a.ProgFd())
	if e != 0 {
		return fail(e)
	}
	cookie := a.Cookie()
	switch p.typ {
	case uapi.ProgTypeTracing, uapi.ProgTypeExt, uapi.ProgTypeLSM:
		// These know their target since the load, so that a name would have no meaning.
		if a.Name() != 0 {
			return fail(uapi.EINVAL)
		}
		if p.typ == uapi.ProgTypeTracing && p.expected == uapi.AttachTraceIter {
			return fail(uapi.EINVAL)
		}
		return s.linkTracing(c, p, 0, 0, cookie)
	case uapi.ProgTypeRawTracepoint, uapi.ProgTypeRawTracepointWritable:
		name, ok := cstring(c, a.Name(), 127)
		if !ok && name == "" {
			return fail(uapi.EFAULT)
		}
		if !s.hasRawTracepoint(name) {
			return fail(uapi.ENOENT)
		}
		if n, known := s.tracepointArgs(name); known && p.ctxSize > 8*n { // __bpf_probe_register
			return fail(uapi.EINVAL)
		}
		return s.newLink(&Link{typ: uapi.LinkRawTracepoint, prog: p, attach: uapi.AttachTraceRawTp, name: name, cookie: cookie},
			&attachment{prog: p, hook: machine.Hook{AttachTo: name, Section: "raw_tp/" + name}, cookie: cookie})
	}
	return fail(uapi.EINVAL)
}

// hasRawTracepoint reports whether the kernel has a tracepoint of that name.
func (s *System) hasRawTracepoint(name string) bool {
	for _, spec := range s.specs() {
		if _, ok := spec.FindID(btf.KindTypedef, "btf_trace_"+name); ok {
			return true
		}
	}
	return s.target.BTF == nil
}

// tracepointArgs returns how many arguments the programs of a raw tracepoint see: those of its type
// in BTF, without the first one, which is not theirs. known is false if the type is not there.
func (s *System) tracepointArgs(name string) (n int, known bool) {
	for _, spec := range s.specs() {
		id, ok := spec.FindID(btf.KindTypedef, "btf_trace_"+name)
		if !ok {
			continue
		}
		if t := spec.SkipMods(id); t != nil && t.Kind == btf.KindPtr {
			if t = spec.SkipMods(t.Ref); t != nil && t.Kind == btf.KindFuncProto && len(t.Params) > 0 {
				return len(t.Params) - 1, true
			}
		}
	}
	return 0, false
}

func (s *System) specs() []*btf.Spec {
	var out []*btf.Spec
	if s.target.BTF != nil {
		out = append(out, s.target.BTF)
	}
	for _, m := range s.target.Modules {
		out = append(out, m.BTF)
	}
	return out
}

// linkPerf attaches to a perf event (bpf_perf_link_attach).
func (s *System) linkPerf(c Caller, a bpfattr.LinkCreate, p *Prog) Result {
	if a.Flags() != 0 {
		return fail(uapi.EINVAL)
	}
	ev, f, e := fileOf[*PerfEvent](c, a.TargetFd())
	switch {
	case f.Kind == NoFile:
		return fail(uapi.EBADF)
	case e != 0:
		return fail(uapi.EBADF)
	}
	cookie := uint64(0)
	if s.has(since.PerfCookies) {
		cookie = a.PerfEvent().BpfCookie()
	} else if a.PerfEvent().BpfCookie() != 0 {
		return fail(uapi.EINVAL)
	}
	if e := ev.accepts(s, p); e != 0 {
		return fail(e)
	}
	// An event has one program, but a tracepoint runs a list of them (perf_event_set_bpf_prog).
	if ev.bpf != nil && ev.typ != perfTracepoint {
		return fail(uapi.EEXIST)
	}
	l := &Link{typ: uapi.LinkPerfEvent, prog: p, attach: uapi.AttachPerfEvent, cookie: cookie, event: ev, name: ev.hook.AttachTo}
	s.hold(ev)
	ev.link = l
	return s.newLink(l, &attachment{prog: p, hook: ev.hook, cookie: cookie, event: ev})
}

// cgroupAttach reports whether programs of type t attach to cgroups with attach type at.
func cgroupAttach(t uapi.ProgType, at uapi.AttachType) bool {
	row := progtype.Of(t)
	if !strings.HasPrefix(t.String(), "cgroup") && !strings.HasPrefix(at.String(), "cgroup") && at != uapi.AttachLSMCgroup {
		return false
	}
	return row.Attached(at) != nil || len(row.Attaches) == 0
}

// maxMulti is MAX_KPROBE_MULTI_CNT.
const maxMulti = 1 << 20

// linkKprobeMulti attaches to many kernel functions at once (bpf_kprobe_multi_link_attach).
func (s *System) linkKprobeMulti(c Caller, a bpfattr.LinkCreate, p *Prog) Result {
	in := a.KprobeMulti()
	flags, count, syms, addrs, cookies := in.Flags(), in.Cnt(), in.Syms(), in.Addrs(), in.Cookies()
	switch {
	case a.Flags() != 0, p.expected != a.AttachType(), flags&^1 != 0:
		return fail(uapi.EINVAL)
	case (addrs != 0) == (syms != 0), count == 0:
		// Functions are given by name or by address, not both.
		return fail(uapi.EINVAL)
	case count > maxMulti:
		return fail(uapi.E2BIG)
	}
	m := &multi{flags: flags}
	var hooks []*attachment
	section := "kprobe.multi/"
	switch {
	case p.expected == uapi.AttachTraceKprobeSession:
		section = "kprobe.session/"
	case flags&1 != 0:
		section = "kretprobe.multi/"
	}
	for i := range uint64(count) {
		var name string
		var addr, cookie uint64
		if syms != 0 {
			ptr, ok := read64(c, syms+8*i)
			if !ok {
				return fail(uapi.EFAULT)
			}
			if name, ok = cstring(c, ptr, 512); !ok {
				return fail(uapi.EFAULT)
			}
			if !s.hasFunction(name) {
				return fail(uapi.ESRCH)
			}
			addr = s.machine.Kernel().SymbolAddr(name)
		} else {
			var ok bool
			if addr, ok = read64(c, addrs+8*i); !ok {
				return fail(uapi.EFAULT)
			}
			sym, off, ok := s.machine.Kernel().SymbolAt(addr)
			// An address must be where a function begins.
			if !ok || off != 0 {
				return fail(uapi.EINVAL)
			}
			name = sym
		}
		if cookies != 0 {
			var ok bool
			if cookie, ok = read64(c, cookies+8*i); !ok {
				return fail(uapi.EFAULT)
			}
			m.cookies = append(m.cookies, cookie)
		}
		m.names, m.addrs = append(m.names, name), append(m.addrs, addr)
		hooks = append(hooks, &attachment{prog: p, hook: machine.Hook{AttachTo: name, Section: section + name}, cookie: cookie})
	}
	return s.newLink(&Link{typ: uapi.LinkKprobeMulti, prog: p, attach: p.expected, multi: m}, hooks...)
}

// linkUprobeMulti attaches to many places of a file (bpf_uprobe_multi_link_attach): their offsets
// in it, so that all processes that map the file run into them.
func (s *System) linkUprobeMulti(c Caller, a bpfattr.LinkCreate, p *Prog) Result {
	in := a.UprobeMulti()
	pathAt, offs, refs, cookies := in.Path(), in.Offsets(), in.RefCtrOffsets(), in.Cookies()
	count, flags, pid := in.Cnt(), in.Flags(), in.Pid()
	switch {
	case a.Flags() != 0, p.expected != a.AttachType(), flags&^1 != 0:
		return fail(uapi.EINVAL)
	case pathAt == 0, offs == 0, count == 0, in.PathFd() != 0: // path_fd has a flag of its own
		return fail(uapi.EINVAL)
	case count > maxMulti:
		return fail(uapi.E2BIG)
	}
	path, ok := cstring(c, pathAt, 4096)
	if !ok {
		return fail(uapi.EFAULT)
	}
	regular, exists := c.IsFile(c.Path(-100, path))
	switch {
	case !exists:
		return fail(uapi.ENOENT)
	case !regular: // loaders probe for support with "/"
		return fail(uapi.EBADF)
	case int32(pid) < 0:
		return fail(uapi.EINVAL)
	case pid != 0 && !c.HasProcess(pid):
		return fail(uapi.ESRCH)
	}
	m := &multi{path: path, flags: flags, pid: pid}
	section := "uprobe.multi/"
	switch {
	case p.expected == uapi.AttachTraceUprobeSession:
		section = "uprobe.session/"
	case flags&1 != 0:
		section = "uretprobe.multi/"
	}
	var hooks []*attachment
	for i := range uint64(count) {
		off, ok := read64(c, offs+8*i)
		if !ok {
			return fail(uapi.EFAULT)
		}
		var cookie uint64
		if cookies != 0 {
			if cookie, ok = read64(c, cookies+8*i); !ok {
				return fail(uapi.EFAULT)
			}
			m.cookies = append(m.cookies, cookie)
		}
		if refs != 0 {
			ref, ok := read64(c, refs+8*i)
			if !ok {
				return fail(uapi.EFAULT)
			}
			m.refs = append(m.refs, ref)
		}
		m.offsets = append(m.offsets, off)
		name := path + ":+0x" + hex(off)
		hooks = append(hooks, &attachment{prog: p, hook: machine.Hook{AttachTo: name, Section: section + name}, cookie: cookie})
	}
	return s.newLink(&Link{typ: uapi.LinkUprobeMulti, prog: p, attach: p.expected, multi: m}, hooks...)
}

func read64(c Caller, addr uint64) (uint64, bool) {
	b := make([]byte, 8)
	if !c.Read(addr, b) {
		return 0, false
	}
	return le.Uint64(b), true
}

// linkDevice attaches to a network device: XDP, tcx or netkit.
func (s *System) linkDevice(c Caller, a bpfattr.LinkCreate, p *Prog, at uapi.AttachType) Result {
	pl, e := s.attachable(c, a.TargetIfindex(), at)
	if e != 0 {
		return fail(e)
	}
	flags := a.Flags()
	l := &Link{prog: p, attach: at, place: pl}
	var mode XDPMode
	switch at {
	case uapi.AttachXDP:
		l.typ = uapi.LinkXDP
		if flags&^uint32(0x1e) != 0 { // XDP_FLAGS_MODES | REPLACE
			return fail(uapi.EINVAL)
		}
		for h := range s.hooks.All() {
			if h.place == pl {
				return fail(uapi.EBUSY)
			}
		}
		if mode, e = s.xdpMode(pl.device(), XDPMode(flags)&xdpModes); e != 0 {
			return fail(e)
		}
	case uapi.AttachTcxIngress, uapi.AttachTcxEgress:
		l.typ = uapi.LinkTcx
	default:
		l.typ = uapi.LinkNetkit
	}
	r, h := s.groupLink(c, a, l, pl, flags)
	if r != 0 {
		return fail(r)
	}
	if at == uapi.AttachXDP {
		s.group(pl).xdp = mode
	}
	return s.newLink(l, h)
}

// linkNetfilter attaches to a hook of netfilter (bpf_nf_link_attach).
func (s *System) linkNetfilter(c Caller, a bpfattr.LinkCreate, p *Prog, at uapi.AttachType) Result {
	if a.Flags() != 0 || at != uapi.AttachNetfilter {
		return fail(uapi.EINVAL)
	}
	in := a.Netfilter()
	pf := [4]uint32{in.Pf(), in.Hooknum(), uint32(in.Priority()), in.Flags()}
	const ipv4, ipv6, hooks, defrag, defragPriority = 2, 10, 5, 1, -400
	switch {
	case pf[0] != ipv4 && pf[0] != ipv6:
		return fail(uapi.EAFNOSUPPORT)
	case pf[1] >= hooks:
		return fail(uapi.EPROTO)
	case pf[3]&^defrag != 0 || pf[3] != 0 && !s.has(since.NetfilterDefrag):
		return fail(uapi.EOPNOTSUPP)
	}
	// The ends of the list are netfilter's own, such as the confirmation of connections, which
	// comes last (bpf_nf_check_pf_and_hooks).
	prio := int32(pf[2])
	if prio == -1<<31 || prio == 1<<31-1 {
		return fail(uapi.ERANGE)
	}
	if pf[3]&defrag != 0 && prio <= defragPriority { // it would run before packets are put together
		return fail(uapi.ERANGE)
	}
	return s.newLink(&Link{typ: uapi.LinkNetfilter, prog: p, attach: at, pf: pf}, &attachment{prog: p, hook: machine.Hook{Section: "netfilter"}})
}

// linkUpdate puts another program in the link's place (link_update), without a moment in which none
// is attached.
func (s *System) linkUpdate(c Caller, a bpfattr.LinkUpdate) Result {
	flags := a.Flags()
	const replace = 1 << 2
	if flags&^uint32(replace) != 0 {
		return fail(uapi.EINVAL)
	}
	l, _, e := fileOf[*Link](c, a.LinkFd())
	if e != 0 {
		return fail(e)
	}
	if l.typ == uapi.LinkStructOps {
		return s.updateOpsLink(c, a, l)
	}
	p, _, e := fileOf[*Prog](c, a.NewProgFd())
	if e != 0 {
		return fail(e)
	}
	old := a.OldProgFd()
	if flags&replace != 0 {
		q, _, e := fileOf[*Prog](c, old)
		if e != 0 {
			return fail(e)
		}
		// The caller expected another program: somebody else was faster.
		if q != l.prog {
			return fail(uapi.EPERM)
		}
	} else if old != 0 {
		return fail(uapi.EINVAL)
	}
	switch l.typ {
	case uapi.LinkCgroup, uapi.LinkNetns, uapi.LinkXDP, uapi.LinkTcx, uapi.LinkNetkit, uapi.LinkIter, uapi.LinkSockmap:
	default:
		return fail(uapi.EINVAL)
	}
	// The hook is gone, such as its device or cgroup.
	if l.detached {
		return fail(uapi.ENOLINK)
	}
	if p.typ != l.prog.typ || p.expected != l.prog.expected {
		return fail(uapi.EINVAL)
	}
	s.hold(p)
	s.put(l.prog)
	l.prog = p
	for _, h := range l.at {
		h.prog = p
	}
	if l.group != nil {
		l.group.replace(l)
	}
	return Result{}
}

// linkDetach detaches a link whoever holds it (link_detach), if its type can.
func (s *System) linkDetach(c Caller, a bpfattr.LinkDetach) Result {
	l, _, e := fileOf[*Link](c, a.LinkFd())
	if e != 0 {
		return fail(e)
	}
	switch l.typ {
	case uapi.LinkCgroup, uapi.LinkNetns, uapi.LinkXDP, uapi.LinkTcx, uapi.LinkNetkit, uapi.LinkStructOps, uapi.LinkSockmap:
	default:
		return fail(uapi.EOPNOTSUPP)
	}
	s.detachLink(l)
	return Result{}
}
