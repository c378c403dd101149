//go:build linux && (amd64 || arm64)

package bpfsys_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfinfo"
)

// TestRoomForPartsOfInformation: what Linux 6.18.44 answers when room for instructions, or for a
// name of types, has no address, or no length, or too little.
func TestRoomForPartsOfInformation(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	prog := k.must(k.load(uapi.ProgTypeSocketFilter, exitZero))
	buf := k.room(64)
	for _, c := range []struct {
		len   bpfinfo.U32
		insns bpfinfo.U64
	}{{bpfinfo.ProgJitedProgLen, bpfinfo.ProgJitedProgInsns}, {bpfinfo.ProgXlatedProgLen, bpfinfo.ProgXlatedProgInsns}} {
		for _, x := range []struct {
			len  int
			to   uint64
			want uapi.Errno
		}{{8, 0, uapi.EFAULT}, {0, 8, 0}, {0, 0, 0}, {8, buf, 0}, {8, 1, uapi.EFAULT}} {
			info := k.put(union(field{int(c.len), x.len}, field{int(c.insns), x.to}, field{160, 0}))
			_, e, _ := k.call(infoByFD, field{0, prog}, field{4, 160}, field{8, info})
			assert.Equal(t, x.want, e, "%+v of %+v", x, c)
		}
	}
	types := k.must(k.types())
	for _, x := range []struct {
		to   uint64
		len  int
		want uapi.Errno
	}{{0, 0, 0}, {buf, 0, uapi.EINVAL}, {0, 8, uapi.EINVAL}, {buf, 1, 0}, {buf, 8, 0}, {1, 8, uapi.EFAULT}} {
		info := k.put(union(field{int(bpfinfo.BtfName), x.to}, field{int(bpfinfo.BtfNameLen), x.len}, field{28, 0}))
		_, e, _ := k.call(infoByFD, field{0, types}, field{4, 32}, field{8, info})
		assert.Equal(t, x.want, e, "%+v", x)
	}
}

// types loads types.
func (k *caller) types() (int64, uapi.Errno) {
	raw := smallTypes(k)
	v, e, _ := k.call(btfLoad, field{0, k.put(raw)}, field{8, uint64(0)}, field{16, len(raw)}, field{20, 0}, field{24, 0})
	return v, e
}

// TestNamesOfObjects: which characters a name may have (bpf_obj_name_cpy), and that it ends.
func TestNamesOfObjects(t *testing.T) {
	k := newTask(t)
	for c := range 256 {
		ok := c == 0 || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		for _, name := range []string{string([]byte{byte(c)}), "a" + string([]byte{byte(c)}), "a_fifteen_bytes"[:14] + string([]byte{byte(c)})} {
			fd, e := k.createMap(uapi.MapTypeArray, 4, 4, 1, 0, field{28, name})
			assert.Equal(t, ok, e == 0, "%q", name)
			if k.close(fd); e != 0 {
				assert.Equal(t, uapi.EINVAL, e, "%q", name)
			}
		}
	}
	_, e := k.createMap(uapi.MapTypeArray, 4, 4, 1, 0, field{28, "sixteen_bytes_no"})
	assert.Equal(t, uapi.EINVAL, e)
}

// TestUpdatesOfLinks: the program that a link has is replaced only if the caller knows which it is,
// or does not say (link_update).
func TestUpdatesOfLinks(t *testing.T) {
	const replace = 1 << 2
	o := newInCgroup(t, 6<<16|18<<8)
	a, b, c := o.fds["a"], o.fds["b"], o.fds["c"]
	for _, x := range []struct {
		link, prog, flags, old int
		want                   uapi.Errno
	}{
		{o.link, c, 0, 0, 0}, {o.link, b, replace, c, 0}, {o.link, c, replace, a, uapi.EPERM}, {o.link, c, replace, 900, uapi.EBADF}, {o.link, c, 0, b, uapi.EINVAL},
		{o.link, c, replace << 1, 0, uapi.EINVAL}, {o.link, 900, 0, 0, uapi.EBADF}, {900, c, 0, 0, uapi.EBADF}, {c, c, 0, 0, uapi.EINVAL}, {o.link, o.link, 0, 0, uapi.EINVAL},
	} {
		_, e := o.first(uint32(uapi.CmdLinkUpdate), field{0, x.link}, field{4, x.prog}, field{8, x.flags}, field{12, x.old})
		assert.Equal(t, x.want, e, "%+v", x)
	}
}

