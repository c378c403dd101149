package bpfsys_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// reports is a tracing program that sends its cookie, the address of its function and the
// function's first argument to a ring buffer.
func reports(ring int64) []decode.Insn {
	return []decode.Insn{
		{Code: 0xbf, Dst: 6, Src: 1},
		{Code: 0x85, Imm: int32(uapi.FuncGetAttachCookie)}, {Code: 0x7b, Dst: 10, Src: 0, Off: -24},
		{Code: 0xbf, Dst: 1, Src: 6}, {Code: 0x85, Imm: int32(uapi.FuncGetFuncIp)}, {Code: 0x7b, Dst: 10, Src: 0, Off: -16},
		{Code: 0xbf, Dst: 1, Src: 6}, {Code: 0xb7, Dst: 2}, {Code: 0xbf, Dst: 3, Src: 10}, {Code: 0x07, Dst: 3, Imm: -8},
		{Code: 0x85, Imm: int32(uapi.FuncGetFuncArg)},
		{Code: 0x18, Dst: 1, Src: 1, Imm: int32(ring)}, {},
		{Code: 0xbf, Dst: 2, Src: 10}, {Code: 0x07, Dst: 2, Imm: -24}, {Code: 0xb7, Dst: 3, Imm: 24}, {Code: 0xb7, Dst: 4},
		{Code: 0x85, Imm: int32(uapi.FuncRingbufOutput)},
		{Code: 0xb7}, {Code: 0x95},
	}
}

// multiTracer loads a program for many functions.
func (k *caller) multiTracer(at uapi.AttachType, insns []decode.Insn, flags int) int {
	return k.must(k.load(uapi.ProgTypeTracing, insns, field{68, int(at)}, field{44, flags}))
}

// multiLink attaches it to functions, by their ids.
func (k *caller) multiLink(prog int, at uapi.AttachType, ids []uint32, cookies ...uint64) (int64, uapi.Errno) {
	var list, values []byte
	for _, id := range ids {
		list = le.AppendUint32(list, id)
	}
	for _, c := range cookies {
		values = le.AppendUint64(values, c)
	}
	at64 := uint64(0)
	if len(values) > 0 {
		at64 = k.put(values)
	}
	fd, r := k.try(uapi.CmdLinkCreate, field{0, prog}, field{4, 0}, field{8, int(at)}, field{12, 0}, field{16, k.put(list)}, field{24, at64}, field{32, len(ids)})
	return fd, r.errno
}

// symbol returns the address of a symbol as /proc/kallsyms has it.
func (k *caller) symbol(t *testing.T, name string) uint64 {
	list, found := k.s.ReadFile("/proc/kallsyms")
	require.Equal(t, bpfsys.IsFile, found)
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) >= 3 && f[2] == name {
			addr, err := strconv.ParseUint(f[0], 16, 64)
			require.NoError(t, err)
			return addr
		}
	}
	t.Fatalf("no symbol %s", name)
	return 0
}

func TestAProgramTracesManyFunctions(t *testing.T) {
	for _, at := range []uapi.AttachType{uapi.AttachTraceFentryMulti, uapi.AttachTraceFexitMulti} {
		k := newCaller(t, newestKernel(t))
		ring := k.must(k.createMap(uapi.MapTypeRingbuf, 0, 0, 4096, 0))
		prog := k.multiTracer(at, reports(int64(ring)), 0)
		first, second := uint32(k.typeID(btf.KindFunc, "vfs_read")), uint32(k.typeID(btf.KindFunc, "vfs_unlink"))
		link, e := k.multiLink(prog, at, []uint32{second, first}, 22, 11)
		require.Zero(t, e, at)
		b := bpfsys.Shared(k.files[int32(ring)].Object).Bytes()[8192:]
		for i, want := range []struct {
			name, arg string
			cookie    uint64
		}{{"vfs_unlink", "idmap", 22}, {"vfs_read", "file", 11}} {
			fired, err := k.s.Fire(bpfsys.Event{Hook: want.name, Args: map[string]any{want.arg: int64(5)}})
			require.NoError(t, err)
			require.Len(t, fired, 1)
			require.NoError(t, fired[0].Err)
			record := b[32*i+8:]
			assert.Equal(t, want.cookie, le.Uint64(record), "the cookie of %s", want.name)
			assert.Equal(t, k.symbol(t, want.name), le.Uint64(record[8:]), "the address of %s", want.name)
			assert.Equal(t, uint64(5), le.Uint64(record[16:]), "the argument of %s", want.name)
		}
		k.close(link)
		_, err := k.s.Fire(bpfsys.Event{Hook: "vfs_read"})
		assert.ErrorIs(t, err, bpfsys.ErrNoHook)
	}
}

