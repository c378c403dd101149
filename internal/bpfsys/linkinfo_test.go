package bpfsys_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfinfo"
)

// info returns what BPF_OBJ_GET_INFO_BY_FD says of an object, given the numbers that ask for more.
func (k *caller) info(t *testing.T, fd, size int, given ...field) []byte {
	t.Helper()
	raw := make([]byte, size)
	copy(raw, union(given...))
	at := k.put(raw)
	_, r := k.try(uapi.CmdObjGetInfoByFd, field{0, fd}, field{4, size}, field{8, at})
	require.Zero(t, r.errno, r.notes)
	return k.at(at, size)
}

// TestLinksOfPerfEventsNameTheirEvents: kind, name, offset and cookie of each kind of event.
func TestLinksOfPerfEventsNameTheirEvents(t *testing.T) {
	const cookie, isReturn = 0x1122334455, 1
	probe := func(typ uint32, config uint64, name string, offset uint64) func(k *caller) []byte {
		return func(k *caller) []byte {
			a := make([]byte, 136)
			le.PutUint32(a, typ)
			le.PutUint32(a[4:], 136)
			le.PutUint64(a[8:], config)
			le.PutUint64(a[56:], k.text(name))
			le.PutUint64(a[64:], offset)
			return a
		}
	}
	tracepoint := func(k *caller) []byte {
		id := uint64(0)
		b, _ := k.s.ReadFile("/sys/kernel/tracing/events/sched/sched_switch/id")
		_, err := fmt.Sscan(string(b), &id)
		require.NoError(t, err)
		return countAttrOf(uint32(uapi.PerfTypeTracepoint), id)
	}
	clock := func(*caller) []byte {
		return countAttrOf(uint32(uapi.PerfTypeSoftware), uint64(uapi.PerfSoftwareTaskClock))
	}
	for _, c := range []struct {
		name   string
		typ    uapi.ProgType
		event  func(k *caller) []byte
		kind   uint32
		text   string
		offset uint32
		cookie bpfinfo.U64
	}{
		{"kprobe", uapi.ProgTypeKprobe, probe(8, 0, "vfs_read", 0), 3, "vfs_read", 0, bpfinfo.LinkPerfEventKprobeCookie},
		{"kretprobe", uapi.ProgTypeKprobe, probe(8, isReturn, "vfs_read", 0), 4, "vfs_read", 0, bpfinfo.LinkPerfEventKprobeCookie},
		{"uprobe", uapi.ProgTypeKprobe, probe(9, 0, "/bin/sh", 0x120), 1, "/bin/sh", 0x120, bpfinfo.LinkPerfEventUprobeCookie},
		{"uretprobe", uapi.ProgTypeKprobe, probe(9, isReturn, "/bin/sh", 0x120), 2, "/bin/sh", 0x120, bpfinfo.LinkPerfEventUprobeCookie},
		{"tracepoint", uapi.ProgTypeTracepoint, tracepoint, 5, "sched_switch", 0, bpfinfo.LinkPerfEventTracepointCookie},
		{"event", uapi.ProgTypePerfEvent, clock, 6, "", 0, bpfinfo.LinkPerfEventEventCookie},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newCaller(t, newestKernel(t))
			ev, r := k.openEvent(c.event(k), -1)
			p := k.must(k.load(c.typ, exitZero))
			fd, r := k.try(uapi.CmdLinkCreate, field{0, p}, field{4, k.must(ev, r.errno)}, field{8, int(uapi.AttachPerfEvent)}, field{12, 0}, field{16, uint64(cookie)})
			link := k.must(fd, r.errno)
			text := k.room(64)
			var given []field
			if c.text != "" { // the three kinds of names are at the same place
				given = []field{{int(bpfinfo.LinkPerfEventKprobeFuncName), text}, {int(bpfinfo.LinkPerfEventKprobeNameLen), 64}}
			}
			b := k.info(t, link, 64, given...)
			assert.EqualValues(t, uapi.LinkPerfEvent, le.Uint32(b[bpfinfo.LinkType:]))
			assert.Equal(t, k.files[int32(link)].Object.ID(), le.Uint32(b[bpfinfo.LinkId:]))
			assert.Equal(t, k.files[int32(p)].Object.ID(), le.Uint32(b[bpfinfo.LinkProgId:]))
			assert.Equal(t, c.kind, le.Uint32(b[bpfinfo.LinkPerfEventType:]))
			assert.EqualValues(t, uint64(cookie), le.Uint64(b[c.cookie:]))
			if c.text == "" {
				assert.EqualValues(t, uapi.PerfSoftwareTaskClock, le.Uint64(b[bpfinfo.LinkPerfEventEventConfig:]))
				assert.EqualValues(t, uapi.PerfTypeSoftware, le.Uint32(b[bpfinfo.LinkPerfEventEventType:]))
				return
			}
			assert.Equal(t, c.text+"\x00", string(k.at(text, len(c.text)+1)))
			assert.EqualValues(t, len(c.text)+1, le.Uint32(b[bpfinfo.LinkPerfEventKprobeNameLen:]))
			if c.kind != 5 {
				assert.Equal(t, c.offset, le.Uint32(b[bpfinfo.LinkPerfEventKprobeOffset:]))
			}
		})
	}
}

