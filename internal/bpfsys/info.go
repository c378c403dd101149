package bpfsys

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfinfo"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// infoSize returns the size in bytes of an info struct according to the kernel's BTF, or def
// without it.
func (s *System) infoSize(name string, def int) int {
	if s.target.BTF != nil {
		if t, ok := s.target.BTF.Find(btf.KindStruct, name); ok && t.Size > 0 && t.Size < 512 {
			return int(t.Size)
		}
	}
	return def
}

// info is an info struct being filled; in holds the caller's bytes, which contain the addresses of
// its arrays.
type info struct {
	b, in []byte
	c     Caller
	bad   uapi.Errno
}

// Fields that the struct of the kernel's release does not have are neither set nor given.

func (i *info) u32(at bpfinfo.U32, v uint32) {
	if int(at)+4 <= len(i.b) {
		le.PutUint32(i.b[at:], v)
	}
}

func (i *info) u64(at bpfinfo.U64, v uint64) {
	if int(at)+8 <= len(i.b) {
		le.PutUint64(i.b[at:], v)
	}
}

func (i *info) bytes8(at bpfinfo.Bytes8, v [8]byte) {
	if int(at)+8 <= len(i.b) {
		copy(i.b[at:], v[:])
	}
}

// text sets a string, which ends with a NUL.
func (i *info) text(at bpfinfo.Bytes16, s string) {
	if int(at)+16 <= len(i.b) {
		copy(i.b[at:at+15], s)
	}
}

func (i *info) given32(at bpfinfo.U32) uint32 {
	if int(at)+4 <= len(i.in) {
		return le.Uint32(i.in[at:])
	}
	return 0
}

func (i *info) given64(at bpfinfo.U64) uint64 {
	if int(at)+8 <= len(i.in) {
		return le.Uint64(i.in[at:])
	}
	return 0
}