// A session runs at the entry and at the return of each function.
func TestASessionTracesManyFunctions(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	ring := k.must(k.createMap(uapi.MapTypeRingbuf, 0, 0, 4096, 0))
	prog := k.multiTracer(uapi.AttachTraceFsessionMulti, reports(int64(ring)), 0)
	_, e := k.multiLink(prog, uapi.AttachTraceFsessionMulti, []uint32{uint32(k.typeID(btf.KindFunc, "vfs_read"))}, 11)
	require.Zero(t, e)
	_, err := k.s.Fire(bpfsys.Event{Hook: "vfs_read", Args: map[string]any{"file": int64(5)}})
	require.NoError(t, err)
	b := bpfsys.Shared(k.files[int32(ring)].Object).Bytes()
	assert.Equal(t, uint64(64), le.Uint64(b[4096:]), "two records")
	assert.Equal(t, uint64(11), le.Uint64(b[8192+8:]), "the cookie at the entry")
	assert.Equal(t, uint64(11), le.Uint64(b[8192+32+8:]), "the cookie at the return")
}

func TestLinksToManyFunctionsAreChecked(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	entry := k.multiTracer(uapi.AttachTraceFentryMulti, exitZero, 0)
	exit := k.multiTracer(uapi.AttachTraceFexitMulti, exitZero, 0)
	sleeps := k.multiTracer(uapi.AttachTraceFentryMulti, exitZero, 16)
	id := func(name string) uint32 { return uint32(k.typeID(btf.KindFunc, name)) }
	read, task := id("vfs_read"), uint32(k.typeID(btf.KindStruct, "task_struct"))
	for _, tt := range []struct {
		name string
		prog int
		at   uapi.AttachType
		ids  []uint32
		want uapi.Errno
	}{
		{"no functions", entry, uapi.AttachTraceFentryMulti, nil, uapi.EINVAL},
		{"another attach type", entry, uapi.AttachTraceFexitMulti, []uint32{read}, uapi.EINVAL},
		{"a function twice", entry, uapi.AttachTraceFentryMulti, []uint32{read, id("vfs_unlink"), read}, uapi.EINVAL},
		{"no type", entry, uapi.AttachTraceFentryMulti, []uint32{0}, uapi.EINVAL},
		{"an id beyond the types", entry, uapi.AttachTraceFentryMulti, []uint32{1 << 30}, uapi.EINVAL},
		{"a struct", entry, uapi.AttachTraceFentryMulti, []uint32{task}, uapi.EINVAL},
		{"variable arguments", entry, uapi.AttachTraceFentryMulti, []uint32{id("_printk")}, uapi.EINVAL},
		{"a function that tracing itself uses", entry, uapi.AttachTraceFentryMulti, []uint32{id("migrate_enable")}, uapi.EINVAL},
		{"entry of a function that does not return", entry, uapi.AttachTraceFentryMulti, []uint32{id("do_exit")}, 0},
		{"its exit", exit, uapi.AttachTraceFexitMulti, []uint32{id("do_exit")}, uapi.EINVAL},
		{"a sleepable program where nothing may sleep", sleeps, uapi.AttachTraceFentryMulti, []uint32{read}, uapi.EINVAL},
		{"functions", entry, uapi.AttachTraceFentryMulti, []uint32{read, id("vfs_unlink")}, 0},
		{"one of them again", entry, uapi.AttachTraceFentryMulti, []uint32{id("vfs_write"), read}, uapi.EBUSY},
	} {
		_, e := k.multiLink(tt.prog, tt.at, tt.ids)
		assert.Equal(t, tt.want, e, tt.name)
	}
	call := func(flags, target int, ids uint64, count int) uapi.Errno {
		_, r := k.try(uapi.CmdLinkCreate, field{0, exit}, field{4, target}, field{8, int(uapi.AttachTraceFexitMulti)}, field{12, flags}, field{16, ids}, field{24, uint64(0)}, field{32, count})
		return r.errno
	}
	ids := k.put(le.AppendUint32(nil, read))
	assert.Equal(t, uapi.EINVAL, call(1, 0, ids, 1), "flags")
	assert.Equal(t, uapi.EINVAL, call(0, 3, ids, 1), "a target")
	assert.Equal(t, uapi.E2BIG, call(0, 0, ids, 1<<20+1), "too many")
	assert.Equal(t, uapi.EFAULT, call(0, 0, 8, 1), "no memory")
	assert.Zero(t, call(0, 0, ids, 1))
}

// Programs for many functions name none when they are loaded.
func TestProgramsOfManyFunctionsHaveNoTarget(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	for _, at := range []uapi.AttachType{uapi.AttachTraceFentryMulti, uapi.AttachTraceFexitMulti, uapi.AttachTraceFsessionMulti} {
		_, e := k.load(uapi.ProgTypeTracing, exitZero, field{68, int(at)}, field{108, k.typeID(btf.KindFunc, "vfs_read")})
		assert.Equal(t, uapi.EINVAL, e, "%s with a function", at)
		_, e = k.load(uapi.ProgTypeLSM, exitZero, field{68, int(at)})
		assert.Equal(t, uapi.EINVAL, e, "%s of another program type", at)
	}
}
