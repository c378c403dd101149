package bpfsys

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
)

// enableStats counts runs and their time for as long as the descriptor is open (bpf_enable_stats).
func (s *System) enableStats(_ Caller, a bpfattr.EnableStats) Result {
	if a.Type() != 0 { // BPF_STATS_RUN_TIME
		return fail(uapi.EINVAL)
	}
	if s.full(KindToken) {
		return fail(uapi.EMFILE)
	}
	s.statsOn++
	t := &statsFile{}
	s.add(t, KindToken, "stats", func() { s.statsOn-- })
	return s.newFile(t, ReadOnly)
}

// bindMap keeps a map for a program that does not use it (bpf_prog_bind_map): loaders put a
// program's metadata there.
func (s *System) bindMap(c Caller, a bpfattr.ProgBindMap) Result {
	if a.Flags() != 0 {
		return fail(uapi.EINVAL)
	}
	p, _, e := fileOf[*Prog](c, a.ProgFd())
	if e != 0 {
		return fail(e)
	}
	m, _, e := fileOf[*Map](c, a.MapFd())
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

// Kinds of descriptors that BPF_TASK_FD_QUERY reports (enum bpf_task_fd_type).
const (
	fdRawTracepoint, fdTracepoint, fdKprobe, fdKretprobe, fdUprobe, fdUretprobe = 0, 1, 2, 3, 4, 5
)

// taskFDQuery implements BPF_TASK_FD_QUERY.
func (s *System) taskFDQuery(c Caller, a bpfattr.TaskFdQuery) Result {
	if a.Flags() != 0 {
		return fail(uapi.EINVAL)
	}
	tgid, tid, _ := c.Thread()
	f := File{}
	if pid := a.Pid(); pid == tgid || pid == tid || pid == 0 {
		f = c.File(a.Fd())
	} else {
		var ok bool
		if f, ok = c.FileOf(pid, a.Fd()); !ok {
			return fail(uapi.ENOENT)
		}
	}
	var prog *Prog
	kind, name, off, addr := uint32(0), "", uint64(0), uint64(0)
	switch o := f.Object.(type) {
	case *Link:
		switch o.typ {
		case uapi.LinkRawTracepoint:
			prog, kind, name = o.prog, fdRawTracepoint, o.name
		case uapi.LinkPerfEvent:
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
	room, to := a.BufLen(), a.Buf()
	if room > 0 && to != 0 {
		b := append([]byte(name), 0)
		if int(room) < len(b) {
			b, e = append(b[:room-1:room-1], 0), uapi.ENOSPC
		}
		if !c.Write(to, b) {
			return fail(uapi.EFAULT)
		}
	}
	if !a.PutBufLen(uint32(len(name))) || !a.PutProgId(prog.id) || !a.PutFdType(kind) || !a.PutProbeOffset(off) || !a.PutProbeAddr(addr) {
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

// hasFunction reports whether the kernel has a function with that name that can be probed.
func (s *System) hasFunction(name string) bool {
	if s.target.HasFunc(name) {
		return true
	}
	for _, prefix := range []string{"__x64_sys_", "__arm64_sys_", "__ia32_sys_"} {
		if call, ok := strings.CutPrefix(name, prefix); ok && s.syscallFunction(call) == name {
			if _, known := s.machine.Kernel().SyscallNumber(call); known || call == "bpf" || call == "getpid" {
				return true
			}
		}
	}
	_, ok := s.target.Kallsyms[name]
	return ok
}

// maxLacking limits the functions that are remembered as asked for and not there.
const maxLacking = 64

// lacks remembers a function that a probe was asked for and that the kernel does not have.
func (s *System) lacks(function string) {
	if function != "" && len(s.lacking) < maxLacking && !slices.Contains(s.lacking, function) {
		s.lacking = append(s.lacking, function)
	}
}

// Lacking returns the functions that probes were asked for and that the kernel does not have.
func (s *System) Lacking() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lacking)
}

// FDInfo returns the contents of /proc/PID/fdinfo/N for a descriptor of the object.
func (s *System) FDInfo(o Object) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := []byte("pos:\t0\nflags:\t02000002\nmnt_id:\t15\nino:\t1065\n")
	add := func(name, format string, v any) { b = fmt.Appendf(b, name+":\t"+format+"\n", v) }
	switch o := o.(type) {
	case *Map:
		add("map_type", "%d", uint32(o.def.Type))
		add("key_size", "%d", o.def.KeySize)
		add("value_size", "%d", o.def.ValueSize)
		add("max_entries", "%d", o.def.MaxEntries)
		add("map_flags", "0x%x", o.def.Flags)
		add("map_extra", "0x%x", o.def.Extra)
		add("memlock", "%d", o.memlock())
		add("map_id", "%d", o.id)
		frozen := 0
		if o.frozen {
			frozen = 1
		}
		add("frozen", "%d", frozen)
		if o.owner != nil {
			add("owner_prog_type", "%d", uint32(o.owner.typ))
			add("owner_jited", "%d", 1)
		}
	case *Prog:
		add("prog_type", "%d", uint32(o.typ))
		add("prog_jited", "%d", 1)
		add("prog_tag", "%x", o.tag)
		add("memlock", "%d", (len(o.insns)+512+4095)&^4095)
		add("prog_id", "%d", o.id)
		add("run_time_ns", "%d", o.nanos)
		add("run_cnt", "%d", o.runs)
		add("recursion_misses", "%d", 0)
		add("verified_insns", "%d", o.verified)
	case *Link:
		add("link_type", "%s", linkName(o.typ))
		add("link_id", "%d", o.id)
		if o.prog != nil {
			add("prog_tag", "%x", o.prog.tag)
			add("prog_id", "%d", o.prog.id)
		}
	case *BTF:
		add("btf_id", "%d", o.id)
	case *Token: // bpf_token_show_fdinfo
		for _, m := range []struct {
			name string
			mask uint64
			n    int
		}{
			{"allowed_cmds", o.grants.Cmds, len(uapi.Cmds())}, {"allowed_maps", o.grants.Maps, len(uapi.MapTypes()) + 1},
			{"allowed_progs", o.grants.Progs, len(progtype.All())}, {"allowed_attachs", o.grants.Attaches, len(uapi.AttachTypes())},
		} {
			if all := uint64(1)<<m.n - 1; m.mask&all == all {
				add(m.name, "%s", "any")
			} else {
				add(m.name, "0x%x", m.mask)
			}
		}
	}
	return b
}

// linkName returns the name of a link type in /proc/PID/fdinfo (BPF_LINK_TYPE in
// linux/bpf_types.h).
func linkName(t uapi.LinkType) string {
	if t == uapi.LinkPerfEvent {
		return "perf"
	}
	return t.String()
}

// memlock estimates the kernel memory that a map uses, in bytes.
func (m *Map) memlock() uint64 {
	n := uint64(m.def.MaxEntries) * uint64((m.def.KeySize+7)&^7+(m.def.ValueSize+7)&^7)
	if _, ok := m.m.(maps.RingBuffer); ok {
		n = uint64(m.def.MaxEntries)
	}
	return (n+4095)&^4095 + 4096
}
