package bpfsys_test

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func linkSubjects() []subject {
	ways := map[uapi.LinkType]uapi.AttachType{
		uapi.LinkTracing: uapi.AttachTraceFentry, uapi.LinkCgroup: uapi.AttachCgroupSysctl, uapi.LinkIter: uapi.AttachTraceIter, uapi.LinkNetns: uapi.AttachSkLookup,
		uapi.LinkXDP: uapi.AttachXDP, uapi.LinkPerfEvent: uapi.AttachPerfEvent, uapi.LinkKprobeMulti: uapi.AttachTraceKprobeMulti, uapi.LinkStructOps: uapi.AttachStructOps,
		uapi.LinkNetfilter: uapi.AttachNetfilter, uapi.LinkTcx: uapi.AttachTcxIngress, uapi.LinkUprobeMulti: uapi.AttachTraceUprobeMulti, uapi.LinkNetkit: uapi.AttachNetkitPrimary,
		uapi.LinkTracingMulti: uapi.AttachTraceFentryMulti,
	}
	var out []subject
	for _, typ := range uapi.LinkTypes()[1:] {
		at, ok := ways[typ]
		try := func(k *caller) result { return k.attachTo(at) }
		word := at.String()
		switch typ {
		case uapi.LinkRawTracepoint:
			ok, try = true, func(k *caller) result {
				_, r := k.try(uapi.CmdRawTracepointOpen, field{0, k.text("sched_switch")}, field{8, k.must(k.load(uapi.ProgTypeRawTracepoint, exitZero))})
				return r
			}
		case uapi.LinkSockmap:
			ok, try = true, func(k *caller) result {
				fd, r := k.program(uapi.ProgTypeSkMsg, uapi.AttachSkMsgVerdict)
				m := k.must(k.createMap(uapi.MapTypeSockmap, 4, 4, 4, 0))
				_, r = k.try(uapi.CmdLinkCreate, field{0, k.must(fd, r.errno)}, field{4, m}, field{8, int(uapi.AttachSkMsgVerdict)}, field{12, 0})
				return r
			}
		}
		if !ok {
			try = nil
		}
		out = append(out, subject{typ.String(), func(k *caller) result {
			r := try(k)
			if r.errno == 0 {
				links := k.s.Objects(bpfsys.KindLink)
				info := k.room(64)
				fd, got := k.try(uapi.CmdLinkGetFdById, field{0, int(links[len(links)-1].ID())})
				_, got = k.try(uapi.CmdObjGetInfoByFd, field{0, k.must(fd, got.errno)}, field{4, 64}, field{8, info})
				if k.must(0, got.errno); uapi.LinkType(le.Uint32(k.at(info, 4))) != typ {
					panic("its info has another type")
				}
			}
			return r
		}, word})
		if try == nil {
			out[len(out)-1].try = nil
		}
	}
	return out
}

func programSubjects() []subject {
	var out []subject
	for _, row := range progtype.All() {
		at := row.Attach
		if len(row.Attaches) > 0 && row.Attached(at) == nil {
			at = row.Attaches[0].Type
		}
		if row.Type == uapi.ProgTypeExt || row.Type == uapi.ProgTypeSyscall {
			at = 0
		}
		out = append(out, subject{name: row.Type.String(), try: func(k *caller) result { _, r := k.program(row.Type, at); return r }})
	}
	return out
}

// ownerOf returns the program type of an attach type.
func ownerOf(at uapi.AttachType) uapi.ProgType {
	switch at {
	case uapi.AttachTcxIngress, uapi.AttachTcxEgress, uapi.AttachNetkitPrimary, uapi.AttachNetkitPeer:
		return uapi.ProgTypeSchedCls
	case uapi.AttachPerfEvent:
		return uapi.ProgTypePerfEvent
	case uapi.AttachSkSkbVerdict, uapi.AttachSkSkbStreamParser, uapi.AttachSkSkbStreamVerdict:
		return uapi.ProgTypeSkSkb
	case uapi.AttachCgroupInetIngress:
		return uapi.ProgTypeCgroupSkb
	}
	for _, row := range progtype.All() {
		if row.Attached(at) != nil {
			return row.Type
		}
	}
	for _, row := range progtype.All() {
		if row.Attach == at {
			return row.Type
		}
	}
	return 0
}