func countAttrOf(typ uint32, config uint64) []byte {
	a := make([]byte, 136)
	le.PutUint32(a, typ)
	le.PutUint32(a[4:], 136)
	le.PutUint64(a[8:], config)
	le.PutUint64(a[16:], 1000)
	return a
}

// TestInfoNamesTheTypesOfTargets: the BTF and the type that programs were loaded for and that maps
// are made of.
func TestInfoNamesTheTypesOfTargets(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	vmlinux := k.s.Objects(bpfsys.KindBTF)[0].ID()
	read := k.typeID(btf.KindFunc, "vfs_read")
	p := k.must(k.load(uapi.ProgTypeTracing, exitZero, field{68, int(uapi.AttachTraceFentry)}, field{108, read}, field{112, 0}))
	b := k.info(t, p, 232)
	assert.Equal(t, vmlinux, le.Uint32(b[bpfinfo.ProgAttachBtfObjId:]))
	assert.EqualValues(t, read, le.Uint32(b[bpfinfo.ProgAttachBtfId:]))
	assert.EqualValues(t, 1, le.Uint32(b[bpfinfo.ProgGplCompatible:]))

	fd, r := k.try(uapi.CmdLinkCreate, field{0, p}, field{8, int(uapi.AttachTraceFentry)}, field{24, uint64(7)})
	b = k.info(t, k.must(fd, r.errno), 64)
	assert.EqualValues(t, uapi.AttachTraceFentry, le.Uint32(b[bpfinfo.LinkTracingAttachType:]))
	assert.Equal(t, vmlinux, le.Uint32(b[bpfinfo.LinkTracingTargetObjId:]))
	assert.EqualValues(t, read, le.Uint32(b[bpfinfo.LinkTracingTargetBtfId:]))
	assert.EqualValues(t, 7, le.Uint64(b[bpfinfo.LinkTracingCookie:]))

	ops, size := k.opsMap()
	b = k.info(t, ops, 88)
	assert.EqualValues(t, uapi.MapTypeStructOps, le.Uint32(b[bpfinfo.MapType:]))
	assert.EqualValues(t, size, le.Uint32(b[bpfinfo.MapValueSize:]))
	assert.EqualValues(t, uapi.MapLink, le.Uint32(b[bpfinfo.MapMapFlags:]))
	assert.EqualValues(t, k.typeID(btf.KindStruct, "bpf_struct_ops_tcp_congestion_ops"), le.Uint32(b[bpfinfo.MapBtfVmlinuxValueTypeId:]))
	assert.Equal(t, vmlinux, le.Uint32(b[bpfinfo.MapBtfVmlinuxId:]))
}

// TestTokensSayWhatTheyAllow: each mask is where tools read it.
func TestTokensSayWhatTheyAllow(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	k.userNS, k.caps = 7, ^uint64(0)
	grants := bpfsys.Delegation{Cmds: 1 << 0, Maps: 1 << 1, Progs: 1 << 2, Attaches: 1 << 3}
	root, e := k.s.NewBPFFS(7, grants)
	require.Zero(t, e)
	k.files[bpffsFD] = bpfsys.File{Kind: bpfsys.BPFFSFile, Path: root}
	fd, r := k.try(uapi.CmdTokenCreate, field{0, 0}, field{4, bpffsFD})
	b := k.info(t, k.must(fd, r.errno), 32)
	assert.Equal(t, grants, bpfsys.Delegation{
		Cmds: le.Uint64(b[bpfinfo.TokenAllowedCmds:]), Maps: le.Uint64(b[bpfinfo.TokenAllowedMaps:]),
		Progs: le.Uint64(b[bpfinfo.TokenAllowedProgs:]), Attaches: le.Uint64(b[bpfinfo.TokenAllowedAttachs:]),
	})
}

