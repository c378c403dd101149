package bpfsys

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/uapi/since"
)

// infoSize returns the size in bytes of an info struct according to the kernel's BTF, or def without it.
func (s *System) infoSize(name string, def int) int {
	if s.target.BTF != nil {
		if t, ok := s.target.BTF.Find(btf.KindStruct, name); ok && t.Size > 0 && t.Size < 512 {
			return int(t.Size)
		}
	}
	return def
}

// info is an info struct being filled; in holds the caller's bytes, which contain the addresses of its arrays.
type info struct {
	b, in []byte
	c     Caller
	bad   uapi.Errno
}

func (i *info) u32(off int, v uint32) {
	if off+4 <= len(i.b) {
		le.PutUint32(i.b[off:], v)
	}
}

func (i *info) u64(off int, v uint64) {
	if off+8 <= len(i.b) {
		le.PutUint64(i.b[off:], v)
	}
}

func (i *info) text(off, size int, s string) {
	if off+size <= len(i.b) {
		copy(i.b[off:off+size-1], s)
	}
}

func (i *info) given32(off int) uint32 {
	if off+4 <= len(i.in) {
		return le.Uint32(i.in[off:])
	}
	return 0
}

func (i *info) given64(off int) uint64 {
	if off+8 <= len(i.in) {
		return le.Uint64(i.in[off:])
	}
	return 0
}

// array copies as many records as fit into the caller's array and stores the total count.
func (i *info) array(ptr, count int, data []byte, size int) {
	n := len(data) / max(size, 1)
	if room := int(i.given32(count)); room > 0 && n > 0 {
		k := min(room, n)
		if to := i.given64(ptr); to != 0 && !i.c.Write(to, data[:k*size]) {
			i.bad = uapi.EFAULT
		} else if to == 0 {
			i.bad = uapi.EFAULT
		}
	}
	i.u32(count, uint32(n))
	i.u64(ptr, i.given64(ptr))
}

// name copies a string with its NUL to the caller's buffer; if it does not fit, a truncated copy with ENOSPC (bpf_copy_to_user).
func (i *info) name(ptr, length int, s string) {
	to, room := i.given64(ptr), i.given32(length)
	i.u64(ptr, to)
	i.u32(length, uint32(len(s)+1))
	if (to == 0) != (room == 0) {
		i.bad = uapi.EINVAL
		return
	}
	if to == 0 {
		return
	}
	b := append([]byte(s), 0)
	if int(room) < len(b) {
		b = append(b[:room-1:room-1], 0)
		i.bad = uapi.ENOSPC
	}
	if !i.c.Write(to, b) {
		i.bad = uapi.EFAULT
	}
}

func (s *System) infoByFD(c Caller, a bpfattr.Info) Result {
	f := c.File(a.BpfFd())
	if f.Kind == NoFile {
		return fail(uapi.EBADF)
	}
	var size int
	var fill func(*info)
	switch o := f.Object.(type) {
	case *Prog:
		size, fill = s.infoSize("bpf_prog_info", 232), func(i *info) { s.progInfo(i, o) }
	case *Map:
		size, fill = s.infoSize("bpf_map_info", 88), func(i *info) { s.mapInfo(i, o) }
	case *BTF:
		size, fill = s.infoSize("bpf_btf_info", 32), func(i *info) { s.btfInfo(i, o) }
	case *Link:
		size, fill = s.infoSize("bpf_link_info", 64), func(i *info) { s.linkInfo(i, o) }
	case *Token:
		if !s.has(since.TokenInfo) {
			return fail(uapi.EINVAL)
		}
		size, fill = s.infoSize("bpf_token_info", 32), func(i *info) {
			for n, v := range []uint64{o.grants.Cmds, o.grants.Maps, o.grants.Progs, o.grants.Attaches} {
				i.u64(8*n, v)
			}
		}
	default:
		return fail(uapi.EINVAL)
	}
	length, at := a.InfoLen(), a.Info()
	if length > uapi.PageSize {
		return fail(uapi.E2BIG)
	}
	in := make([]byte, length)
	if !c.Read(at, in) {
		return fail(uapi.EFAULT)
	}
	if !zeroFrom(in, size) {
		return fail(uapi.E2BIG)
	}
	i := &info{b: make([]byte, size), in: in[:min(len(in), size)], c: c}
	fill(i)
	if i.bad != 0 {
		return fail(i.bad)
	}
	n := min(len(in), size)
	if !c.Write(at, i.b[:n]) || !a.PutInfoLen(uint32(n)) {
		return fail(uapi.EFAULT)
	}
	return Result{}
}