// TestHowManyProgramsAQueryLists: as many as the caller has room for, and that there are more.
func TestHowManyProgramsAQueryLists(t *testing.T) {
	o := newOrdered(t)
	for room, want := range map[int]uapi.Errno{0: 0, 1: uapi.ENOSPC, 2: uapi.ENOSPC, 3: 0, 4: 0} {
		ids := o.room(64)
		_, e, q := o.call(progQuery, field{0, o.index}, field{4, int(uapi.AttachTcxIngress)}, field{8, 0}, field{16, ids}, field{24, room}, field{56, uint64(0)})
		assert.Equal(t, want, e, room)
		assert.EqualValues(t, 3, le.Uint32(q[24:]))
		for i := range 4 {
			assert.Equal(t, i < min(room, 3), le.Uint32(o.at(ids+uint64(4*i), 4)) != 0, "program %d of %d", i, room)
		}
	}
}

// TestStatisticsAreOnWhileSomeoneAsks: bpf_stats_enabled is 1 as long as a descriptor of
// BPF_ENABLE_STATS is open.
func TestStatisticsAreOnWhileSomeoneAsks(t *testing.T) {
	k := newTask(t)
	enabled := func() string {
		b, _ := k.s.ReadFile("/proc/sys/kernel/bpf_stats_enabled")
		return string(b)
	}
	assert.Equal(t, "0\n", enabled())
	fd, e, _ := k.call(uint32(uapi.CmdEnableStats), field{0, 0})
	require.Zero(t, e)
	assert.Equal(t, "1\n", enabled())
	k.close(fd)
	assert.Equal(t, "0\n", enabled())
}

// tracepoint opens an event of a tracepoint of the scheduler.
func (k *caller) tracepoint(t *testing.T) (int64, *bpfsys.PerfEvent) {
	t.Helper()
	id, _ := k.s.ReadFile("/sys/kernel/tracing/events/sched/sched_switch/id")
	var config uint64
	_, err := fmt.Sscan(string(id), &config)
	require.NoError(t, err)
	return k.counter(t, countAttr(uapi.PerfTypeTracepoint, config, 0), -1, 0)
}

// TestAnEventSaysWhichProgramItHas: by its descriptor, whether the program is attached by a link or
// without one (bpf_get_perf_event_info).
func TestAnEventSaysWhichProgramItHas(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	prog := k.must(k.load(uapi.ProgTypeTracepoint, exitZero))
	query := func(fd int) (uapi.Errno, uint32) {
		_, e, a := k.call(uint32(uapi.CmdTaskFdQuery), field{0, 1}, field{4, fd}, field{8, 0}, field{12, 0}, field{16, uint64(0)}, field{40, uint64(0)})
		return e, le.Uint32(a[24:])
	}
	for _, linked := range []bool{false, true} {
		fd, ev := k.tracepoint(t)
		e, _ := query(int(fd))
		assert.Equal(t, uapi.ENOENT, e, "no program")
		of := int(fd)
		if linked {
			of = k.must(k.first(linkCreate, field{0, prog}, field{4, int(fd)}, field{8, int(uapi.AttachPerfEvent)}, field{12, 0}))
		} else {
			require.Zero(t, k.s.PerfIoctl(k, ev, '$'<<8|uint32(uapi.PerfIoctlSetBPF), uint64(prog)).Errno)
		}
		for _, fd := range []int{int(fd), of} {
			e, id := query(fd)
			assert.Zero(t, e, "linked %v", linked)
			assert.Equal(t, k.files[int32(prog)].Object.ID(), id, "linked %v", linked)
		}
	}
	for fd, want := range map[int]uapi.Errno{prog: uapi.ENOTSUPP, cgroupFD: uapi.ENOTSUPP, 900: uapi.EBADF} {
		e, _ := query(fd)
		assert.Equal(t, want, e, fd)
	}
}

func (k *caller) first(cmd uint32, fields ...field) (int64, uapi.Errno) {
	v, e, _ := k.call(cmd, fields...)
	return v, e
}

