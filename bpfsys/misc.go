package bpfsys

import "github.com/bpfrun/bpfrun/uapi"

// Token is a BPF token. Callers have all capabilities, so it grants nothing.
type Token struct{ object }

func (s *System) tokenCreate(c Caller, a *attr) Result {
	if a.u32(0) != 0 {
		return fail(uapi.EINVAL)
	}
	f := c.File(a.fd(4))
	switch f.Kind {
	case NoFile:
		return fail(uapi.EBADF)
	case BPFFSFile:
		return fail(uapi.EOPNOTSUPP) // as in the initial user namespace: nothing is delegated
	}
	return fail(uapi.EINVAL)
}

func (s *System) streamRead(c Caller, a *attr) Result {
	if _, _, e := fileOf[*Prog](c, a.fd(16)); e != 0 {
		return fail(e)
	}
	if id := a.u32(12); id != 1 && id != 2 { // BPF_STDOUT, BPF_STDERR
		return fail(uapi.ENOENT)
	}
	return Result{} // nothing was written
}

func (s *System) enableStats(_ Caller, a *attr) Result {
	if a.u32(0) != 0 { // BPF_STATS_RUN_TIME
		return fail(uapi.EINVAL)
	}
	if s.full(KindToken) {
		return fail(uapi.EMFILE)
	}
	s.statsOn++
	t := &Token{}
	s.add(t, KindToken, "stats", func() { s.statsOn-- })
	return s.newFile(t, ReadOnly)
}

func (s *System) bindMap(c Caller, a *attr) Result {
	if a.u32(8) != 0 {
		return fail(uapi.EINVAL)
	}
	p, _, e := fileOf[*Prog](c, a.fd(0))
	if e != 0 {
		return fail(e)
	}
	m, _, e := fileOf[*Map](c, a.fd(4))
	if e != 0 {
		return fail(e)
	}
	for _, o := range p.maps {
		if o == m {
			return Result{}
		}
	}
	s.hold(m)
	p.maps = append(p.maps, m)
	return Result{}
}

// Kinds of descriptors that BPF_TASK_FD_QUERY tells of (enum bpf_task_fd_type).
const (
	fdRawTracepoint, fdTracepoint, fdKprobe, fdKretprobe, fdUprobe, fdUretprobe = 0, 1, 2, 3, 4, 5
)

// taskFDQuery is BPF_TASK_FD_QUERY for descriptors of the caller itself.
func (s *System) taskFDQuery(c Caller, a *attr) Result {
	if a.u32(8) != 0 {
		return fail(uapi.EINVAL)
	}
	tgid, tid, _ := c.Thread()
	if pid := a.u32(0); pid != tgid && pid != tid && pid != 0 {
		return Result{Errno: uapi.ENOENT, Note: "BPF_TASK_FD_QUERY is served for the caller's own descriptors alone"}
	}
	f := c.File(a.fd(4))
	var prog *Prog
	kind, name, off, addr := uint32(0), "", uint64(0), uint64(0)
	switch o := f.Object.(type) {
	case *Link:
		switch o.typ {
		case LinkRawTracepoint:
			prog, kind, name = o.prog, fdRawTracepoint, o.name
		case LinkPerfEvent:
			prog = o.prog
			kind, name, off, addr = s.eventQuery(o.event)
		default:
			return fail(uapi.ENOTSUPP)
		}
	case *PerfEvent:
		prog = o.bpf
		if prog == nil && o.link != nil {
			prog = o.link.prog
		}
		if prog == nil {
			return fail(uapi.ENOENT)
		}
		kind, name, off, addr = s.eventQuery(o)
	default:
		if f.Kind == NoFile {
			return fail(uapi.EBADF)
		}
		return fail(uapi.ENOTSUPP)
	}
	e := uapi.Errno(0)
	room, to := a.u32(12), a.u64(16)
	if room > 0 && to != 0 {
		b := append([]byte(name), 0)
		if int(room) < len(b) {
			b, e = append(b[:room-1:room-1], 0), uapi.ENOSPC
		}
		if !c.Write(to, b) {
			return fail(uapi.EFAULT)
		}
	}
	if !a.put32(12, uint32(len(name))) || !a.put32(24, prog.id) || !a.put32(28, kind) || !a.put64(32, off) || !a.put64(40, addr) {
		return fail(uapi.EFAULT)
	}
	return fail(e)
}

func (s *System) eventQuery(e *PerfEvent) (kind uint32, name string, off, addr uint64) {
	name = e.hook.AttachTo
	switch e.typ {
	case perfTracepoint:
		_, name, _ = cutLast(name, '/')
		return fdTracepoint, name, 0, 0
	case perfKprobe:
		kind = fdKprobe
		if e.ret {
			kind = fdKretprobe
		}
		return kind, name, e.offset, s.machine.Kernel().SymbolAddr(name)
	}
	kind = fdUprobe
	if e.ret {
		kind = fdUretprobe
	}
	name, _, _ = cutLast(name, ':')
	return kind, name, e.offset, 0
}

// hasFunction reports whether a probe may be put on a function of that name.
func (s *System) hasFunction(name string) bool {
	if s.target.HasFunc(name) {
		return true
	}
	_, ok := s.target.Kallsyms[name]
	return ok
}