func (s *System) progInfo(i *info, p *Prog) {
	i.u32(0, uint32(p.typ))
	i.u32(4, p.id)
	if len(i.b) >= 16 {
		copy(i.b[8:16], p.tag[:])
	}
	i.u32(16, uint32(8*len(p.insns)/8)) // jited_prog_len is the length of the instructions: nothing is compiled
	if i.given32(16) != 0 && i.given64(24) != 0 {
		n := min(int(i.given32(16)), len(p.insns))
		if !i.c.Write(i.given64(24), p.insns[:n]) {
			i.bad = uapi.EFAULT
		}
	}
	i.u64(24, i.given64(24))
	i.u32(20, uint32(len(p.insns)))
	if n := i.given32(20); n != 0 {
		if to := i.given64(32); to == 0 || !i.c.Write(to, p.insns[:min(int(n), len(p.insns))]) {
			i.bad = uapi.EFAULT
		}
	}
	i.u64(32, i.given64(32))
	i.u64(40, p.loaded)
	i.u32(48, s.cfg.UID)
	var ids []byte
	for _, m := range p.maps {
		ids = le.AppendUint32(ids, m.id)
	}
	i.array(56, 52, ids, 4)
	i.text(64, 16, p.name)
	if gplCompatible[p.license] {
		i.u32(84, 1)
	}
	ksym := le.AppendUint64(nil, s.machine.Kernel().SymbolAddr("bpf_prog_"+p.unique))
	i.array(112, 104, ksym, 8)
	i.array(120, 108, le.AppendUint32(nil, uint32(len(p.insns))), 4)
	if p.types != nil {
		i.u32(128, p.types.id)
	}
	if p.funcRec != 0 {
		i.u32(132, p.funcRec)
		i.array(136, 144, p.funcs, int(p.funcRec))
	}
	if p.lineRec != 0 {
		i.u32(172, p.lineRec)
		i.array(152, 148, p.lines, int(p.lineRec))
		base := s.machine.Kernel().SymbolAddr("bpf_prog_" + p.unique)
		var addrs []uint64
		for at := 0; at+4 <= len(p.lines); at += int(p.lineRec) {
			addrs = append(addrs, base+8*uint64(le.Uint32(p.lines[at:])))
		}
		i.array(160, 168, words(addrs), 8)
	}
	i.u32(176, 8)
	i.array(184, 180, p.tag[:], 8)
	i.u64(192, p.nanos)
	i.u64(200, p.runs)
	i.u32(216, p.verified)
	if p.hook.id != 0 {
		switch {
		case p.ext != nil && p.ext.types != nil:
			i.u32(220, p.ext.types.id)
		case p.hook.obj != nil:
			i.u32(220, p.hook.obj.id)
		}
		i.u32(224, uint32(p.hook.id))
	}
}

var gplCompatible = map[string]bool{"GPL": true, "GPL v2": true, "GPL and additional rights": true, "Dual BSD/GPL": true, "Dual MIT/GPL": true, "Dual MPL/GPL": true}

