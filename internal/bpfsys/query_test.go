package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// revision returns that of a device's hook.
func (o *ordered) revision(t *testing.T, at uapi.AttachType) uint64 {
	t.Helper()
	_, e, q := o.call(progQuery, field{0, o.index}, field{4, int(at)}, field{8, 0}, field{24, 0}, field{56, uint64(0)})
	require.Zero(t, e)
	return le.Uint64(q[56:])
}

// TestRevisionsStartAgain: the list of a tcx hook goes with its last program, and its revision with
// it, but not while a qdisc on the device keeps it (tcx_prog_detach, tcx_link_release,
// tcx_entry_is_active; ingress_destroy, clsact_destroy).
func TestRevisionsStartAgain(t *testing.T) {
	for _, tt := range []struct {
		qdisc  string
		linked bool
		want   uint64
	}{{"", false, 1}, {"", true, 1}, {"clsact", false, 9}, {"ingress", true, 9}} {
		o := newOrdered(t)
		on := bpfsys.Device{Index: uint32(o.index)}
		if tt.qdisc != "" {
			require.Zero(t, o.s.NewTCQdisc(on, tt.qdisc, true))
		}
		require.Zero(t, o.attach("d", 0, 0, 0))
		assert.EqualValues(t, 5, o.revision(t, uapi.AttachTcxIngress))
		gone := []string{"d", "c", "a", ""}
		if !tt.linked {
			gone = []string{"", "d", "c", "a"}
		}
		for _, name := range gone {
			if name == "" {
				o.close(int64(o.link))
				continue
			}
			_, e, _ := o.call(uint32(uapi.CmdProgDetach), field{0, o.index}, field{4, o.fds[name]}, field{8, int(uapi.AttachTcxIngress)})
			require.Zero(t, e, name)
		}
		assert.Equal(t, tt.want, o.revision(t, uapi.AttachTcxIngress), "%+v", tt)
		if tt.qdisc != "" {
			require.Zero(t, o.s.DelTCQdisc(on, tt.qdisc))
			assert.EqualValues(t, 1, o.revision(t, uapi.AttachTcxIngress), "%+v, without it", tt)
		}
	}
}

// TestQueriesThatHooksRefuse: flags that a kind of hook does not know.
func TestQueriesThatHooksRefuse(t *testing.T) {
	const effective = 1
	query := func(k *task, target int, at uapi.AttachType, flags, attachFlags int, progFlags uint64) uapi.Errno {
		_, e, _ := k.call(progQuery, field{0, target}, field{4, int(at)}, field{8, flags}, field{12, attachFlags}, field{16, k.room(4)}, field{24, 1}, field{32, progFlags}, field{56, uint64(0)})
		return e
	}
	o := newOrdered(t)
	assert.Equal(t, uapi.ENOSPC, query(o.task, o.index, uapi.AttachTcxIngress, 0, 0, 0))
	assert.Equal(t, uapi.EINVAL, query(o.task, o.index, uapi.AttachTcxIngress, effective, 0, 0))
	assert.Equal(t, uapi.EINVAL, query(o.task, o.index, uapi.AttachTcxIngress, 0, 1, 0))
	assert.Equal(t, uapi.EINVAL, query(o.task, netnsFD, uapi.AttachSkLookup, effective, 0, 0))
	assert.Zero(t, query(o.task, netnsFD, uapi.AttachSkLookup, 0, 0, 0))
	assert.Equal(t, uapi.EINVAL, query(o.task, socketFD, uapi.AttachSkLookup, 0, 0, 0))
	for version, want := range map[uint32]uapi.Errno{6 << 16: 0, 6<<16 | 19: uapi.EINVAL, 6<<16 | 1<<8: uapi.EINVAL} {
		c := loadedForCgroup(t, version)
		require.Zero(t, c.attach("a", several, 0, 0))
		assert.Zero(t, query(c.task, cgroupFD, uapi.AttachCgroupInetEgress, 0, 0, c.room(4)))
		assert.Zero(t, query(c.task, cgroupFD, uapi.AttachCgroupInetEgress, effective, 0, 0))
		assert.Equal(t, want, query(c.task, cgroupFD, uapi.AttachCgroupInetEgress, effective, 0, c.room(4)), "%#x", version)
		assert.Equal(t, uapi.EINVAL, query(c.task, cgroupFD, uapi.AttachCgroupInetEgress, 2, 0, 0))
		assert.Zero(t, query(c.task, cgroupFD, uapi.AttachLSMCgroup, 0, 0, c.room(4)))
		assert.Equal(t, uapi.EINVAL, query(c.task, cgroupFD, uapi.AttachLSMCgroup, 0, 0, 0))
	}
}

// TestEffectiveQueriesHaveNoRevision: nor flags (__cgroup_bpf_query).
func TestEffectiveQueriesHaveNoRevision(t *testing.T) {
	o := newInCgroup(t, 7<<16|2<<8)
	for flags, want := range map[int][2]uint64{0: {several, 4}, 1: {0, 0}} {
		_, e, q := o.call(progQuery, field{0, cgroupFD}, field{4, int(uapi.AttachCgroupInetEgress)}, field{8, flags}, field{24, 0}, field{56, uint64(7)})
		require.Zero(t, e)
		assert.Equal(t, want, [2]uint64{uint64(le.Uint32(q[12:])), le.Uint64(q[56:])}, "query flags %d", flags)
	}
}

