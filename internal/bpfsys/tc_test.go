package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// ipv4 and all are protocols of filters, in network byte order (ETH_P_IP, ETH_P_ALL).
const ipv4, all = 0x0008, 0x0300

// device is a new one of the first network namespace.
func device(k *caller) bpfsys.Device { return bpfsys.Device{Index: uint32(k.newDevice(0, "dummy"))} }

// TestHooksOfQdiscs: clsact has two hooks, ingress is one under any name, and other parents are of
// no qdisc or no class (__tcf_qdisc_find, __tcf_qdisc_cl_find).
func TestHooksOfQdiscs(t *testing.T) {
	const major = bpfsys.TCClsactMajor
	for _, tt := range []struct {
		kind   string
		parent uint32
		want   uapi.Errno
	}{
		{"", bpfsys.TCIngress, uapi.EINVAL}, {"", major, uapi.EINVAL},
		{"clsact", bpfsys.TCIngress, 0}, {"clsact", bpfsys.TCEgress, 0}, {"clsact", major, uapi.EINVAL}, {"clsact", major | 1, uapi.ENOENT}, {"clsact", major | 0xfff1, uapi.ENOENT},
		{"clsact", major | 0xfff4, uapi.ENOENT}, {"clsact", 0x10000, uapi.EINVAL}, {"clsact", 0, uapi.EINVAL}, {"clsact", 0xfffefff2, uapi.EINVAL},
		{"ingress", bpfsys.TCIngress, 0}, {"ingress", major | 1, 0}, {"ingress", bpfsys.TCEgress, 0}, {"ingress", major, 0}, {"ingress", 0x10001, uapi.EINVAL},
	} {
		k := newCaller(t, newestKernel(t))
		on := device(k)
		if tt.kind != "" {
			require.Zero(t, k.s.NewTCQdisc(on, tt.kind, true))
		}
		assert.Equal(t, tt.want, k.s.NewTCFilter(on, &bpfsys.TCFilter{Parent: tt.parent, Protocol: all}, true, true), "%q %#x", tt.kind, tt.parent)
		elsewhere := bpfsys.Device{Netns: on.Netns, Index: on.Index + 77}
		assert.Equal(t, uapi.ENODEV, k.s.NewTCFilter(elsewhere, &bpfsys.TCFilter{Parent: tt.parent, Protocol: all}, true, true))
	}
}

// TestQdiscsOfDevices: a device has one of them (tc_modify_qdisc, tc_get_qdisc).
func TestQdiscsOfDevices(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	on := device(k)
	nowhere := bpfsys.Device{Netns: on.Netns, Index: on.Index + 77}
	for _, step := range []struct {
		name string
		do   func() uapi.Errno
		want uapi.Errno
		kind string
	}{
		{"no device", func() uapi.Errno { return k.s.NewTCQdisc(nowhere, "clsact", false) }, uapi.ENODEV, ""},
		{"none to remove", func() uapi.Errno { return k.s.DelTCQdisc(on, "") }, uapi.ENOENT, ""},
		{"the first", func() uapi.Errno { return k.s.NewTCQdisc(on, "clsact", true) }, 0, "clsact"},
		{"again", func() uapi.Errno { return k.s.NewTCQdisc(on, "clsact", true) }, uapi.EEXIST, "clsact"},
		{"again, if it may be there", func() uapi.Errno { return k.s.NewTCQdisc(on, "clsact", false) }, 0, "clsact"},
		{"another kind", func() uapi.Errno { return k.s.NewTCQdisc(on, "ingress", false) }, uapi.EINVAL, "clsact"},
		{"removal of another kind", func() uapi.Errno { return k.s.DelTCQdisc(on, "ingress") }, uapi.EINVAL, "clsact"},
		{"removal from no device", func() uapi.Errno { return k.s.DelTCQdisc(nowhere, "clsact") }, uapi.ENODEV, "clsact"},
		{"removal", func() uapi.Errno { return k.s.DelTCQdisc(on, "clsact") }, 0, ""},
		{"the other kind", func() uapi.Errno { return k.s.NewTCQdisc(on, "ingress", true) }, 0, "ingress"},
		{"removal of any kind", func() uapi.Errno { return k.s.DelTCQdisc(on, "") }, 0, ""},
	} {
		assert.Equal(t, step.want, step.do(), step.name)
		assert.Equal(t, step.kind, k.s.TCQdisc(on), step.name)
	}
}

