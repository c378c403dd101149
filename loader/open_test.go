package loader

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/elfbuild"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func object(t testing.TB, name string, opts ...Option) *Object {
	t.Helper()
	o, err := Open(filepath.Join("..", "testdata", "objects", name), opts...)
	require.NoError(t, err)
	return o
}

func TestOpenAllFixtures(t *testing.T) {
	paths, err := filepath.Glob("../testdata/objects/*/*.o")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, p := range paths {
		o, err := Open(p)
		if filepath.Base(p) == "x86.o" {
			assert.ErrorIs(t, err, ErrNotObject)
			continue
		}
		if assert.NoError(t, err, p) {
			assert.NotEmpty(t, o.Functions, p)
		}
	}
}

func TestOpenRefusesWhatIsNoObject(t *testing.T) {
	good, err := os.ReadFile("../testdata/objects/clang-14/globals.o")
	require.NoError(t, err)
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"empty", nil, ErrNotObject},
		{"text", []byte("#!/bin/sh\n"), ErrNotObject},
		{"short header", good[:20], ErrMalformed},
		{"header only", good[:64], ErrMalformed},
		{"half", good[:len(good)/2], ErrMalformed},
	} {
		_, err := OpenBytes(c.name, c.data)
		require.ErrorIs(t, err, c.want, c.name)
		var e *Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, c.name, e.Object)
		assert.NotContains(t, err.Error(), "\n")
	}
	_, err = Open(t.TempDir())
	assert.ErrorIs(t, err, ErrNotObject)
	_, err = Open("no such file")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// Every cut and every flipped byte of a real object is an object or an error.
func TestOpenSurvivesDamage(t *testing.T) {
	target := NewTarget("", nil)
	for _, name := range []string{"clang-14/maps_values.o", "clang-22/struct_ops.o", "clang-22-v4/jumptable.o"} {
		good, err := os.ReadFile("../testdata/objects/" + name)
		require.NoError(t, err)
		try := func(data []byte) {
			if o, err := OpenBytes(name, data); err == nil {
				if l, err := o.Load(target, LoadOptions{}); err == nil {
					for _, p := range l.Programs {
						p.PoisonVerdicts()
						p.Final()
					}
				}
			}
		}
		for n := 0; n < len(good); n += 7 {
			try(good[:n])
		}
		for i := 0; i < len(good); i += 9 {
			bad := append([]byte(nil), good...)
			bad[i] ^= 0xff
			try(bad)
			bad[i] = good[i] ^ 1<<(i%8)
			try(bad)
		}
	}
}

func TestSectionNames(t *testing.T) {
	o := object(t, "clang-14/sections.o")
	unknown := 0
	for _, p := range o.Programs {
		if !p.Known {
			unknown++
		}
	}
	assert.Equal(t, 2, unknown)
	for _, c := range []struct {
		prog   string
		typ    uapi.ProgType
		attach uapi.AttachType
		to     string
		sleep  bool
	}{
		{"kprobe_off", uapi.ProgTypeKprobe, 0, "vfs_write+0x10", false},
		{"kprobe_multi", uapi.ProgTypeKprobe, uapi.AttachTraceKprobeMulti, "vfs_*", false},
		{"uprobe_s", uapi.ProgTypeKprobe, 0, "/usr/bin/sh:main", true},
		{"tcx_in", uapi.ProgTypeSchedCls, uapi.AttachTcxIngress, "", false},
		{"tc_new", uapi.ProgTypeSchedCls, 0, "", false},
		{"tracepoint_short", uapi.ProgTypeTracepoint, 0, "sched/sched_switch", false},
		{"raw_tp_writable", uapi.ProgTypeRawTracepointWritable, 0, "nbd_send_request", false},
		{"tp_btf_fn", uapi.ProgTypeTracing, uapi.AttachTraceRawTp, "sched_switch", false},
		{"fmod_ret_s", uapi.ProgTypeTracing, uapi.AttachModifyReturn, "security_file_open", true},
		{"lsm_cgroup", uapi.ProgTypeLSM, uapi.AttachLSMCgroup, "socket_bind", false},
		{"iter_s", uapi.ProgTypeTracing, uapi.AttachTraceIter, "task", true},
		{"syscall_fn", uapi.ProgTypeSyscall, 0, "", true},
		{"xdp_plain", uapi.ProgTypeXDP, uapi.AttachXDP, "", false},
	} {
		p, ok := o.Program(c.prog)
		require.True(t, ok, c.prog)
		assert.Equal(t, c.typ, p.Type, c.prog)
		assert.Equal(t, c.attach, p.Attach, c.prog)
		assert.Equal(t, c.to, p.AttachTo, c.prog)
		assert.Equal(t, c.sleep, p.Sleepable, c.prog)
	}
	p, _ := o.Program("kprobe_disabled")
	assert.False(t, p.Autoload)
	assert.Equal(t, "kprobe/vfs_open", p.Hook)
}

func TestWithType(t *testing.T) {
	path := "../testdata/objects/clang-14/maps_legacy.o"
	for _, name := range []string{"filter", "count"} {
		o, err := Open(path, WithType(name, uapi.ProgTypeSocketFilter))
		require.NoError(t, err)
		assert.True(t, o.Programs[0].Known)
		assert.Equal(t, uapi.ProgTypeSocketFilter, o.Programs[0].Type)
	}
	_, err := Open(path, WithType("nothing", uapi.ProgTypeXDP))
	assert.ErrorIs(t, err, ErrOption)
}

