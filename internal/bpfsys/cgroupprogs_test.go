package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Flags of programs of cgroups (BPF_F_*).
const overridable, several, preorder = 1, 2, 64

// inCgroup is a hook of a cgroup with the programs a, b and c, of which a link attached b. The
// others are not attached. Each program returns the place of its name in the alphabet.
type inCgroup struct {
	*caller
	link  int
	fds   map[string]int
	names map[uint32]string
}

func loadedForCgroup(t *testing.T, version uint32) *inCgroup {
	spec := newestKernel(t)
	k := newTaskOn(t, loader.NewTarget("cgroups", spec, loader.WithVersion(version)))
	k.files[cgroupFD] = bpfsys.File{Kind: bpfsys.CgroupFile, Inode: cgroupFD}
	o := &inCgroup{caller: &caller{k, spec}, fds: map[string]int{"none": 900}, names: map[uint32]string{}}
	for i, name := range []string{"a", "b", "c", "d"} {
		o.fds[name] = o.must(o.load(uapi.ProgTypeCgroupSkb, returning(int32(i)), field{68, int(uapi.AttachCgroupInetEgress)}))
		o.names[o.idOf(o.fds[name])] = name
	}
	return o
}

func newInCgroup(t *testing.T, version uint32) *inCgroup {
	o := loadedForCgroup(t, version)
	require.Zero(t, o.attach("a", several, 0, 0))
	o.link = o.must(o.attachLink("b", 0, 0, 0))
	require.Zero(t, o.attach("c", several, 0, 0))
	require.Equal(t, "abc", o.list(t, 0))
	return o
}

// idOf returns the id that the information of a program's or a link's descriptor has.
func (o *inCgroup) idOf(fd int) uint32 {
	info := o.room(256)
	o.must(o.first(infoByFD, field{0, fd}, field{4, 256}, field{8, info}))
	return le.Uint32(o.at(info+4, 4))
}

func (o *inCgroup) first(cmd uint32, fields ...field) (int64, uapi.Errno) {
	v, e, _ := o.call(cmd, fields...)
	return v, e
}

func (o *inCgroup) attach(name string, flags, relative, revision int, more ...field) uapi.Errno {
	_, e := o.first(uint32(uapi.CmdProgAttach), append([]field{{0, cgroupFD}, {4, o.fds[name]}, {8, int(uapi.AttachCgroupInetEgress)}, {12, flags}, {16, 0}, {20, relative}, {24, uint64(revision)}}, more...)...)
	return e
}

func (o *inCgroup) attachLink(name string, flags, relative, revision int) (int64, uapi.Errno) {
	return o.first(linkCreate, field{0, o.fds[name]}, field{4, cgroupFD}, field{8, int(uapi.AttachCgroupInetEgress)}, field{12, flags}, field{16, relative}, field{24, uint64(revision)})
}

// list returns the names of the programs as a query with these flags has them.
func (o *inCgroup) list(t *testing.T, flags int) (text string) {
	t.Helper()
	ids := o.room(4 * 64)
	_, e, q := o.call(progQuery, field{0, cgroupFD}, field{4, int(uapi.AttachCgroupInetEgress)}, field{8, flags}, field{16, ids}, field{24, 64}, field{56, uint64(0)})
	require.Zero(t, e)
	for i := range le.Uint32(q[24:]) {
		text += o.names[le.Uint32(o.at(ids+uint64(4*i), 4))]
	}
	return text
}

// order returns the names of the programs in the order in which they run.
func (o *inCgroup) order(t *testing.T) (text string) {
	t.Helper()
	fired, err := o.s.Fire(bpfsys.Event{Hook: "cgroup_inet_egress"})
	require.NoError(t, err)
	for _, f := range fired {
		require.NoError(t, f.Err)
		text += string(rune('a' + f.Ret))
	}
	return text
}