// array copies as many records as fit into the caller's array and stores the total count.
func (i *info) array(ptr bpfinfo.U64, count bpfinfo.U32, data []byte, size int) {
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

// name copies a string with its NUL to the caller's buffer; if it does not fit, a truncated copy
// with ENOSPC (bpf_copy_to_user).
func (i *info) name(ptr bpfinfo.U64, length bpfinfo.U32, s string) {
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

// infoByFD describes an object (bpf_obj_get_info_by_fd). The caller's struct may be of another
// release than the kernel's: what the kernel does not know must be 0, and no more is copied than
// both have.
func (s *System) infoByFD(c Caller, a bpfattr.Info) Result {
	f := c.File(a.BpfFd())
	if f.Kind == NoFile {
		return fail(uapi.EBADFD) // not EBADF as elsewhere (bpf_obj_get_info_by_fd)
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
			i.u64(bpfinfo.TokenAllowedCmds, o.grants.Cmds)
			i.u64(bpfinfo.TokenAllowedMaps, o.grants.Maps)
			i.u64(bpfinfo.TokenAllowedProgs, o.grants.Progs)
			i.u64(bpfinfo.TokenAllowedAttachs, o.grants.Attaches)
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

// progInfo describes a program (bpf_prog_get_info_by_fd). Arrays are asked for by their address and
// length, and the length that would be needed is returned.
func (s *System) progInfo(i *info, p *Prog) {
	i.u32(bpfinfo.ProgType, uint32(p.typ))
	i.u32(bpfinfo.ProgId, p.id)
	i.bytes8(bpfinfo.ProgTag, p.tag)
	i.u32(bpfinfo.ProgJitedProgLen, uint32(8*len(p.insns)/8)) // jited_prog_len is the length of the instructions: nothing is compiled
	if room := i.given32(bpfinfo.ProgJitedProgLen); room != 0 {
		n := min(int(room), len(p.insns))
		if !i.c.Write(i.given64(bpfinfo.ProgJitedProgInsns), p.insns[:n]) {
			i.bad = uapi.EFAULT
		}
	}
	i.u64(bpfinfo.ProgJitedProgInsns, i.given64(bpfinfo.ProgJitedProgInsns))
	i.u32(bpfinfo.ProgXlatedProgLen, uint32(len(p.insns)))
	if n := i.given32(bpfinfo.ProgXlatedProgLen); n != 0 {
		if !i.c.Write(i.given64(bpfinfo.ProgXlatedProgInsns), p.insns[:min(int(n), len(p.insns))]) {
			i.bad = uapi.EFAULT
		}
	}
	i.u64(bpfinfo.ProgXlatedProgInsns, i.given64(bpfinfo.ProgXlatedProgInsns))
	i.u64(bpfinfo.ProgLoadTime, p.loaded)
	i.u32(bpfinfo.ProgCreatedByUid, s.cfg.UID)
	var ids []byte
	for _, m := range p.maps {
		ids = le.AppendUint32(ids, m.id)
	}
	i.array(bpfinfo.ProgMapIds, bpfinfo.ProgNrMapIds, ids, 4)
	i.text(bpfinfo.ProgName, p.name)
	if gplCompatible[p.license] {
		i.u32(bpfinfo.ProgGplCompatible, 1)
	}
	ksym := le.AppendUint64(nil, s.machine.Kernel().SymbolAddr("bpf_prog_"+p.unique))
	i.array(bpfinfo.ProgJitedKsyms, bpfinfo.ProgNrJitedKsyms, ksym, 8)
	i.array(bpfinfo.ProgJitedFuncLens, bpfinfo.ProgNrJitedFuncLens, le.AppendUint32(nil, uint32(len(p.insns))), 4)
	if p.types != nil {
		i.u32(bpfinfo.ProgBtfId, p.types.id)
	}
	if p.funcRec != 0 {
		i.u32(bpfinfo.ProgFuncInfoRecSize, p.funcRec)
		i.array(bpfinfo.ProgFuncInfo, bpfinfo.ProgNrFuncInfo, p.funcs, int(p.funcRec))
	}
	if p.lineRec != 0 {
		i.u32(bpfinfo.ProgLineInfoRecSize, p.lineRec)
		i.array(bpfinfo.ProgLineInfo, bpfinfo.ProgNrLineInfo, p.lines, int(p.lineRec))
		base := s.machine.Kernel().SymbolAddr("bpf_prog_" + p.unique)
		var addrs []uint64
		for at := 0; at+4 <= len(p.lines); at += int(p.lineRec) {
			addrs = append(addrs, base+8*uint64(le.Uint32(p.lines[at:])))
		}
		i.array(bpfinfo.ProgJitedLineInfo, bpfinfo.ProgNrJitedLineInfo, words(addrs), 8)
	}
	i.u32(bpfinfo.ProgJitedLineInfoRecSize, 8)
	i.array(bpfinfo.ProgProgTags, bpfinfo.ProgNrProgTags, p.tag[:], 8)
	i.u64(bpfinfo.ProgRunTimeNs, p.nanos)
	i.u64(bpfinfo.ProgRunCnt, p.runs)
	i.u32(bpfinfo.ProgVerifiedInsns, p.verified)
	if p.hook.id != 0 {
		switch {
		case p.ext != nil && p.ext.types != nil:
			i.u32(bpfinfo.ProgAttachBtfObjId, p.ext.types.id)
		case p.hook.obj != nil:
			i.u32(bpfinfo.ProgAttachBtfObjId, p.hook.obj.id)
		}
		i.u32(bpfinfo.ProgAttachBtfId, uint32(p.hook.id))
	}
}

var gplCompatible = map[string]bool{"GPL": true, "GPL v2": true, "GPL and additional rights": true, "Dual BSD/GPL": true, "Dual MIT/GPL": true, "Dual MPL/GPL": true}

// mapInfo describes a map as it was created (bpf_map_get_info_by_fd).
func (s *System) mapInfo(i *info, m *Map) {
	d := m.def
	i.u32(bpfinfo.MapType, uint32(d.Type))
	i.u32(bpfinfo.MapId, m.id)
	i.u32(bpfinfo.MapKeySize, d.KeySize)
	i.u32(bpfinfo.MapValueSize, d.ValueSize)
	i.u32(bpfinfo.MapMaxEntries, d.MaxEntries)
	i.u32(bpfinfo.MapMapFlags, d.Flags)
	i.text(bpfinfo.MapName, m.name)
	if m.types != nil {
		i.u32(bpfinfo.MapBtfId, m.types.id)
		i.u32(bpfinfo.MapBtfKeyTypeId, uint32(d.KeyType))
		i.u32(bpfinfo.MapBtfValueTypeId, uint32(d.ValueType))
	}
	if m.ops != nil {
		i.u32(bpfinfo.MapBtfVmlinuxValueTypeId, uint32(m.ops.value))
		if s.has(since.OpsMapBTF) {
			i.u32(bpfinfo.MapBtfVmlinuxId, m.ops.types.id)
		}
	}
	i.u64(bpfinfo.MapMapExtra, d.Extra)
}

// btfInfo returns types as they were loaded (btf_get_info_by_fd).
func (s *System) btfInfo(i *info, b *BTF) {
	if to, room := i.given64(bpfinfo.BtfBtf), i.given32(bpfinfo.BtfBtfSize); to != 0 && room != 0 {
		if !i.c.Write(to, b.raw[:min(int(room), len(b.raw))]) {
			i.bad = uapi.EFAULT
			return
		}
	}
	i.u64(bpfinfo.BtfBtf, i.given64(bpfinfo.BtfBtf))
	i.u32(bpfinfo.BtfBtfSize, uint32(len(b.raw)))
	i.u32(bpfinfo.BtfId, b.id)
	to, room := i.given64(bpfinfo.BtfName), i.given32(bpfinfo.BtfNameLen)
	i.u64(bpfinfo.BtfName, to)
	i.u32(bpfinfo.BtfNameLen, uint32(len(b.name)))
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
		i.u32(bpfinfo.BtfKernelBtf, 1)
	}
}

// linkInfo describes a link (bpf_link_get_info_by_fd, and fill_link_info of its type).
func (s *System) linkInfo(i *info, l *Link) {
	i.u32(bpfinfo.LinkType, uint32(l.typ))
	i.u32(bpfinfo.LinkId, l.id)
	if l.prog != nil {
		i.u32(bpfinfo.LinkProgId, l.prog.id)
	}
	switch l.typ {
	case uapi.LinkRawTracepoint:
		i.name(bpfinfo.LinkRawTracepointTpName, bpfinfo.LinkRawTracepointTpNameLen, l.name)
		if s.has(since.LinkCookies) {
			i.u64(bpfinfo.LinkRawTracepointCookie, l.cookie)
		}
	case uapi.LinkTracing:
		i.u32(bpfinfo.LinkTracingAttachType, uint32(l.attach))
		switch {
		case l.tgtProg != nil:
			i.u32(bpfinfo.LinkTracingTargetObjId, l.tgtProg.id)
		case l.obj != nil:
			i.u32(bpfinfo.LinkTracingTargetObjId, l.obj.id)
		}
		i.u32(bpfinfo.LinkTracingTargetBtfId, uint32(l.btfID))
		if s.has(since.LinkCookies) {
			i.u64(bpfinfo.LinkTracingCookie, l.cookie)
		}
	case uapi.LinkCgroup:
		// The cgroup may be gone.
		if !l.detached {
			i.u64(bpfinfo.LinkCgroupCgroupId, l.place.id)
		}
		i.u32(bpfinfo.LinkCgroupAttachType, uint32(l.attach))
	case uapi.LinkIter:
		i.name(bpfinfo.LinkIterTargetName, bpfinfo.LinkIterTargetNameLen, l.name)
		if l.iterMap != nil {
			i.u32(bpfinfo.LinkIterMapMapId, l.iterMap.id)
		}
	case uapi.LinkNetns:
		if !l.detached { // or the namespace is gone
			inode := uint32(l.netns)
			if inode == 0 {
				inode = s.cfg.NetnsInode
			}
			i.u32(bpfinfo.LinkNetnsNetnsIno, inode)
		}
		i.u32(bpfinfo.LinkNetnsAttachType, uint32(l.attach))
	case uapi.LinkXDP:
		i.u32(bpfinfo.LinkXDPIfindex, l.ifindex())
	case uapi.LinkTcx:
		i.u32(bpfinfo.LinkTcxIfindex, l.ifindex())
		i.u32(bpfinfo.LinkTcxAttachType, uint32(l.attach))
	case uapi.LinkNetkit:
		i.u32(bpfinfo.LinkNetkitIfindex, l.ifindex())
		i.u32(bpfinfo.LinkNetkitAttachType, uint32(l.attach))
	case uapi.LinkStructOps:
		if l.ops != nil {
			i.u32(bpfinfo.LinkStructOpsMapId, l.ops.id)
		}
	case uapi.LinkNetfilter:
		i.u32(bpfinfo.LinkNetfilterPf, l.pf[0])
		i.u32(bpfinfo.LinkNetfilterHooknum, l.pf[1])
		i.u32(bpfinfo.LinkNetfilterPriority, l.pf[2])
		i.u32(bpfinfo.LinkNetfilterFlags, l.pf[3])
	case uapi.LinkSockmap:
		i.u32(bpfinfo.LinkSockmapMapId, uint32(l.place.id))
		i.u32(bpfinfo.LinkSockmapAttachType, uint32(l.attach))
	case uapi.LinkKprobeMulti:
		s.kprobeMultiInfo(i, l.multi)
	case uapi.LinkUprobeMulti:
		s.uprobeMultiInfo(i, l.multi)
	case uapi.LinkPerfEvent:
		s.perfLinkInfo(i, l)
	}
}

// ifindex returns the link's device, 0 if it was detached from it.
func (l *Link) ifindex() uint32 {
	if l.detached {
		return 0
	}
	return l.place.device().Index
}

func words(list []uint64) []byte {
	var b []byte
	for _, v := range list {
		b = le.AppendUint64(b, v)
	}
	return b
}

// list copies words to the caller's array, which has room for that many; ENOSPC when it is too
// small.
func (i *info) list(ptr bpfinfo.U64, room uint32, data []uint64) {
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

// kprobeMultiInfo describes a link to many functions (bpf_kprobe_multi_link_fill_link_info).
func (s *System) kprobeMultiInfo(i *info, m *multi) {
	if !s.has(since.KprobeMultiInfo) {
		return
	}
	room := i.given32(bpfinfo.LinkKprobeMultiCount)
	if i.given64(bpfinfo.LinkKprobeMultiAddrs) == 0 != (room == 0) {
		i.bad = uapi.EINVAL
		return
	}
	i.u32(bpfinfo.LinkKprobeMultiCount, uint32(len(m.addrs)))
	i.u32(bpfinfo.LinkKprobeMultiFlags, m.flags)
	i.list(bpfinfo.LinkKprobeMultiAddrs, room, m.addrs)
	if s.has(since.MultiCookies) {
		cookies := m.cookies
		if cookies == nil {
			cookies = make([]uint64, len(m.addrs))
		}
		i.list(bpfinfo.LinkKprobeMultiCookies, room, cookies)
	}
}

// uprobeMultiInfo describes a link to many places of a file (bpf_uprobe_multi_link_fill_link_info).
func (s *System) uprobeMultiInfo(i *info, m *multi) {
	if !s.has(since.UprobeMultiInfo) {
		return
	}
	room := i.given32(bpfinfo.LinkUprobeMultiCount)
	i.u32(bpfinfo.LinkUprobeMultiCount, uint32(len(m.offsets)))
	i.u32(bpfinfo.LinkUprobeMultiFlags, m.flags)
	i.u32(bpfinfo.LinkUprobeMultiPid, m.pid)
	to, size := i.given64(bpfinfo.LinkUprobeMultiPath), i.given32(bpfinfo.LinkUprobeMultiPathSize)
	i.u64(bpfinfo.LinkUprobeMultiPath, to)
	if (to == 0) != (size == 0) {
		i.bad = uapi.EINVAL
		return
	}
	i.u32(bpfinfo.LinkUprobeMultiPathSize, uint32(len(m.path)+1))
	if to != 0 {
		if int(size) < len(m.path)+1 {
			i.bad = uapi.ENAMETOOLONG
		} else if !i.c.Write(to, append([]byte(m.path), 0)) {
			i.bad = uapi.EFAULT
		}
	}
	i.list(bpfinfo.LinkUprobeMultiOffsets, room, m.offsets)
	refs, cookies := m.refs, m.cookies
	if refs == nil {
		refs = make([]uint64, len(m.offsets))
	}
	if cookies == nil {
		cookies = make([]uint64, len(m.offsets))
	}
	i.list(bpfinfo.LinkUprobeMultiRefCtrOffsets, room, refs)
	i.list(bpfinfo.LinkUprobeMultiCookies, room, cookies)
}

// Kinds of perf links (enum bpf_perf_event_type).
const (
	infoUprobe, infoUretprobe, infoKprobe, infoKretprobe, infoTracepoint, infoEvent = 1, 2, 3, 4, 5, 6
)

// perfLinkInfo describes a link to an event by what it measures (bpf_perf_link_fill_link_info).
func (s *System) perfLinkInfo(i *info, l *Link) {
	if !s.has(since.PerfLinkInfo) {
		return
	}
	e, cookies := l.event, s.has(since.MultiCookies)
	kind := func(entry, ret uint32) {
		if i.u32(bpfinfo.LinkPerfEventType, entry); e.ret {
			i.u32(bpfinfo.LinkPerfEventType, ret)
		}
	}
	switch e.typ {
	case perfTracepoint:
		i.u32(bpfinfo.LinkPerfEventType, infoTracepoint)
		_, name, _ := cutLast(e.hook.AttachTo, '/')
		i.name(bpfinfo.LinkPerfEventTracepointTpName, bpfinfo.LinkPerfEventTracepointNameLen, name)
		if cookies {
			i.u64(bpfinfo.LinkPerfEventTracepointCookie, l.cookie)
		}
	case perfKprobe:
		kind(infoKprobe, infoKretprobe)
		i.name(bpfinfo.LinkPerfEventKprobeFuncName, bpfinfo.LinkPerfEventKprobeNameLen, e.hook.AttachTo)
		i.u32(bpfinfo.LinkPerfEventKprobeOffset, uint32(e.offset))
		i.u64(bpfinfo.LinkPerfEventKprobeAddr, s.machine.Kernel().SymbolAddr(e.hook.AttachTo)+e.offset)
		if cookies {
			i.u64(bpfinfo.LinkPerfEventKprobeCookie, l.cookie)
		}
	case perfUprobe:
		kind(infoUprobe, infoUretprobe)
		path, _, _ := cutLast(e.hook.AttachTo, ':')
		i.name(bpfinfo.LinkPerfEventUprobeFileName, bpfinfo.LinkPerfEventUprobeNameLen, path)
		i.u32(bpfinfo.LinkPerfEventUprobeOffset, uint32(e.offset))
		if cookies {
			i.u64(bpfinfo.LinkPerfEventUprobeCookie, l.cookie)
		}
	default:
		i.u32(bpfinfo.LinkPerfEventType, infoEvent)
		i.u64(bpfinfo.LinkPerfEventEventConfig, e.config)
		i.u32(bpfinfo.LinkPerfEventEventType, e.typ)
		if cookies {
			i.u64(bpfinfo.LinkPerfEventEventCookie, l.cookie)
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
