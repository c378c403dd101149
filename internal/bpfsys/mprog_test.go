package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// ordered is a device's hook with the programs a, b and c, of which a link attached b.
type ordered struct {
	*caller
	index, link int
	fds         map[string]int // of programs
	names       map[uint32]string
}

func newOrdered(t *testing.T) *ordered {
	k := newCaller(t, newestKernel(t))
	o := &ordered{caller: k, index: k.newDevice(0, "dummy"), fds: map[string]int{}, names: map[uint32]string{}}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		fd := k.tc(t, uapi.AttachTcxIngress, -1)
		o.fds[name] = int(fd)
		o.names[o.id(t, int(fd), 4)] = name
	}
	require.Zero(t, o.attach("a", 0, 0, 0))
	link, e := k.linkDevice(int64(o.fds["b"]), o.index, uapi.AttachTcxIngress)
	require.Zero(t, e)
	o.link = int(link)
	require.Zero(t, o.attach("c", 0, 0, 0))
	require.Equal(t, "abc", o.list(t))
	return o
}

// id returns the id of what a descriptor is of, which is at an offset of its information.
func (o *ordered) id(t *testing.T, fd, at int) uint32 {
	t.Helper()
	info := o.room(256)
	_, e, _ := o.call(infoByFD, field{0, fd}, field{4, 256}, field{8, info})
	require.Zero(t, e)
	return le.Uint32(o.at(info+uint64(at), 4))
}

func (o *ordered) attach(name string, flags, relative, revision int, more ...field) uapi.Errno {
	_, e, _ := o.call(uint32(uapi.CmdProgAttach), append([]field{{0, o.index}, {4, o.fds[name]}, {8, int(uapi.AttachTcxIngress)}, {12, flags}, {16, 0}, {20, relative}, {24, uint64(revision)}}, more...)...)
	return e
}

// list returns the names of the programs in their order.
func (o *ordered) list(t *testing.T) (text string) {
	t.Helper()
	ids := o.room(4 * 64)
	_, e, q := o.call(progQuery, field{0, o.index}, field{4, int(uapi.AttachTcxIngress)}, field{8, 0}, field{16, ids}, field{24, 64}, field{56, uint64(0)})
	require.Zero(t, e)
	for i := range le.Uint32(q[24:]) {
		text += o.names[le.Uint32(o.at(ids+uint64(4*i), 4))]
	}
	return text
}

// Flags of requests (BPF_F_*).
const replaces, before, after, byID, byLink = 4, 8, 16, 32, 1 << 13