// TestProgramsOfATracepointAreListed: the list has at most 64 (BPF_TRACE_MAX_PROGS in
// perf_event_query_prog_array), as many as there is room for, and the count of all.
func TestProgramsOfATracepointAreListed(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	ioctl := func(n uapi.PerfIoctl) uint32 { return '$'<<8 | uint32(n) }
	_, ev := k.tracepoint(t)
	prog := k.must(k.load(uapi.ProgTypeTracepoint, exitZero))
	require.Zero(t, k.s.PerfIoctl(k, ev, ioctl(uapi.PerfIoctlSetBPF), uint64(prog)).Errno)
	for room, want := range map[uint32]uapi.Errno{0: 0, 1: 0, 64: 0, 65: uapi.E2BIG, 1 << 31: uapi.E2BIG} {
		at := k.put(le.AppendUint32(make([]byte, 0, 300), room))
		k.used += 300
		assert.Equal(t, want, k.s.PerfIoctl(k, ev, ioctl(uapi.PerfIoctlQueryBPF), at).Errno, room)
		if want == 0 {
			assert.EqualValues(t, 1, le.Uint32(k.at(at+4, 4)))
			assert.Equal(t, room > 0, le.Uint32(k.at(at+8, 4)) != 0)
		}
	}
	assert.Equal(t, uapi.EFAULT, k.s.PerfIoctl(k, ev, ioctl(uapi.PerfIoctlQueryBPF), 1).Errno)
	_, other := k.counter(t, countAttr(uapi.PerfTypeSoftware, 0, 0), -1, 0)
	assert.Equal(t, uapi.EINVAL, k.s.PerfIoctl(k, other, ioctl(uapi.PerfIoctlQueryBPF), 1).Errno)
}

// TestWhereTestRunsRead: a context or a packet that cannot be read, and a CPU that no flag asks for.
func TestWhereTestRunsRead(t *testing.T) {
	const onCPU = 1
	k := newCaller(t, newestKernel(t))
	raw := k.must(k.load(uapi.ProgTypeRawTracepoint, exitZero))
	sock := k.must(k.load(uapi.ProgTypeSocketFilter, exitZero))
	ctx, packet := k.room(16), k.room(64)
	for _, c := range []struct {
		name   string
		fields []field
		want   uapi.Errno
	}{
		{"context", []field{{0, raw}, {40, 16}, {48, ctx}}, 0},
		{"context nowhere", []field{{0, raw}, {40, 16}, {48, uint64(1)}}, uapi.EFAULT},
		{"on a CPU", []field{{0, raw}, {40, 16}, {48, ctx}, {64, onCPU}, {68, 1}}, 0},
		{"on a CPU without the flag", []field{{0, raw}, {40, 16}, {48, ctx}, {64, 0}, {68, 1}}, uapi.EINVAL},
		{"on a CPU that is not there", []field{{0, raw}, {40, 16}, {48, ctx}, {64, onCPU}, {68, 4096}}, uapi.ENXIO},
		{"packet", []field{{0, sock}, {8, 64}, {16, packet}, {68, 0}}, 0},
		{"packet nowhere", []field{{0, sock}, {8, 64}, {16, uint64(1)}, {68, 0}}, uapi.EFAULT},
		{"packet too short, nowhere", []field{{0, sock}, {8, 13}, {16, uint64(1)}, {68, 0}}, uapi.EINVAL},
		{"packet of a minimal length", []field{{0, sock}, {8, 14}, {16, packet}, {68, 0}}, 0},
		{"packet on a CPU", []field{{0, sock}, {8, 64}, {16, packet}, {64, onCPU}, {68, 0}}, uapi.EINVAL},
	} {
		_, e, _ := k.call(testRun, c.fields...)
		assert.Equal(t, c.want, e, c.name)
	}
}

// TestHooksByName: which names in events mean a point where a program runs.
func TestHooksByName(t *testing.T) {
	for _, c := range []struct {
		p      bpfsys.Point
		is, no []string
	}{
		{bpfsys.Point{Section: "xdp", Type: uapi.ProgTypeXDP}, []string{"xdp"}, []string{"", "tc", "xdp/eth0"}},
		{bpfsys.Point{Section: "tracepoint/sched/sched_switch", AttachTo: "sched/sched_switch"}, []string{"sched/sched_switch", "sched_switch", "tracepoint/sched/sched_switch"}, []string{"", "tracepoint", "sched"}},
		{bpfsys.Point{Section: "kprobe/vfs_read", AttachTo: "vfs_read"}, []string{"vfs_read", "kprobe/vfs_read"}, []string{"", "kprobe", "kretprobe/vfs_read", "vfs_write"}},
		{bpfsys.Point{Section: "uprobe", AttachTo: "bin/sh:12"}, []string{"uprobe", "uprobe/bin/sh", "bin/sh:12"}, []string{"", "uprobe/bin/bash", "bin/sh"}},
		{bpfsys.Point{Section: "cgroup_skb/egress", Placed: true, Attach: uapi.AttachCgroupInetEgress}, []string{"cgroup_inet_egress"}, []string{"", "cgroup_inet_ingress", "cgroup_skb"}},
		{bpfsys.Point{Section: "perf_event", AttachTo: "cycles"}, []string{"perf_event", "cycles"}, []string{""}},
		{bpfsys.Point{Section: "raw_tp/sched_switch", AttachTo: "sched_switch"}, []string{"sched_switch", "sched/sched_switch"}, []string{"", "irq/sched_switch"}},
	} {
		for _, hook := range c.is {
			assert.True(t, c.p.At(hook), "%q: %+v", hook, c.p)
		}
		for _, hook := range c.no {
			assert.False(t, c.p.At(hook), "%q: %+v", hook, c.p)
		}
	}
}