func TestMaps(t *testing.T) {
	get := func(o *Object, name string) *Map {
		m, ok := o.Map(name)
		require.True(t, ok, name)
		return m
	}
	legacy := object(t, "clang-14/maps_legacy.o")
	flows := get(legacy, "flows")
	assert.Equal(t, uapi.MapTypeHash, flows.Type)
	assert.Equal(t, [4]uint32{8, 16, 128, 1}, [4]uint32{flows.KeySize, flows.ValueSize, flows.MaxEntries, flows.Flags})

	for _, dir := range []string{"clang-14", "clang-22", "clang-14-eb", "clang-22-eb"} {
		values := object(t, dir+"/maps_values.o")
		outer := get(values, "outer_array")
		require.NotNil(t, outer.Inner)
		assert.Equal(t, uapi.MapTypeArray, outer.Inner.Type)
		require.Len(t, outer.Values, 2)
		assert.Equal(t, 0, outer.Values[0].Index)
		assert.Same(t, get(values, "inner_a"), outer.Values[0].Map)
		assert.Equal(t, 2, outer.Values[1].Index)
		assert.Same(t, get(values, "inner_b"), outer.Values[1].Map)
		assert.Equal(t, []MapInit{{Index: 3, Prog: "second"}}, get(values, "jumps").Values)
		empty := get(values, "outer_empty")
		require.NotNil(t, empty.Inner)
		assert.Equal(t, uint32(1), empty.Inner.Flags)
		assert.Empty(t, empty.Values)
	}

	all := object(t, "clang-22/maps_all.o")
	assert.Equal(t, uint32(1), get(all, "pinned").Pinning)
	assert.Equal(t, uint32(20), get(all, "lpm_trie").KeySize)

	arena := get(object(t, "clang-22-v4/arena.o"), "arena")
	assert.Equal(t, DataArena, arena.DataKind)
	assert.NotEmpty(t, arena.Data)

	linked := object(t, "clang-22/linked.o")
	assert.Len(t, linked.Maps, 2, "two objects with maps linked into one")
}

func TestDataMaps(t *testing.T) {
	for _, dir := range []string{"clang-14", "clang-22", "clang-14-eb", "clang-22-eb"} {
		o := object(t, dir+"/globals.o")
		ro, ok := o.Map(".rodata")
		require.True(t, ok)
		assert.True(t, ro.Frozen())
		i := indexVar(ro, "ro_u64")
		require.GreaterOrEqual(t, i, 0, dir)
		assert.Equal(t, uint64(0x1122334455667788), o.ByteOrder.Uint64(ro.Data[ro.Vars[i].Off:]), dir)
		data, _ := o.Map(".data")
		i = indexVar(data, "rw_static2")
		require.GreaterOrEqual(t, i, 0, dir)
		assert.True(t, data.Vars[i].Static)
		assert.Equal(t, uint32(8), o.ByteOrder.Uint32(data.Data[data.Vars[i].Off:]), dir)
		v, ok := data.VarAt(data.Vars[i].Off + 1)
		assert.True(t, ok)
		assert.Equal(t, "rw_static2", v.Name)
		for _, name := range []string{".data.custom", ".rodata.custom", ".bss.custom", ".bss"} {
			_, ok := o.Map(name)
			assert.True(t, ok, name)
		}
	}
	fp := object(t, "clang-14/funcptr.o")
	data, _ := fp.Map(".data")
	require.Len(t, data.DataRelocs, 3)
	funcs := 0
	for _, r := range data.DataRelocs {
		if r.Func != nil {
			funcs++
		}
	}
	assert.NotZero(t, funcs, "function pointers in .data")
}

func indexVar(m *Map, name string) int {
	for i, v := range m.Vars {
		if v.Name == name {
			return i
		}
	}
	return -1
}

// Objects of clang before 7 have functions without a symbol type, and the oldest
// none but the section.
func TestOldObjects(t *testing.T) {
	ret := []decode.Insn{{Code: 0xb7}, {Code: 0x95}}
	b := elfbuild.New(binary.LittleEndian)
	sec := b.Code("xdp", append(append([]decode.Insn{}, ret...), ret...))
	b.Symbol("LBB0_1", sec, 8, 0, elf.STT_NOTYPE, elf.STB_LOCAL)
	b.Symbol("first", sec, 0, 0, elf.STT_NOTYPE, elf.STB_GLOBAL)
	b.Symbol("second", sec, 16, 0, elf.STT_NOTYPE, elf.STB_GLOBAL)
	o, err := OpenBytes("old.o", b.Bytes())
	require.NoError(t, err)
	require.Len(t, o.Programs, 2)
	assert.Equal(t, "second", o.Programs[1].Name)
	assert.Equal(t, 2, o.Programs[1].SectionOff)
	assert.Len(t, o.Programs[0].Insns, 2)

	b = elfbuild.New(binary.BigEndian)
	b.Code("socket", ret)
	o, err = OpenBytes("section.o", b.Bytes())
	require.NoError(t, err)
	require.Len(t, o.Programs, 1)
	assert.Equal(t, "socket", o.Programs[0].Name)
	assert.True(t, strings.Contains(strings.Join(o.Warnings, "\n"), "no function symbols"))
}

func FuzzOpen(f *testing.F) {
	for _, name := range []string{"clang-14/maps_values.o", "clang-14/maps_legacy.o", "clang-14-eb/subprog.o", "clang-22/struct_ops.o", "clang-22-v4/jumptable.o", "gcc-16/gcc.o"} {
		data, err := os.ReadFile("../testdata/objects/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	target := NewTarget("", nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := OpenBytes("fuzz.o", data)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			return
		}
		l, err := o.Load(target, LoadOptions{})
		if err != nil {
			return
		}
		for _, p := range l.Programs {
			p.PoisonVerdicts()
			p.Reachable()
			p.Final()
			for pc := range p.Insns {
				p.LineAt(pc)
			}
		}
	})
}
