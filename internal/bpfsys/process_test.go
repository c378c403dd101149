package bpfsys_test

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// lightSkeleton is testdata/lskel.json.gz: what a tool with testdata/lskel/lskel.bpf.c as a light
// skeleton contains.
type lightSkeleton struct {
	Values []struct {
		Room int
		Data text
	}
	Context     int
	Data, Insns text
}

// text is bytes in hexadecimal digits.
type text []byte

func (x *text) UnmarshalText(b []byte) (err error) {
	*x, err = hex.DecodeString(string(b))
	return err
}

func readSkeleton(t testing.TB) *lightSkeleton {
	t.Helper()
	f, err := os.Open("testdata/lskel.json.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var s lightSkeleton
	require.NoError(t, json.NewDecoder(z).Decode(&s))
	return &s
}

// Install and CloseFile make the task's descriptors those of the syscall programs that it runs.
func (t *task) Install(f bpfsys.File) (int32, uapi.Errno) {
	if t.full {
		return 0, uapi.EMFILE
	}
	t.files[t.next] = f
	t.next++
	return t.next - 1, 0
}

func (t *task) CloseFile(fd int32) (*bpfsys.File, uapi.Errno) {
	f, ok := t.files[fd]
	if !ok {
		return nil, uapi.EBADF
	}
	delete(t.files, fd)
	return &f, 0
}

// loadSkeleton does what bpf_load_and_run of libbpf's skel_internal.h does. It returns the loader's
// result and the address of the context.
func (t *task) loadSkeleton(tb testing.TB, s *lightSkeleton) (ret int32, errno uapi.Errno, ctx uint64) {
	tb.Helper()
	blob, e, _ := t.call(mapCreate, field{0, int(uapi.MapTypeArray)}, field{4, 4}, field{8, len(s.Data)}, field{12, 1}, field{28, "__loader.map"})
	require.Zero(tb, e)
	key := t.put(make([]byte, 4))
	_, e, _ = t.call(mapUpdate, field{0, int(blob)}, field{8, key}, field{16, t.put(s.Data)}, field{24, uint64(0)})
	require.Zero(tb, e)
	fds := t.put(le.AppendUint32(nil, uint32(blob)))
	const sleepable = 16
	prog, e, _ := t.call(progLoad, field{0, int(uapi.ProgTypeSyscall)}, field{4, len(s.Insns) / 8}, field{8, t.put(s.Insns)}, field{16, t.text("Dual BSD/GPL")},
		field{44, sleepable}, field{48, "__loader.prog"}, field{120, fds})
	require.Zero(tb, e, "%v", t.notes)
	c := make([]byte, s.Context)
	le.PutUint32(c, uint32(s.Context))
	for i, v := range s.Values { // .rodata and .data, after counts and inner
		le.PutUint64(c[24+16*(2+i)+8:], t.put(append(v.Data, make([]byte, v.Room-len(v.Data))...)))
	}
	ctx = t.put(c)
	_, errno, a := t.call(testRun, field{0, int(prog)}, field{40, s.Context}, field{48, ctx}, field{68, 0})
	ret = int32(le.Uint32(a[4:]))
	t.close(prog)
	t.close(blob)
	return ret, errno, ctx
}

// TestLightSkeletonsLoad: the loader program creates maps and programs with bpf_sys_bpf, and the
// tool finds their descriptors in the context.
func TestLightSkeletonsLoad(t *testing.T) {
	k := newTask(t)
	ret, errno, ctx := k.loadSkeleton(t, readSkeleton(t))
	require.Zero(t, errno, "%v", k.notes)
	require.Zero(t, ret, "%v", k.notes)
	fd := func(off uint64) int32 { return int32(le.Uint32(k.at(ctx+off, 4))) }
	counts, inner, rodata, data, count, sw := fd(24), fd(40), fd(56), fd(72), fd(88), fd(92)
	for name, want := range map[string]struct {
		fd   int32
		name string
	}{"counts": {counts, "counts"}, "inner": {inner, "inner"}, "rodata": {rodata, "lskel.rodata"}, "data": {data, "lskel.data"}, "count": {count, "count"}, "sw": {sw, "switched"}} {
		f := k.files[want.fd]
		require.Equal(t, bpfsys.ObjectFile, f.Kind, name)
		assert.Equal(t, want.name, f.Object.Name())
	}
	assert.Len(t, k.files, 6, "the loader closed the types and the inner map")

	// The programs run, with the initial values of their variables.
	packet := k.put(make([]byte, 64))
	_, e, a := k.call(testRun, field{0, int(count)}, field{8, 64}, field{12, 0}, field{16, packet}, field{68, 0})
	require.Zero(t, e, "%v", k.notes)
	assert.EqualValues(t, 39+3, le.Uint32(a[4:]))
	key, value := k.put(make([]byte, 4)), k.room(8)
	_, e, _ = k.call(mapLookup, field{0, int(counts)}, field{8, key}, field{16, value}, field{24, uint64(0)})
	require.Zero(t, e)
	assert.EqualValues(t, 3, le.Uint64(k.at(value, 8)))
	_, e, _ = k.call(mapUpdate, field{0, int(rodata)}, field{8, key}, field{16, value}, field{24, uint64(0)})
	assert.Equal(t, uapi.EPERM, e, "constants are frozen")
}

// TestLightSkeletonsFailAsAWhole: where a descriptor cannot be opened the loader closes the others
// and returns the error.
func TestLightSkeletonsFailAsAWhole(t *testing.T) {
	k := newTask(t)
	k.full = true
	ret, errno, _ := k.loadSkeleton(t, readSkeleton(t))
	require.Zero(t, errno)
	assert.Equal(t, int32(uapi.EMFILE.Neg()), ret)
	assert.Empty(t, k.files)
	assert.Empty(t, k.s.Objects(bpfsys.KindMap), "nothing is left")
	assert.Empty(t, k.s.Objects(bpfsys.KindProg))
}

// TestSyscallProgramsMakeTheirOwnCalls: which commands bpf_sys_bpf takes, and what it returns.
func TestSyscallProgramsMakeTheirOwnCalls(t *testing.T) {
	k := newTask(t)
	// The attributes are the context: cmd and size come first.
	prog, e := k.load(uapi.ProgTypeSyscall, []decode.Insn{
		{Code: 0xbf, Dst: 6, Src: 1},
		{Code: 0x7a, Dst: 10, Off: -16}, {Code: 0x7a, Dst: 10, Off: -8}, {Code: 0x7a, Dst: 10, Off: -24}, {Code: 0x7a, Dst: 10, Off: -32},
		{Code: 0x61, Dst: 2, Src: 6, Off: 4}, {Code: 0x63, Dst: 10, Src: 2, Off: -32}, // the first word of the attributes
		{Code: 0x61, Dst: 1, Src: 6}, {Code: 0xbf, Dst: 2, Src: 10}, {Code: 0x07, Dst: 2, Imm: -32}, {Code: 0xb7, Dst: 3, Imm: 32},
		{Code: 0x85, Imm: int32(uapi.FuncSysBpf)},
		{Code: 0x95},
	}, field{44, 16})
	require.Zero(t, e, "%v", k.notes)
	hash, e := k.createMap(uapi.MapTypeArray, 4, 4, 4, 0)
	require.Zero(t, e)
	for name, c := range map[string]struct {
		cmd  uapi.Cmd
		word uint32
		want uapi.Errno
	}{
		"a map without sizes":      {uapi.CmdMapCreate, uint32(uapi.MapTypeArray), uapi.EINVAL},
		"freeze":                   {uapi.CmdMapFreeze, uint32(hash), 0},
		"freeze of no descriptor":  {uapi.CmdMapFreeze, 77, uapi.EBADF},
		"no such id":               {uapi.CmdMapGetFdById, 9999, uapi.ENOENT},
		"lookups are not for it":   {uapi.CmdMapLookupElem, uint32(hash), uapi.EINVAL},
		"neither are test runs":    {uapi.CmdProgTestRun, uint32(prog), uapi.EINVAL},
		"there is no such command": {99, 0, uapi.EINVAL},
	} {
		t.Run(name, func(t *testing.T) {
			in := le.AppendUint32(le.AppendUint32(nil, uint32(c.cmd)), c.word)
			_, e, a := k.call(testRun, field{0, int(prog)}, field{40, 8}, field{48, k.put(in)}, field{68, 0})
			require.Zero(t, e, "%v", k.notes)
			assert.Equal(t, int32(c.want.Neg()), int32(le.Uint32(a[4:])))
		})
	}
}

// TestSyscallProgramsCloseDescriptors: bpf_sys_close of a map's descriptor, of the same again, and
// of numbers that are none, as a program of Linux 6.18 gets it.
func TestSyscallProgramsCloseDescriptors(t *testing.T) {
	k := newTask(t)
	prog, e := k.load(uapi.ProgTypeSyscall, []decode.Insn{
		{Code: 0xbf, Dst: 6, Src: 1}, {Code: 0x61, Dst: 1, Src: 6}, {Code: 0x85, Imm: int32(uapi.FuncSysClose)}, {Code: 0x63, Dst: 6, Src: 0, Off: 4},
		{Code: 0xb7, Dst: 0}, {Code: 0x95},
	}, field{44, 16})
	require.Zero(t, e, "%v", k.notes)
	fd, e := k.createMap(uapi.MapTypeArray, 4, 4, 4, 0)
	require.Zero(t, e)
	require.Len(t, k.s.Objects(bpfsys.KindMap), 1)
	for _, c := range []struct {
		name string
		fd   uint32
		want uapi.Errno
	}{
		{"a map", uint32(fd), 0}, {"the same again", uint32(fd), uapi.EBADF}, {"no descriptor", 12345, uapi.EBADF},
		{"-1", 0xffffffff, uapi.EBADF}, {"the least number", 0x80000000, uapi.EBADF},
	} {
		at := k.put(le.AppendUint32(le.AppendUint32(nil, c.fd), 1))
		_, e, _ := k.call(testRun, field{0, int(prog)}, field{40, 8}, field{48, at}, field{68, 0})
		require.Zero(t, e, "%s: %v", c.name, k.notes)
		out := make([]byte, 8)
		require.True(t, k.Read(uint64(at), out))
		assert.Equal(t, int32(c.want.Neg()), int32(le.Uint32(out[4:])), c.name)
	}
	assert.Empty(t, k.s.Objects(bpfsys.KindMap), "nobody holds the map any more")
}

// TestGuestsHoldWhatProgramsOpen: the process of a machine without a host gives out the lowest free
// descriptors.
func TestGuestsHoldWhatProgramsOpen(t *testing.T) {
	k := newTask(t)
	m, err := machine.New(newLinked(k), machine.Config{})
	require.NoError(t, err)
	defer m.Close()
	g := k.s.Serve(m)
	_, e := k.createMap(uapi.MapTypeArray, 4, 4, 4, 0)
	require.Zero(t, e)
	f := bpfsys.File{Kind: bpfsys.ObjectFile, Object: k.s.Objects(bpfsys.KindMap)[0]}
	a, e := g.Install(f)
	require.Zero(t, e)
	b, _ := g.Install(f)
	assert.Equal(t, []int32{3, 4}, []int32{a, b})
	_, e = g.CloseFile(a)
	require.Zero(t, e)
	_, e = g.CloseFile(a)
	assert.Equal(t, uapi.EBADF, e)
	c, _ := g.Install(f)
	assert.Equal(t, a, c)
	assert.Len(t, g.Files(), 2)
	for e = 0; e == 0; {
		_, e = g.Install(f)
	}
	assert.Equal(t, uapi.EMFILE, e)
}

func newLinked(k *task) *loader.Linked { return loader.NewLinked(k.s.Target()) }