func (s *System) mapInfo(i *info, m *Map) {
	d := m.def
	for n, v := range []uint32{uint32(d.Type), m.id, d.KeySize, d.ValueSize, d.MaxEntries, d.Flags} {
		i.u32(4*n, v)
	}
	i.text(24, 16, m.name)
	if m.types != nil {
		i.u32(64, m.types.id)
		i.u32(68, uint32(d.KeyType))
		i.u32(72, uint32(d.ValueType))
	}
	if m.ops != nil {
		i.u32(44, uint32(m.ops.value))
		if s.has(since.OpsMapBTF) {
			i.u32(76, m.ops.types.id)
		}
	}
	i.u64(80, d.Extra)
}

func (s *System) btfInfo(i *info, b *BTF) {
	if to, room := i.given64(0), i.given32(8); to != 0 && room != 0 {
		if !i.c.Write(to, b.raw[:min(int(room), len(b.raw))]) {
			i.bad = uapi.EFAULT
			return
		}
	}
	i.u64(0, i.given64(0))
	i.u32(8, uint32(len(b.raw)))
	i.u32(12, b.id)
	to, room := i.given64(16), i.given32(24)
	i.u64(16, to)
	i.u32(24, uint32(len(b.name)))
	if to != 0 || room != 0 {
		text := append([]byte(b.name), 0)
		switch {
		case to == 0 || room == 0:
			i.bad = uapi.EINVAL
			return
		case int(room) < len(text):
			text = append(text[:room-1:room-1], 0)
			i.bad = uapi.ENOSPC
		}
		if !i.c.Write(to, text) {
			i.bad = uapi.EFAULT
		}
	}
	if b.kernel {
		i.u32(28, 1)
	}
}

func (s *System) linkInfo(i *info, l *Link) {
	i.u32(0, uint32(l.typ))
	i.u32(4, l.id)
	if l.prog != nil {
		i.u32(8, l.prog.id)
	}
	switch l.typ {
	case uapi.LinkRawTracepoint:
		i.name(16, 24, l.name)
		if s.has(since.LinkCookies) {
			i.u64(32, l.cookie)
		}
	case uapi.LinkTracing:
		i.u32(16, uint32(l.attach))
		switch {
		case l.tgtProg != nil:
			i.u32(20, l.tgtProg.id)
		case l.obj != nil:
			i.u32(20, l.obj.id)
		}
		i.u32(24, uint32(l.btfID))
		if s.has(since.LinkCookies) {
			i.u64(32, l.cookie)
		}
	case uapi.LinkCgroup:
		if !l.detached {
			i.u64(16, l.place.id)
		}
		i.u32(24, uint32(l.attach))
	case uapi.LinkIter:
		i.name(16, 24, l.name)
		if l.iterMap != nil {
			i.u32(32, l.iterMap.id)
		}
	case uapi.LinkNetns:
		i.u32(16, uint32(l.netns))
		i.u32(20, uint32(l.attach))
	case uapi.LinkXDP, uapi.LinkTcx, uapi.LinkNetkit:
		if !l.detached {
			i.u32(16, uint32(l.place.id))
		}
		i.u32(20, uint32(l.attach))
		if l.typ == uapi.LinkXDP {
			i.u32(20, 0)
		}
	case uapi.LinkStructOps:
		if l.ops != nil {
			i.u32(16, l.ops.id)
		}
	case uapi.LinkNetfilter:
		for n, v := range l.pf {
			i.u32(16+4*n, v)
		}
	case uapi.LinkSockmap:
		i.u32(16, uint32(l.place.id))
		i.u32(20, uint32(l.attach))
	case uapi.LinkKprobeMulti:
		s.kprobeMultiInfo(i, l.multi)
	case uapi.LinkUprobeMulti:
		s.uprobeMultiInfo(i, l.multi)
	case uapi.LinkPerfEvent:
		s.perfLinkInfo(i, l)
	}
}

func words(list []uint64) []byte {
	var b []byte
	for _, v := range list {
		b = le.AppendUint64(b, v)
	}
	return b
}