// TestPlacesOfProgramsInCgroups: where a program, by itself or by a link, enters the list of a
// cgroup's hook, and which requests name no place (get_prog_list).
func TestPlacesOfProgramsInCgroups(t *testing.T) {
	prog := func(name string) func(*inCgroup) int { return func(o *inCgroup) int { return o.fds[name] } }
	link := func(o *inCgroup) int { return o.link }
	for _, r := range []struct {
		name         string
		flags        int
		relative     func(o *inCgroup) int
		revision     int
		want, linked string // the list, or the error
	}{
		{name: "at the end", want: "abcd", linked: "abcd"},
		{name: "the first", flags: before, want: "dabc", linked: "dabc"},
		{name: "the last", flags: after, want: "abcd", linked: "abcd"},
		{name: "both", flags: before | after, want: "EINVAL", linked: "EINVAL"},
		{name: "before the first", flags: before, relative: prog("a"), want: "dabc", linked: "EINVAL"},
		{name: "after the first", flags: after, relative: prog("a"), want: "adbc", linked: "EINVAL"},
		{name: "before the last", flags: before, relative: prog("c"), want: "abdc", linked: "EINVAL"},
		{name: "before a program's id", flags: before | byID, relative: func(o *inCgroup) int { return int(o.idOf(o.fds["c"])) }, want: "abdc", linked: "EINVAL"},
		{name: "before a link's program", flags: before, relative: prog("b"), want: "ENOENT", linked: "EINVAL"},
		{name: "before a link", flags: before | byLink, relative: link, want: "EINVAL", linked: "adbc"},
		{name: "after a link", flags: after | byLink, relative: link, want: "EINVAL", linked: "abdc"},
		{name: "after a link's id", flags: after | byLink | byID, relative: func(o *inCgroup) int { return int(o.idOf(o.link)) }, want: "EINVAL", linked: "abdc"},
		{name: "on both sides of one", flags: before | after, relative: prog("a"), want: "EINVAL", linked: "EINVAL"},
		{name: "on no side of one", relative: prog("a"), want: "EINVAL", linked: "EINVAL"},
		{name: "on no side of no descriptor", relative: prog("none"), want: "EINVAL", linked: "EINVAL"},
		{name: "before one that is not there", flags: before, relative: prog("d"), want: "ENOENT", linked: "EINVAL"},
		{name: "before no descriptor", flags: before, relative: prog("none"), want: "EBADF", linked: "EINVAL"},
		{name: "before no link", flags: before | byLink, want: "EINVAL", linked: "EINVAL"},
		{name: "before no link's descriptor", flags: before | byLink, relative: prog("none"), want: "EINVAL", linked: "EBADF"},
		{name: "before the id 0", flags: before | byID, want: "ENOENT", linked: "EINVAL"},
		{name: "before no link's id", flags: before | byLink | byID, relative: prog("none"), want: "EINVAL", linked: "ENOENT"},
		{name: "before one of the other kind", flags: before | preorder, relative: prog("a"), want: "EINVAL", linked: "EINVAL"},
		{name: "before a link of the other kind", flags: before | byLink | preorder, relative: link, want: "EINVAL", linked: "EINVAL"},
		{name: "the list's revision", revision: 4, want: "abcd", linked: "abcd"},
		{name: "an older list", revision: 3, want: "ESTALE", linked: "ESTALE"},
		{name: "an older list, before no descriptor", flags: before, relative: prog("none"), revision: 3, want: "ESTALE", linked: "ESTALE"},
		{name: "unknown flags", flags: 1 << 20, want: "EINVAL", linked: "EINVAL"},
	} {
		t.Run(r.name, func(t *testing.T) {
			for want, linked := range map[string]bool{r.want: false, "link " + r.linked: true} {
				o := newInCgroup(t, 7<<16|2<<8)
				relative := 0
				if r.relative != nil {
					relative = r.relative(o)
				}
				var got string
				var e uapi.Errno
				if linked {
					_, e = o.attachLink("d", r.flags, relative, r.revision)
					got = "link "
				} else {
					e = o.attach("d", several|r.flags, relative, r.revision)
				}
				if e != 0 {
					assert.Equal(t, want, got+e.Name())
					assert.Equal(t, "abc", o.list(t, 0))
					continue
				}
				assert.Equal(t, want, got+o.list(t, 0))
				assert.Equal(t, o.list(t, 0), o.order(t), "they run in that order")
			}
		})
	}
}