// TestProgramsOfNetworkNamespaces: a dissector is attached alone, by a link or without, either to
// the initial namespace or to others; of programs that look up sockets there may be 64
// (kernel/bpf/net_namespace.c).
func TestProgramsOfNetworkNamespaces(t *testing.T) {
	const otherFD = 600
	fresh := func(t *testing.T) (k *caller, link func(fd, prog int, at uapi.AttachType) (int64, uapi.Errno), direct func(cmd uapi.Cmd, prog int, more ...field) uapi.Errno) {
		k = newCaller(t, newestKernel(t))
		k.files[netnsFD] = bpfsys.File{Kind: bpfsys.NetnsFile} // the caller's
		k.files[otherFD] = bpfsys.File{Kind: bpfsys.NetnsFile, Inode: 1}
		link = func(fd, prog int, at uapi.AttachType) (int64, uapi.Errno) {
			v, e, _ := k.call(linkCreate, field{0, prog}, field{4, fd}, field{8, int(at)}, field{12, 0})
			return v, e
		}
		direct = func(cmd uapi.Cmd, prog int, more ...field) uapi.Errno {
			_, e, _ := k.call(uint32(cmd), append([]field{{0, 0}, {4, prog}, {8, int(uapi.AttachFlowDissector)}}, more...)...)
			return e
		}
		return k, link, direct
	}
	t.Run("dissectors", func(t *testing.T) {
		k, link, direct := fresh(t)
		load := func() int {
			return k.must(k.load(uapi.ProgTypeFlowDissector, exitZero, field{68, int(uapi.AttachFlowDissector)}))
		}
		a, b := load(), load()
		l := k.must(link(netnsFD, a, uapi.AttachFlowDissector))
		_, e := link(netnsFD, b, uapi.AttachFlowDissector)
		assert.Equal(t, uapi.E2BIG, e, "a second link")
		_, e = link(otherFD, b, uapi.AttachFlowDissector)
		assert.Equal(t, uapi.EEXIST, e, "another namespace")
		assert.Equal(t, uapi.EEXIST, direct(uapi.CmdProgAttach, b), "beside a link")
		assert.Equal(t, uapi.EINVAL, direct(uapi.CmdProgDetach, a), "a link's program")
		k.close(int64(l))
		assert.Equal(t, uapi.EINVAL, direct(uapi.CmdProgAttach, a, field{0, netnsFD}), "with a namespace")
		require.Zero(t, direct(uapi.CmdProgAttach, a))
		assert.Equal(t, uapi.EINVAL, direct(uapi.CmdProgAttach, a), "again")
		assert.Zero(t, direct(uapi.CmdProgAttach, b), "in its place")
		_, e = link(netnsFD, a, uapi.AttachFlowDissector)
		assert.Equal(t, uapi.EEXIST, e, "a link beside a program")
		assert.Equal(t, uapi.ENOENT, direct(uapi.CmdProgDetach, a), "replaced")
		assert.Equal(t, uapi.EINVAL, direct(uapi.CmdProgDetach, b, field{0, netnsFD}))
		assert.Zero(t, direct(uapi.CmdProgDetach, b))
		l = k.must(link(otherFD, a, uapi.AttachFlowDissector))
		assert.Equal(t, uapi.EEXIST, direct(uapi.CmdProgAttach, b), "another namespace has one")
		inode := func() uint32 { return le.Uint32(k.info(t, l, 64)[16:]) }
		assert.EqualValues(t, 1, inode())
		_, e, _ = k.call(uint32(uapi.CmdLinkDetach), field{0, l})
		require.Zero(t, e)
		assert.Zero(t, inode(), "detached")
	})
	t.Run("lookups", func(t *testing.T) {
		k, link, _ := fresh(t)
		prog := k.must(k.load(uapi.ProgTypeSkLookup, returning(1), field{68, int(uapi.AttachSkLookup)}))
		for range 64 {
			k.must(link(netnsFD, prog, uapi.AttachSkLookup))
			k.used = 0
		}
		_, e := link(netnsFD, prog, uapi.AttachSkLookup)
		assert.Equal(t, uapi.E2BIG, e)
		ids := k.room(4 * 64)
		_, e, q := k.call(progQuery, field{0, netnsFD}, field{4, int(uapi.AttachSkLookup)}, field{8, 0}, field{16, ids}, field{24, 64})
		require.Zero(t, e)
		assert.EqualValues(t, 64, le.Uint32(q[24:]))
		assert.Equal(t, k.at(ids, 4), k.at(ids+4*63, 4))
		assert.NotZero(t, le.Uint32(k.at(ids, 4)))
		_, e, _ = k.call(uint32(uapi.CmdProgAttach), field{0, 0}, field{4, prog}, field{8, int(uapi.AttachSkLookup)})
		assert.Equal(t, uapi.EEXIST, e)
	})
}