func attachSubjects() []subject {
	var out []subject
	for _, at := range uapi.AttachTypes() {
		out = append(out, subject{name: at.String(), try: func(k *caller) result { return k.attachTo(at) }})
	}
	return out
}

// attachTo attaches a program by the command that kernels have for an attach type.
func (k *caller) attachTo(at uapi.AttachType) result {
	if at == uapi.AttachStructOps {
		return k.registerOps()
	}
	typ := ownerOf(at)
	if typ == 0 {
		return result{uapi.EINVAL, []string{"no program type of " + at.String() + " in progtype"}}
	}
	fd, r := k.program(typ, at)
	if r.errno != 0 {
		return r
	}
	link := func(target int, more ...field) result {
		_, r := k.try(uapi.CmdLinkCreate, append([]field{{0, int(fd)}, {4, target}, {8, int(at)}, {12, 0}}, more...)...)
		return r
	}
	attach := func(target int) result {
		_, r := k.try(uapi.CmdProgAttach, field{0, target}, field{4, int(fd)}, field{8, int(at)}, field{12, 0})
		return r
	}
	name := k.put(le.AppendUint64(nil, k.text("vfs_read")))
	switch at {
	case uapi.AttachTraceRawTp, uapi.AttachTraceFentry, uapi.AttachTraceFexit, uapi.AttachTraceFsession, uapi.AttachModifyReturn, uapi.AttachLSMMac, uapi.AttachTraceIter:
		return link(0)
	case uapi.AttachTraceFentryMulti, uapi.AttachTraceFexitMulti, uapi.AttachTraceFsessionMulti:
		ids := k.put(le.AppendUint32(nil, uint32(k.typeID(btf.KindFunc, "vfs_read"))))
		return link(0, field{16, ids}, field{24, uint64(0)}, field{32, 1})
	case uapi.AttachXDP, uapi.AttachTcxIngress, uapi.AttachTcxEgress:
		return link(1)
	case uapi.AttachNetkitPrimary, uapi.AttachNetkitPeer:
		return link(k.newDevice(0, "netkit"))
	case uapi.AttachFlowDissector, uapi.AttachSkLookup:
		return link(netnsFD)
	case uapi.AttachNetfilter:
		return link(0, field{16, 2}, field{20, 0}, field{24, 1}, field{28, 0})
	case uapi.AttachPerfEvent:
		ev, r := k.event(uapi.PerfTypeSoftware, 0)
		return link(k.must(ev, r.errno))
	case uapi.AttachTraceKprobeMulti, uapi.AttachTraceKprobeSession:
		return link(0, field{16, 0}, field{20, 1}, field{24, name})
	case uapi.AttachTraceUprobeMulti, uapi.AttachTraceUprobeSession:
		return link(0, field{16, k.text("/bin/sh")}, field{24, k.put(make([]byte, 8))}, field{48, 1}, field{52, 0})
	case uapi.AttachSkSkbVerdict, uapi.AttachSkSkbStreamParser, uapi.AttachSkSkbStreamVerdict, uapi.AttachSkMsgVerdict:
		return attach(k.must(k.createMap(uapi.MapTypeSockmap, 4, 4, 4, 0)))
	case uapi.AttachSkReuseportSelect, uapi.AttachSkReuseportSelectOrMigrate, uapi.AttachXDPDevmap, uapi.AttachXDPCpumap:
		return r // loaded for it; attached by setsockopt(2) or through a map
	case uapi.AttachLircMode2:
		return attach(socketFD)
	}
	return link(cgroupFD)
}

// opsMap creates a struct_ops map that is registered by a link. size is that of its value in bytes.
func (k *caller) opsMap() (fd, size int) {
	id := k.typeID(btf.KindStruct, "bpf_struct_ops_tcp_congestion_ops")
	size = int(k.kernel.MustType(btf.ID(id)).Size)
	return k.must(k.createMap(uapi.MapTypeStructOps, 4, size, 1, uapi.MapLink, field{60, id})), size
}

// registerOps creates and registers a struct_ops map with a link.
func (k *caller) registerOps() result {
	fd, size := k.opsMap()
	_, r := k.try(uapi.CmdMapUpdateElem, field{0, fd}, field{8, k.room(4)}, field{16, k.room(size)}, field{24, uint64(0)})
	k.must(0, r.errno)
	_, r = k.try(uapi.CmdLinkCreate, field{0, fd}, field{4, 0}, field{8, int(uapi.AttachStructOps)}, field{12, 0})
	return r
}