// TestPlacesOfProgramsOnDevices: where a program enters the list of a device's hook, and which
// requests name no place, or two (bpf_mprog_attach).
func TestPlacesOfProgramsOnDevices(t *testing.T) {
	type request struct {
		name     string
		flags    int
		relative func(o *ordered) int
		revision int
		want     uapi.Errno
		list     string
	}
	fd := func(name string) func(*ordered) int { return func(o *ordered) int { return o.fds[name] } }
	for _, r := range []request{
		{name: "at the end", list: "abcd"},
		{name: "the first", flags: before, list: "dabc"},
		{name: "the last", flags: after, list: "abcd"},
		{name: "both", flags: before | after, want: uapi.ERANGE},
		{name: "before the first", flags: before, relative: fd("a"), list: "dabc"},
		{name: "after the first", flags: after, relative: fd("a"), list: "adbc"},
		{name: "before the last", flags: before, relative: fd("c"), list: "abdc"},
		{name: "after the last", flags: after, relative: fd("c"), list: "abcd"},
		{name: "before and after one", flags: before | after, relative: fd("b"), want: uapi.ERANGE},
		{name: "before a link's program", flags: before, relative: fd("b"), list: "adbc"},
		{name: "after a link", flags: after | byLink, relative: func(o *ordered) int { return o.link }, list: "abdc"},
		{name: "after a link's id", flags: after | byLink | byID, relative: func(o *ordered) int { return int(o.id(t, o.link, 4)) }, list: "abdc"},
		{name: "before a program's id", flags: before | byID, relative: func(o *ordered) int { return int(o.id(t, o.fds["c"], 4)) }, list: "abdc"},
		{name: "next to one, on no side", relative: fd("a"), want: uapi.EINVAL},
		{name: "before one that is not there", flags: before, relative: fd("e"), want: uapi.ENOENT},
		{name: "before no descriptor", flags: before, relative: func(*ordered) int { return 900 }, want: uapi.EBADF},
		{name: "next to no descriptor, on no side", relative: func(*ordered) int { return 900 }, want: uapi.EBADF},
		{name: "before a program as a link", flags: before | byLink, relative: fd("a"), want: uapi.EINVAL},
		{name: "before a link as a program", flags: before, relative: func(o *ordered) int { return o.link }, want: uapi.EINVAL},
		{name: "before no link", flags: before | byLink, want: uapi.EINVAL},
		{name: "before the id 0", flags: before | byID, want: uapi.ENOENT},
		{name: "the id 0, on no side", flags: byID, want: uapi.ENOENT},
		{name: "before no link's id", flags: before | byID | byLink, relative: func(*ordered) int { return 900 }, want: uapi.ENOENT},
		{name: "before a program of another type", flags: before, relative: func(o *ordered) int {
			other, e := o.load(uapi.ProgTypeSocketFilter, returning(0))
			require.Zero(t, e)
			return int(other)
		}, want: uapi.EINVAL},
		{name: "before a link without a program", flags: before | byLink, relative: func(o *ordered) int {
			fd, size := o.opsMap()
			require.Zero(t, o.elem(uapi.CmdMapUpdateElem, int64(fd), o.room(4), o.room(size), 0))
			link, r := o.try(uapi.CmdLinkCreate, field{0, fd}, field{4, 0}, field{8, int(uapi.AttachStructOps)}, field{12, 0})
			return o.must(link, r.errno)
		}, want: uapi.EINVAL},
		{name: "the list's revision", revision: 4, list: "abcd"},
		{name: "an older list", revision: 3, want: uapi.ESTALE},
		{name: "an older list, before no descriptor", flags: before, relative: func(*ordered) int { return 900 }, revision: 3, want: uapi.ESTALE},
	} {
		t.Run(r.name, func(t *testing.T) {
			for _, link := range []bool{false, true} {
				o := newOrdered(t)
				relative := 0
				if r.relative != nil {
					relative = r.relative(o)
				}
				var e uapi.Errno
				if link {
					_, e = o.linkDevice(int64(o.fds["d"]), o.index, uapi.AttachTcxIngress, field{12, r.flags}, field{16, relative}, field{24, uint64(r.revision)})
				} else {
					e = o.attach("d", r.flags, relative, r.revision)
				}
				assert.Equal(t, r.want, e, "with a link: %v", link)
				want := r.list
				if want == "" {
					want = "abc"
				}
				assert.Equal(t, want, o.list(t), "with a link: %v", link)
			}
		})
	}
}

// TestReplacedProgramsOnDevices: a program takes the place of one that no link attached, if what
// else is asked for names the same place.
func TestReplacedProgramsOnDevices(t *testing.T) {
	for _, tt := range []struct {
		name, with, old string
		flags           int
		relative        string
		want            uapi.Errno
		list            string
	}{
		{"the first", "d", "a", 0, "", 0, "dbc"}, {"the last", "d", "c", 0, "", 0, "abd"}, {"a link's", "d", "b", 0, "", uapi.EBUSY, "abc"}, {"one that is not there", "d", "e", 0, "", uapi.ENOENT, "abc"},
		{"by one that is there", "a", "c", 0, "", uapi.EEXIST, "abc"}, {"none", "d", "", 0, "", uapi.EBADF, "abc"},
		{"the one before another", "d", "a", before, "b", 0, "dbc"}, {"the one after another", "d", "c", after, "b", 0, "abd"}, {"not the one before", "d", "c", before, "b", uapi.ERANGE, "abc"},
		{"not the first", "d", "c", before, "", uapi.ERANGE, "abc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOrdered(t)
			old, relative := 900, 0
			if tt.old != "" {
				old = o.fds[tt.old]
			}
			if tt.relative != "" {
				relative = o.fds[tt.relative]
			}
			assert.Equal(t, tt.want, o.attach(tt.with, replaces|tt.flags, relative, 0, field{16, old}))
			assert.Equal(t, tt.list, o.list(t))
			if tt.want == 0 {
				assert.Equal(t, uapi.ESTALE, o.attach("e", 0, 0, 4))
				assert.Zero(t, o.attach("e", 0, 0, 5), "the list changed once")
			}
		})
	}
	o := newOrdered(t)
	_, e := o.linkDevice(int64(o.fds["d"]), o.index, uapi.AttachTcxIngress, field{12, replaces})
	assert.Equal(t, uapi.ENOENT, e, "a link replaces nothing")
	assert.Equal(t, uapi.EINVAL, o.attach("d", 1<<20, 0, 0))
}