// list copies words to the caller's array, which has room for that many; ENOSPC when it is too small.
func (i *info) list(ptr int, room uint32, data []uint64) {
	to := i.given64(ptr)
	i.u64(ptr, to)
	if to == 0 || len(data) == 0 {
		return
	}
	n := min(int(room), len(data))
	if n < len(data) {
		i.bad = uapi.ENOSPC
	}
	if !i.c.Write(to, words(data[:n])) {
		i.bad = uapi.EFAULT
	}
}

func (s *System) kprobeMultiInfo(i *info, m *multi) {
	if !s.has(since.KprobeMultiInfo) {
		return
	}
	room := i.given32(24)
	if i.given64(16) == 0 != (room == 0) {
		i.bad = uapi.EINVAL
		return
	}
	i.u32(24, uint32(len(m.addrs)))
	i.u32(28, m.flags)
	i.list(16, room, m.addrs)
	if s.has(since.MultiCookies) {
		cookies := m.cookies
		if cookies == nil {
			cookies = make([]uint64, len(m.addrs))
		}
		i.list(40, room, cookies)
	}
}

func (s *System) uprobeMultiInfo(i *info, m *multi) {
	if !s.has(since.UprobeMultiInfo) {
		return
	}
	room := i.given32(52)
	i.u32(52, uint32(len(m.offsets)))
	i.u32(56, m.flags)
	i.u32(60, m.pid)
	to, size := i.given64(16), i.given32(48)
	i.u64(16, to)
	if (to == 0) != (size == 0) {
		i.bad = uapi.EINVAL
		return
	}
	i.u32(48, uint32(len(m.path)+1))
	if to != 0 {
		if int(size) < len(m.path)+1 {
			i.bad = uapi.ENAMETOOLONG
		} else if !i.c.Write(to, append([]byte(m.path), 0)) {
			i.bad = uapi.EFAULT
		}
	}
	i.list(24, room, m.offsets)
	refs, cookies := m.refs, m.cookies
	if refs == nil {
		refs = make([]uint64, len(m.offsets))
	}
	if cookies == nil {
		cookies = make([]uint64, len(m.offsets))
	}
	i.list(32, room, refs)
	i.list(40, room, cookies)
}

// Kinds of perf links (enum bpf_perf_event_type).
const (
	infoUprobe, infoUretprobe, infoKprobe, infoKretprobe, infoTracepoint, infoEvent = 1, 2, 3, 4, 5, 6
)

func (s *System) perfLinkInfo(i *info, l *Link) {
	if !s.has(since.PerfLinkInfo) {
		return
	}
	e, cookies := l.event, s.has(since.MultiCookies)
	kind := func(entry, ret uint32) {
		if i.u32(16, entry); e.ret {
			i.u32(16, ret)
		}
	}
	switch e.typ {
	case perfTracepoint:
		i.u32(16, infoTracepoint)
		_, name, _ := cutLast(e.hook.AttachTo, '/')
		i.name(24, 32, name)
		if cookies {
			i.u64(40, l.cookie)
		}
	case perfKprobe:
		kind(infoKprobe, infoKretprobe)
		i.name(24, 32, e.hook.AttachTo)
		i.u32(36, uint32(e.offset))
		i.u64(40, s.machine.Kernel().SymbolAddr(e.hook.AttachTo)+e.offset)
		if cookies {
			i.u64(56, l.cookie)
		}
	case perfUprobe:
		kind(infoUprobe, infoUretprobe)
		path, _, _ := cutLast(e.hook.AttachTo, ':')
		i.name(24, 32, path)
		i.u32(36, uint32(e.offset))
		if cookies {
			i.u64(40, l.cookie)
		}
	default:
		i.u32(16, infoEvent)
		i.u64(24, e.config)
		i.u32(32, e.typ)
		if cookies {
			i.u64(40, l.cookie)
		}
	}
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == sep {
			return s[:i], s[i+1:], true
		}
	}
	return "", s, false
}