// TestReplacedProgramsInCgroups: a program takes the place of one that no link attached, and the
// list changes once (find_attach_entry).
func TestReplacedProgramsInCgroups(t *testing.T) {
	for _, r := range []struct {
		name, with, old string
		flags           int
		want            uapi.Errno
		list            string
	}{
		{"the first", "d", "a", several, 0, "dbc"}, {"the last", "d", "c", several, 0, "abd"}, {"itself", "a", "a", several, 0, "abc"},
		{"a link's", "d", "b", several, uapi.ENOENT, "abc"}, {"one that is not there", "d", "d", several, uapi.ENOENT, "abc"}, {"no descriptor", "d", "none", several, uapi.EBADF, "abc"},
		{"by one that is there", "a", "c", several, uapi.EINVAL, "abc"}, {"and before it", "d", "a", several | before, uapi.EINVAL, "abc"}, {"and after it", "d", "a", several | after, uapi.EINVAL, "abc"},
		{"alone", "d", "a", 0, uapi.EINVAL, "abc"}, {"where descendants may override", "d", "a", overridable, uapi.EINVAL, "abc"},
	} {
		t.Run(r.name, func(t *testing.T) {
			o := newInCgroup(t, 7<<16|2<<8)
			assert.Equal(t, r.want, o.attach(r.with, replaces|r.flags, 0, 0, field{16, o.fds[r.old]}))
			assert.Equal(t, r.list, o.list(t, 0))
			assert.Equal(t, r.list, o.order(t))
			if r.want == 0 {
				_, e := o.attachLink("d", 0, 0, 4)
				assert.Equal(t, uapi.ESTALE, e)
				_, e = o.attachLink("d", 0, 0, 5)
				assert.Zero(t, e, "the list changed once")
			}
		})
	}
	o := newInCgroup(t, 7<<16|2<<8)
	other := o.must(o.load(uapi.ProgTypeSocketFilter, returning(0)))
	assert.Equal(t, uapi.EINVAL, o.attach("d", several|replaces, 0, 0, field{16, other}), "a program of another type")
}

// TestProgramsAloneInACgroup: the first program decides whether others may be there.
func TestProgramsAloneInACgroup(t *testing.T) {
	for _, mode := range []int{0, overridable} {
		o := loadedForCgroup(t, 7<<16|2<<8)
		assert.Equal(t, uapi.EINVAL, o.attach("a", overridable|several, 0, 0))
		require.Zero(t, o.attach("a", mode, 0, 0))
		assert.Equal(t, uapi.EPERM, o.attach("b", mode^overridable, 0, 0))
		assert.Equal(t, uapi.EPERM, o.attach("b", several, 0, 0))
		_, e := o.attachLink("b", 0, 0, 0)
		assert.Equal(t, uapi.EPERM, e)
		require.Zero(t, o.attach("b", mode, 0, 2))
		assert.Equal(t, "b", o.list(t, 0), "it took the place of the one before")
		assert.Equal(t, uapi.ESTALE, o.attach("c", mode, 0, 2))
		assert.Zero(t, o.attach("c", mode, 0, 3), "the list changed once")
	}
}

// TestProgramsThatRunBeforeOthersInACgroup: in their order (compute_effective_progs).
func TestProgramsThatRunBeforeOthersInACgroup(t *testing.T) {
	o := loadedForCgroup(t, 7<<16|2<<8)
	require.Zero(t, o.attach("a", several, 0, 0))
	require.Zero(t, o.attach("b", several|preorder, 0, 0))
	o.must(o.attachLink("c", 0, 0, 0))
	o.must(o.attachLink("d", preorder, 0, 0))
	assert.Equal(t, "abcd", o.list(t, 0))
	assert.Equal(t, "bdac", o.list(t, 1), "effective")
	assert.Equal(t, "bdac", o.order(t))
}

// TestReleasesOfOrderInCgroups: BPF_F_PREORDER is of Linux 6.15, places are of 6.17.
func TestReleasesOfOrderInCgroups(t *testing.T) {
	for version, want := range map[uint32]struct{ preorder, place, linkPreorder uapi.Errno }{
		6<<16 | 14<<8: {uapi.EINVAL, uapi.EINVAL, uapi.EINVAL},
		6<<16 | 15<<8: {0, uapi.EINVAL, uapi.EINVAL},
		6<<16 | 16<<8: {0, uapi.EINVAL, uapi.EINVAL},
		6<<16 | 17<<8: {0, 0, 0},
	} {
		o := loadedForCgroup(t, version)
		require.Zero(t, o.attach("a", several, 0, 0))
		assert.Equal(t, want.preorder, o.attach("b", several|preorder, 0, 0))
		assert.Equal(t, want.place, o.attach("c", several|before, 0, 0))
		assert.Equal(t, want.place, o.attach("d", several|after, o.fds["a"], 0))
		_, e := o.attachLink("d", preorder, 0, 0)
		assert.Equal(t, want.linkPreorder, e)
	}
}

// TestMostProgramsInACgroup: 64 (BPF_CGROUP_MAX_PROGS).
func TestMostProgramsInACgroup(t *testing.T) {
	o := newInCgroup(t, 7<<16|2<<8)
	for range 61 {
		o.must(o.attachLink("d", 0, 0, 0))
	}
	_, e := o.attachLink("d", 0, 0, 0)
	assert.Equal(t, uapi.E2BIG, e)
	assert.Equal(t, uapi.E2BIG, o.attach("d", several, 0, 0))
	assert.Equal(t, uapi.E2BIG, o.attach("d", several|replaces, 0, 0, field{16, o.fds["a"]}), "even in the place of another")
}