// TestDetachedProgramsOnDevices: a program, the one at a place, or the last one leaves the list, but
// not a link's (bpf_mprog_detach).
func TestDetachedProgramsOnDevices(t *testing.T) {
	detach := func(o *ordered, prog, flags, relative, revision int) uapi.Errno {
		_, e, _ := o.call(uint32(uapi.CmdProgDetach), field{0, o.index}, field{4, prog}, field{8, int(uapi.AttachTcxIngress)}, field{12, flags}, field{16, 0}, field{20, relative}, field{24, uint64(revision)})
		return e
	}
	for _, tt := range []struct {
		name, prog string
		flags      int
		relative   string
		revision   int
		want       uapi.Errno
		list       string
	}{
		{"a program", "a", 0, "", 0, 0, "bc"}, {"a link's", "b", 0, "", 0, uapi.EBUSY, "abc"}, {"one that is not there", "d", 0, "", 0, uapi.ENOENT, "abc"},
		{"the last", "", 0, "", 0, 0, "ab"}, {"the first", "", before, "", 0, 0, "bc"}, {"the last, in words", "", after, "", 0, 0, "ab"}, {"both ends", "", before | after, "", 0, uapi.ERANGE, "abc"},
		{"before another", "", before, "b", 0, 0, "bc"}, {"after another", "", after, "b", 0, 0, "ab"}, {"a link's, before another", "", before, "c", 0, uapi.EBUSY, "abc"}, {"before the first", "", before, "a", 0, 0, "bc"},
		{"one that is before another", "a", before, "b", 0, 0, "bc"}, {"one that is not", "c", before, "b", 0, uapi.ERANGE, "abc"}, {"near one that is not there", "", after, "e", 0, uapi.ENOENT, "abc"},
		{"next to one, on no side", "", 0, "a", 0, uapi.EINVAL, "abc"}, {"replaced", "a", replaces, "", 0, uapi.EINVAL, "abc"}, {"unknown flags", "a", 1 << 20, "", 0, uapi.EINVAL, "abc"},
		{"the list's revision", "a", 0, "", 4, 0, "bc"}, {"an older list", "a", 0, "", 3, uapi.ESTALE, "abc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOrdered(t)
			assert.Equal(t, tt.want, detach(o, o.fds[tt.prog], tt.flags, o.fds[tt.relative], tt.revision))
			assert.Equal(t, tt.list, o.list(t))
		})
	}
	o := newOrdered(t)
	assert.Equal(t, uapi.EBADF, detach(o, 900, 0, 0, 0))
	filter, e := o.load(uapi.ProgTypeSocketFilter, returning(0))
	require.Zero(t, e)
	assert.Equal(t, uapi.EINVAL, detach(o, int(filter), 0, 0, 0), "a program of another type")
	o.index = o.newDevice(0, "dummy")
	assert.Equal(t, uapi.ENOENT, detach(o, 0, 0, 0, 9), "nothing is attached there")
	o.index += 77
	assert.Equal(t, uapi.ENODEV, detach(o, 0, 0, 0, 0))
	assert.Equal(t, uapi.EBADF, detach(o, 900, 0, 0, 0), "the program is looked up first")
}

// TestMostProgramsOnADevice: 63 (bpf_mprog_max).
func TestMostProgramsOnADevice(t *testing.T) {
	o := newOrdered(t)
	for range 60 {
		o.fds["n"] = int(o.tc(t, uapi.AttachTcxIngress, -1))
		require.Zero(t, o.attach("n", 0, 0, 0))
	}
	for _, flags := range []int{0, before, after} {
		assert.Equal(t, uapi.ERANGE, o.attach("d", flags, 0, 0))
	}
	assert.Zero(t, o.attach("d", replaces, 0, 0, field{16, o.fds["n"]}), "in the place of another")
	assert.Equal(t, uapi.ERANGE, o.attach("e", 0, 0, 0))
}