// TestProgramsOfADeviceAreOrdered: by descriptor or id, before and after, in place of another, and
// only if nothing has changed since the caller looked (bpf_mprog_attach).
func TestProgramsOfADeviceAreOrdered(t *testing.T) {
	const device, replace, before, after, byID, isLink = 1, 4, 8, 16, 32, 1 << 13
	ingress := int(uapi.AttachTcxIngress)
	k := newCaller(t, newestKernel(t))
	prog := func() int { return k.must(k.load(uapi.ProgTypeSchedCls, exitZero, field{68, ingress})) }
	id := func(fd int) uint32 { return k.files[int32(fd)].Object.ID() }
	revision := uint64(0)
	order := func() (ids, links []uint32) {
		t.Helper()
		progs, ofLinks := k.room(32), k.room(32)
		_, e, a := k.call(uint32(uapi.CmdProgQuery), field{0, device}, field{4, ingress}, field{8, 0}, field{16, progs}, field{24, 8}, field{40, ofLinks}, field{56, uint64(0)})
		require.Zero(t, e)
		for i := range uint64(le.Uint32(a[24:])) {
			ids = append(ids, le.Uint32(k.at(progs+4*i, 4)))
			links = append(links, le.Uint32(k.at(ofLinks+4*i, 4)))
		}
		revision = le.Uint64(a[56:])
		return ids, links
	}
	attach := func(p, flags int, more ...field) uapi.Errno {
		_, r := k.try(uapi.CmdProgAttach, append([]field{{0, device}, {4, p}, {8, ingress}, {12, flags}}, more...)...)
		return r.errno
	}
	p1, p2, p3, p4 := prog(), prog(), prog(), prog()
	require.Zero(t, attach(p1, 0))
	require.Zero(t, attach(p2, before, field{20, p1}))
	ids, _ := order()
	assert.Equal(t, []uint32{id(p2), id(p1)}, ids)

	assert.Equal(t, uapi.ESTALE, attach(p3, 0, field{24, revision + 1}))
	require.Zero(t, attach(p3, after|byID, field{20, int(id(p2))}, field{24, revision}))
	ids, _ = order()
	assert.Equal(t, []uint32{id(p2), id(p3), id(p1)}, ids)

	require.Zero(t, attach(p4, replace, field{16, p3}))
	assert.Equal(t, uapi.ENOENT, attach(p3, replace, field{16, p3}), "it is not attached")

	link := func(p, flags int, more ...field) (int, uapi.Errno) {
		fd, r := k.try(uapi.CmdLinkCreate, append([]field{{0, p}, {4, device}, {8, ingress}, {12, flags}}, more...)...)
		return int(fd), r.errno
	}
	order()
	_, e := link(prog(), 0, field{24, revision + 1})
	assert.Equal(t, uapi.ESTALE, e)
	first, e := link(prog(), before, field{16, p2}, field{24, revision})
	require.Zero(t, e)
	second, e := link(prog(), after|isLink, field{16, first})
	require.Zero(t, e)
	ids, links := order()
	assert.Equal(t, []uint32{id(p2), id(p4), id(p1)}, ids[2:])
	assert.Equal(t, []uint32{id(first), id(second), 0, 0, 0}, links)

	detach := func(more ...field) uapi.Errno {
		_, r := k.try(uapi.CmdProgDetach, append([]field{{0, device}, {8, ingress}}, more...)...)
		return r.errno
	}
	assert.Equal(t, uapi.ESTALE, detach(field{4, p4}, field{24, revision - 1}))
	require.Zero(t, detach(field{4, p4}, field{24, revision}))
	require.Zero(t, detach(field{12, after}), "the last one")
	ids, _ = order()
	assert.Equal(t, []uint32{id(p2)}, ids[2:])
}