// TestMessagesAreShownOnce: the same one is not shown again.
func TestMessagesAreShownOnce(t *testing.T) {
	const disabled, enableOnExec = 1, 1 << 12
	k := newCaller(t, newestKernel(t))
	a := countAttr(uapi.PerfTypeSoftware, 0, 0)
	le.PutUint64(a[40:], disabled|enableOnExec)
	for range 3 {
		k.counter(t, a, -1, 0)
	}
	require.Len(t, k.notes, 1)
	assert.Contains(t, k.notes[0], "enable_on_exec")
}

// TestArgumentsOfPlaces: which names a function's or a tracepoint's arguments have, of the kernel or
// of a module.
func TestArgumentsOfPlaces(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	for _, c := range []struct {
		hook, argument string
		kind           bpfsys.PlaceKind
		want           bool
	}{
		{"vfs_read", "file", bpfsys.FunctionPlace, true}, {"vfs_read", "nosuch", bpfsys.FunctionPlace, false}, {"no_such_function", "file", bpfsys.FunctionPlace, false},
		{"sched_switch", "next_pid", bpfsys.TracepointPlace, true}, {"sched_switch", "nosuch", bpfsys.TracepointPlace, false},
		{"no_such_tracepoint", "prev", bpfsys.TracepointPlace, false},
	} {
		assert.Equal(t, c.want, k.s.Takes(bpfsys.Place{Hook: c.hook, Kind: c.kind}, c.argument), "%+v", c)
	}
}

// TestEventsOfDefinedProbes: an event that tracefs lists for a probe is that probe, for which there
// are other programs than for a tracepoint (perf_event_set_bpf_prog).
func TestEventsOfDefinedProbes(t *testing.T) {
	for _, tt := range []struct {
		line, event string
		user        bool
		typ         uapi.ProgType
	}{
		{"p:g/e vfs_read", "g/e", false, uapi.ProgTypeKprobe}, {"r:g/r vfs_read", "g/r", false, uapi.ProgTypeKprobe},
		{"p:g/u /bin/sh:0x10", "g/u", true, uapi.ProgTypeKprobe}, {"", "sched/sched_switch", false, uapi.ProgTypeTracepoint},
	} {
		k := newCaller(t, newestKernel(t))
		k.s.TraceProbes(tt.line+"\n", tt.user)
		text, _ := k.s.ReadFile("/sys/kernel/tracing/events/" + tt.event + "/id")
		var id uint64
		_, err := fmt.Sscan(string(text), &id)
		require.NoError(t, err, tt.event)
		for _, typ := range []uapi.ProgType{uapi.ProgTypeKprobe, uapi.ProgTypeTracepoint} {
			_, ev := k.counter(t, countAttr(uapi.PerfTypeTracepoint, id, 0), -1, 0)
			prog := k.must(k.load(typ, exitZero))
			e := k.s.PerfIoctl(k, ev, '$'<<8|uint32(uapi.PerfIoctlSetBPF), uint64(prog)).Errno
			assert.Equal(t, typ == tt.typ, e == 0, "%v at %s: %s", typ, tt.event, e.Name())
		}
	}
}

// TestMostPerfEvents: there are as many as there may be objects of a kind.
func TestMostPerfEvents(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	attr := k.put(countAttr(uapi.PerfTypeSoftware, uint64(uapi.PerfSoftwareBpfOutput), 0))
	for range 1 << 16 {
		require.Zero(t, k.s.PerfEventOpen(k, attr, -1, 0, -1, 0).Errno)
	}
	assert.Equal(t, uapi.EMFILE, k.s.PerfEventOpen(k, attr, -1, 0, -1, 0).Errno)
}