// TestFiltersOfAHook: adding, replacing, finding and removing filters, one step after the other
// (tc_new_tfilter, tc_get_tfilter, tc_del_tfilter, cls_bpf_change).
func TestFiltersOfAHook(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	on := device(k)
	require.Zero(t, k.s.NewTCQdisc(on, "clsact", true))
	program := func(typ uapi.ProgType) *bpfsys.Prog {
		fd, e := k.load(typ, returning(0))
		require.Zero(t, e)
		return k.files[int32(fd)].Object.(*bpfsys.Prog)
	}
	prog, filter := program(uapi.ProgTypeSchedCls), program(uapi.ProgTypeSocketFilter)
	const create, exclusive = 1, 2
	type at struct {
		parent             uint32
		priority, protocol uint16
		handle             uint32
	}
	in := func(priority, protocol uint16, handle uint32) at {
		return at{bpfsys.TCIngress, priority, protocol, handle}
	}
	add := func(a at, p *bpfsys.Prog, flags int) (at, uapi.Errno) {
		f := &bpfsys.TCFilter{Parent: a.parent, Priority: a.priority, Protocol: a.protocol, Handle: a.handle, Prog: p}
		e := k.s.NewTCFilter(on, f, flags&create != 0, flags&exclusive != 0)
		return at{f.Parent, f.Priority, f.Protocol, f.Handle}, e
	}
	for _, step := range []struct {
		name  string
		at    at
		prog  *bpfsys.Prog
		flags int
		want  uapi.Errno
		is    at
	}{
		{"a priority of its own needs to be created", in(0, all, 0), prog, 0, uapi.ENOENT, at{}},
		{"nothing is there to change", in(1, all, 1), prog, 0, uapi.ENOENT, at{}},
		{"no protocol", in(1, 0, 1), prog, create, uapi.EINVAL, at{}},
		{"a program of another type", in(1, all, 1), filter, create, uapi.EINVAL, at{}},
		{"the first", in(1, all, 0), prog, create | exclusive, 0, in(1, all, 1)},
		{"another of its priority", in(1, all, 0), prog, create | exclusive, 0, in(1, all, 2)},
		{"a handle that is taken", in(1, all, 1), prog, create | exclusive, uapi.EEXIST, at{}},
		{"it is replaced", in(1, all, 1), prog, create, 0, in(1, all, 1)},
		{"changed", in(1, all, 1), prog, 0, 0, in(1, all, 1)},
		{"changed, of the protocol it has", in(1, 0, 1), prog, 0, 0, in(1, all, 1)},
		{"one that is not there is not changed", in(1, all, 9), prog, 0, uapi.ENOENT, at{}},
		{"another protocol of the priority", in(1, ipv4, 9), prog, create, uapi.EINVAL, at{}},
		{"another priority", in(7, ipv4, 5), prog, create, 0, in(7, ipv4, 5)},
		{"any priority", in(0, all, 0), prog, create, 0, in(0xc000, all, 1)},
		{"the one before", in(0, all, 0), prog, create, 0, in(0xbfff, all, 1)},
		{"a high one", in(0x8000, all, 0), prog, create, 0, in(0x8000, all, 1)},
		{"the one before that", in(0, all, 0), prog, create, 0, in(0x7fff, all, 1)},
		{"the other hook", at{bpfsys.TCEgress, 1, ipv4, 0}, prog, create, 0, at{bpfsys.TCEgress, 1, ipv4, 1}},
	} {
		is, e := add(step.at, step.prog, step.flags)
		assert.Equal(t, step.want, e, step.name)
		if e == 0 {
			assert.Equal(t, step.is, is, step.name)
		}
	}
	list := func(parent uint32) (all []at) {
		for _, f := range k.s.TCFilters(on, parent) {
			all = append(all, at{f.Parent, f.Priority, f.Protocol, f.Handle})
		}
		return all
	}
	order := []at{in(1, all, 2), in(1, all, 1), in(7, ipv4, 5), in(0x7fff, all, 1), in(0x8000, all, 1), in(0xbfff, all, 1), in(0xc000, all, 1)}
	assert.Equal(t, order, list(bpfsys.TCIngress), "by priority, and what was replaced last comes last")
	assert.Len(t, list(bpfsys.TCEgress), 1)

	for _, tt := range []struct {
		name string
		at   at
		want uapi.Errno
	}{
		{"no priority", in(0, all, 1), uapi.ENOENT}, {"one of two", in(1, all, 1), 0}, {"the other", in(1, 0, 2), 0}, {"no such handle", in(1, all, 3), uapi.ENOENT},
		{"no such priority", in(2, all, 1), uapi.ENOENT}, {"another protocol", in(1, ipv4, 1), uapi.EINVAL}, {"no such hook", at{bpfsys.TCClsactMajor | 1, 1, all, 1}, uapi.ENOENT},
	} {
		f, e := k.s.TCFilterAt(on, tt.at.parent, tt.at.priority, tt.at.protocol, tt.at.handle)
		assert.Equal(t, tt.want, e, tt.name)
		if e == 0 {
			assert.Equal(t, tt.at.handle, f.Handle, tt.name)
		}
	}

	for _, step := range []struct {
		name string
		at   at
		kind string
		want uapi.Errno
		left int
	}{
		{"a handle without a priority", in(0, 0, 1), "", uapi.ENOENT, 7}, {"a protocol without a priority", in(0, all, 0), "", uapi.ENOENT, 7}, {"a kind without a priority", in(0, 0, 0), "bpf", uapi.ENOENT, 7},
		{"no such priority", in(2, all, 1), "", uapi.ENOENT, 7}, {"another protocol", in(1, ipv4, 1), "", uapi.EINVAL, 7}, {"another kind", in(1, all, 1), "u32", uapi.EINVAL, 7},
		{"no such handle", in(1, all, 3), "bpf", uapi.ENOENT, 7}, {"one", in(1, all, 1), "bpf", 0, 6}, {"of any protocol", in(7, 0, 5), "", 0, 5},
		{"all of a priority", in(1, all, 0), "", 0, 4}, {"all", in(0, 0, 0), "", 0, 0}, {"none are left", in(0, 0, 0), "", 0, 0},
	} {
		assert.Equal(t, step.want, k.s.DelTCFilter(on, step.at.parent, step.at.priority, step.at.protocol, step.at.handle, step.kind), step.name)
		assert.Len(t, list(bpfsys.TCIngress), step.left, step.name)
	}
	assert.Len(t, list(bpfsys.TCEgress), 1, "the other hook's stays")
	_, e := k.s.TCFilterAt(on, bpfsys.TCIngress, 1, all, 1)
	assert.Equal(t, uapi.EINVAL, e, "the hook has no chain")
}