// TestALinkOfStructOpsTakesAnotherMap: of the same type, and ready.
func TestALinkOfStructOpsTakesAnotherMap(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	ready := func() int {
		fd, size := k.opsMap()
		_, r := k.try(uapi.CmdMapUpdateElem, field{0, fd}, field{8, k.room(4)}, field{16, k.room(size)}, field{24, uint64(0)})
		require.Zero(t, r.errno)
		return fd
	}
	first, second := ready(), ready()
	link, r := k.try(uapi.CmdLinkCreate, field{0, first}, field{8, int(uapi.AttachStructOps)})
	require.Zero(t, r.errno)
	mapID := func() uint32 { return le.Uint32(k.info(t, int(link), 64)[bpfinfo.LinkStructOpsMapId:]) }
	assert.Equal(t, k.files[int32(first)].Object.ID(), mapID())
	_, r = k.try(uapi.CmdLinkUpdate, field{0, int(link)}, field{4, second})
	require.Zero(t, r.errno)
	assert.Equal(t, k.files[int32(second)].Object.ID(), mapID())
	other, _ := k.opsMap()
	_, r = k.try(uapi.CmdLinkUpdate, field{0, int(link)}, field{4, other})
	assert.Equal(t, uapi.EINVAL, r.errno, "a map without a value")
}

// TestADescriptorSaysWhatItIsAttachedTo: BPF_TASK_FD_QUERY names the tracepoint as far as the
// buffer has room.
func TestADescriptorSaysWhatItIsAttachedTo(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	p := k.must(k.load(uapi.ProgTypeRawTracepoint, exitZero))
	fd, r := k.try(uapi.CmdRawTracepointOpen, field{0, k.text("sched_switch")}, field{8, p})
	link := k.must(fd, r.errno)
	for _, c := range []struct {
		room int
		text string
		want uapi.Errno
	}{{32, "sched_switch\x00", 0}, {6, "sched\x00", uapi.ENOSPC}} {
		buf := k.room(32)
		_, e, a := k.call(uint32(uapi.CmdTaskFdQuery), field{0, 1}, field{4, link}, field{8, 0}, field{12, c.room}, field{16, buf}, field{40, uint64(0)})
		assert.Equal(t, c.want, e)
		assert.Equal(t, c.text, string(k.at(buf, len(c.text))))
		assert.EqualValues(t, len("sched_switch"), le.Uint32(a[12:]))
		assert.Equal(t, k.files[int32(p)].Object.ID(), le.Uint32(a[24:]))
	}
}

// TestManyUprobesSayWhereTheyAre: each of the link's numbers is where tools read it.
func TestManyUprobesSayWhereTheyAre(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	p := k.must(k.load(uapi.ProgTypeKprobe, exitZero, field{68, int(uapi.AttachTraceUprobeMulti)}))
	offsets := k.put(le.AppendUint64(le.AppendUint64(nil, 0x100), 0x200))
	cookies := k.put(le.AppendUint64(le.AppendUint64(nil, 5), 6))
	_, tid, _ := k.Thread()
	create := func(more ...field) (int64, result) {
		return k.try(uapi.CmdLinkCreate, append([]field{
			{0, p}, {8, int(uapi.AttachTraceUprobeMulti)}, {16, k.text("/bin/sh")}, {24, offsets}, {40, cookies}, {48, 2},
		}, more...)...)
	}
	_, r := create(field{60, 1})
	assert.Equal(t, uapi.EINVAL, r.errno, "path_fd without its flag")
	fd, r := create(field{56, int(tid)})
	link := k.must(fd, r.errno)
	path, at, values := k.room(16), k.room(16), k.room(16)
	b := k.info(t, link, 64, field{int(bpfinfo.LinkUprobeMultiPath), path}, field{int(bpfinfo.LinkUprobeMultiPathSize), 16},
		field{int(bpfinfo.LinkUprobeMultiOffsets), at}, field{int(bpfinfo.LinkUprobeMultiCookies), values}, field{int(bpfinfo.LinkUprobeMultiCount), 2})
	assert.EqualValues(t, 2, le.Uint32(b[bpfinfo.LinkUprobeMultiCount:]))
	assert.Equal(t, tid, le.Uint32(b[bpfinfo.LinkUprobeMultiPid:]))
	assert.Equal(t, "/bin/sh\x00", string(k.at(path, 8)))
	assert.Equal(t, []uint64{0x100, 0x200}, []uint64{le.Uint64(k.at(at, 8)), le.Uint64(k.at(at+8, 8))})
	assert.Equal(t, []uint64{5, 6}, []uint64{le.Uint64(k.at(values, 8)), le.Uint64(k.at(values+8, 8))})
}
