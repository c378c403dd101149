package loader

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/elfbuild"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

var (
	specMu sync.Mutex
	specs  = map[string]*btf.Spec{}
)

// kernel returns a target of the fixtures.
func kernel(t testing.TB, name string, opts ...TargetOption) *Target {
	t.Helper()
	specMu.Lock()
	defer specMu.Unlock()
	if specs[name] == nil {
		spec, err := testbtf.Load(filepath.Join("..", "testdata", "btf", name))
		require.NoError(t, err)
		specs[name] = spec
	}
	return NewTarget(name, specs[name], opts...)
}

const (
	linux510 = "linux-5.10.262-amd64-cloud.btf.xz"
	linux72  = "linux-7.2.13-amd64.btf.xz"
	arm61    = "linux-6.1.176-arm64-cloud.btf.xz"
)

func load(t testing.TB, o *Object, target *Target, opts LoadOptions) *Linked {
	t.Helper()
	l, err := o.Load(target, opts)
	require.NoError(t, err)
	return l
}

func program(t testing.TB, l *Linked, name string) *LinkedProgram {
	t.Helper()
	p, ok := l.Program(name)
	require.True(t, ok, name)
	return p
}

func TestPoisonVerdicts(t *testing.T) {
	const none = Verdict(99)
	for _, c := range []struct {
		target string
		want   map[string]Verdict
	}{
		{linux510, map[string]Verdict{"on_exit_new": Break, "on_exit_old": none, "on_exit_maybe": none, "on_exit_dead": none, "on_exit_rodata": none, "on_exit_user": Break}},
		{linux72, map[string]Verdict{"on_exit_new": none, "on_exit_old": Break, "on_exit_maybe": MayBreak, "on_exit_dead": Dead, "on_exit_rodata": Dead, "on_exit_user": Break}},
	} {
		for _, dir := range []string{"clang-14", "clang-22"} {
			l := load(t, object(t, dir+"/missing.o"), kernel(t, c.target), LoadOptions{})
			require.NoError(t, l.Err)
			for name, want := range c.want {
				p := program(t, l, name)
				assert.Equal(t, StatusOK, p.Status, name)
				vs := p.PoisonVerdicts()
				if want == none {
					assert.Empty(t, vs, "%s on %s", name, c.target)
					continue
				}
				if assert.Len(t, vs, 1, "%s on %s", name, c.target) {
					assert.Equal(t, want, vs[0].Verdict, "%s on %s", name, c.target)
					assert.Equal(t, corerelo.PoisonCORE, vs[0].Kind)
					require.NotNil(t, vs[0].Reloc)
					assert.True(t, vs[0].Reloc.Poisoned())
				}
			}
		}
	}
	// A constant of .rodata that a tool sets changes the verdict.
	l := load(t, object(t, "clang-14/missing.o"), kernel(t, linux72), LoadOptions{Globals: map[string]string{"want_state": "true"}})
	assert.Equal(t, Break, program(t, l, "on_exit_rodata").PoisonVerdicts()[0].Verdict)
}

// testdata/final-libbpf.jsonl holds what libbpf 1.7 (bpf_object__prepare) makes of
// programs that do not depend on the kernel's types.
func TestFinalEqualsLibbpf(t *testing.T) {
	f, err := os.Open("testdata/final-libbpf.jsonl")
	require.NoError(t, err)
	defer f.Close()
	loaded := map[string]*Linked{}
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); n++ {
		var r struct{ Object, Program, Final string }
		require.NoError(t, json.Unmarshal(sc.Bytes(), &r))
		l := loaded[r.Object]
		if l == nil {
			l = load(t, object(t, r.Object), NewTarget("", nil), LoadOptions{})
			loaded[r.Object] = l
		}
		assert.Equal(t, r.Final, program(t, l, r.Program).Final(), "%s %s", r.Object, r.Program)
	}
	assert.Greater(t, n, 100)
}

func TestSubprogramsAndCallbacks(t *testing.T) {
	for _, name := range []string{"clang-14/callbacks.o", "clang-22/callbacks.o", "clang-14/subprog.o", "clang-22-v4/subprog.o"} {
		l := load(t, object(t, name), kernel(t, linux72), LoadOptions{})
		for _, p := range l.Programs {
			assert.Equal(t, StatusOK, p.Status, "%v", p.Err)
			end := 0
			for _, fn := range p.Funcs {
				assert.Equal(t, end, fn.Start, "functions lie side by side")
				end += fn.Len
				assert.NotZero(t, fn.Type, fn.Name)
			}
			assert.Equal(t, len(p.Insns), end)
			for pc, ref := range p.Refs {
				if ref.Kind == RefFunc {
					assert.Equal(t, pc+1+int(p.Insns[pc].Imm), ref.Func)
					assert.Equal(t, uint8(4), p.Insns[pc].Src)
					fn, ok := p.FuncAt(ref.Func)
					assert.True(t, ok && fn.Start == ref.Func && fn.Name == ref.Name)
				}
			}
			li, ok := p.LineAt(0)
			assert.True(t, ok)
			assert.NotZero(t, li.Line)
		}
	}
	// Calls of programs in other sections, which libbpf refuses.
	l := load(t, object(t, "clang-14/subprog_section.o"), kernel(t, linux72), LoadOptions{})
	assert.Len(t, program(t, l, "calls_program").Funcs, 2)
}

func TestExceptionCallback(t *testing.T) {
	l := load(t, object(t, "clang-22/tags.o"), kernel(t, linux72), LoadOptions{})
	p := program(t, l, "throws")
	require.NotZero(t, p.ExceptionCallback)
	fn, ok := p.FuncAt(p.ExceptionCallback)
	assert.True(t, ok)
	assert.Equal(t, p.ExceptionCallback, fn.Start)
}

func TestExterns(t *testing.T) {
	l := load(t, object(t, "clang-14/kconfig.o"), kernel(t, linux72, WithKconfig(map[string]string{
		"CONFIG_MODULES": "m", "CONFIG_LOCALVERSION": `"-a-version-too-long-for-it"`, "CONFIG_ILLEGAL_POINTER_VALUE": "0xdead000000000000", "CONFIG_LOG_BUF_SHIFT": "17",
	})), LoadOptions{})
	require.NoError(t, l.Err)
	m, _ := l.Map(".kconfig")
	at := map[string][]byte{}
	for _, e := range l.Externs {
		at[e.Name] = m.Data[e.Off : e.Off+e.Size]
	}
	assert.Equal(t, uint32(7<<16|2<<8|13), binary.LittleEndian.Uint32(at["LINUX_KERNEL_VERSION"]))
	assert.Equal(t, []byte{1}, at["LINUX_HAS_SYSCALL_WRAPPER"])
	assert.Equal(t, []byte("m"), at["CONFIG_MODULES"])
	assert.Equal(t, []byte{17}, at["CONFIG_LOG_BUF_SHIFT"])
	assert.Equal(t, "-a-version-too-\x00", string(at["CONFIG_LOCALVERSION"]))
	assert.Equal(t, uint64(0xdead000000000000), binary.LittleEndian.Uint64(at["CONFIG_ILLEGAL_POINTER_VALUE"]))
	assert.Equal(t, []byte{0}, at["CONFIG_NO_SUCH_OPTION"])

	for _, bad := range []map[string]string{{"CONFIG_LOG_BUF_SHIFT": "256"}, {"CONFIG_SMP": "m"}, {"CONFIG_HZ": "y"}, {"CONFIG_LOCALVERSION": "7"}, {"CONFIG_HZ": "x"}} {
		l := load(t, object(t, "clang-14/kconfig.o"), kernel(t, linux72, WithKconfig(bad)), LoadOptions{})
		assert.ErrorIs(t, l.Err, ErrExtern, "%v", bad)
	}

	l = load(t, object(t, "clang-14/ksyms.o"), kernel(t, linux72), LoadOptions{})
	require.NoError(t, l.Err)
	refs := map[string]Ref{}
	for _, p := range l.Programs {
		for _, r := range p.Refs {
			refs[r.Name] = r
		}
	}
	assert.Equal(t, RefKsymBTF, refs["runqueues"].Kind)
	assert.NotZero(t, refs["runqueues"].TypeID)
	assert.Equal(t, RefKsym, refs["init_task"].Kind)
	assert.False(t, refs["no_such_symbol"].Resolved)
	assert.True(t, refs["bpf_task_release"].Resolved)
	vs := program(t, l, "kfuncs").PoisonVerdicts()
	require.Len(t, vs, 1)
	assert.Equal(t, corerelo.PoisonKfunc, vs[0].Kind)
	assert.Equal(t, Dead, vs[0].Verdict)

	l = load(t, object(t, "clang-14/ksyms.o"), kernel(t, linux72, WithKallsyms(map[string]uint64{"init_task": 0xffffffff82a00000})), LoadOptions{})
	for _, e := range l.Externs {
		if e.Name == "init_task" {
			assert.Equal(t, uint64(0xffffffff82a00000), e.Addr)
		}
	}
	for _, name := range []string{"clang-14/err_kconfig.o", "clang-14/err_ksym.o", "clang-14/linked_a.o"} {
		l := load(t, object(t, name), kernel(t, linux72), LoadOptions{})
		assert.ErrorIs(t, l.Err, ErrExtern, name)
		for _, p := range l.Programs {
			assert.Equal(t, StatusRefused, p.Status)
			assert.ErrorIs(t, p.Err, ErrExtern)
		}
	}
}

func TestStructOps(t *testing.T) {
	l := load(t, object(t, "clang-22/struct_ops.o"), kernel(t, linux72), LoadOptions{})
	require.NoError(t, l.Err)
	require.Len(t, l.StructOps, 2)
	for _, s := range l.StructOps {
		assert.NotZero(t, s.KernType)
		assert.Equal(t, "fixed_ssthresh", s.Progs["ssthresh"])
		f, ok := l.Target.BTF.FindMember(s.KernType, "name")
		require.True(t, ok)
		assert.Contains(t, string(s.Data[f.Offset():]), "fixed")
	}
	p := program(t, l, "fixed_init")
	assert.Equal(t, StatusOK, p.Status)
	assert.Equal(t, "init", p.StructOps.Member)
	assert.Equal(t, StatusDisabled, program(t, l, "unused_ssthresh").Status)
}

func TestStatuses(t *testing.T) {
	l := load(t, object(t, "clang-14/sections.o"), kernel(t, linux510), LoadOptions{Attach: map[string]string{"fexit_fn": "no_such_function", "kprobe_fn": "no_such_function"}})
	for name, want := range map[string]Status{
		"kprobe_disabled": StatusDisabled, "fentry_fn": StatusOK, "fexit_fn": StatusAbsent, "kprobe_fn": StatusUnknownHook, "kprobe_off": StatusOK,
		"kprobe_multi": StatusRefused, "netkit_primary": StatusRefused, "lsm_fn": StatusOK, "iter_fn": StatusOK, "tp_btf_fn": StatusOK, "raw_tp_short": StatusOK,
		"tracepoint_long": StatusOK, "tc_in": StatusOK, "xdp_plain": StatusOK, "ksyscall_fn": StatusOK,
	} {
		p := program(t, l, name)
		assert.Equal(t, want, p.Status, "%s: %v", name, p.Err)
	}
	assert.ErrorIs(t, program(t, l, "fexit_fn").Err, ErrNoHook)
	assert.ErrorIs(t, program(t, l, "kprobe_fn").Err, ErrUnlistedHook)
	assert.ErrorIs(t, program(t, l, "netkit_primary").Err, ErrUnknownToTarget)
	assert.NotZero(t, program(t, l, "fentry_fn").AttachID)

	l = load(t, object(t, "clang-14/sections.o"), kernel(t, linux510, WithKallsyms(map[string]uint64{"vfs_read": 1})), LoadOptions{
		Only: []string{"kprobe_fn", "kprobe_disabled", "tc_new"}, NoLoad: map[string]bool{"tc_new": true}, Attach: map[string]string{"kprobe_fn": "gone"},
	})
	assert.Equal(t, StatusAbsent, program(t, l, "kprobe_fn").Status)
	assert.Equal(t, StatusOK, program(t, l, "kprobe_disabled").Status)
	assert.Equal(t, StatusDisabled, program(t, l, "tc_new").Status)
	assert.Equal(t, StatusDisabled, program(t, l, "xdp_plain").Status)

	l = load(t, object(t, "clang-14/faults.o"), kernel(t, linux72), LoadOptions{})
	p := program(t, l, "err_unknown_helper")
	assert.Equal(t, StatusOK, p.Status)
	require.ErrorIs(t, p.Refusal(Verified{}), ErrUnknownToTarget)
	assert.Contains(t, p.Static.Error(), "faults.bpf.c")
	assert.ErrorIs(t, program(t, l, "err_no_exit").Static, ErrInstruction)

	l = load(t, object(t, "clang-22-v4/isa_v4.o"), kernel(t, linux510), LoadOptions{})
	assert.ErrorIs(t, program(t, l, "moves").Err, ErrUnknownToTarget)
	l = load(t, object(t, "clang-22-v4/jumptable.o"), kernel(t, linux72), LoadOptions{})
	p = program(t, l, "dispatch")
	assert.Equal(t, StatusOK, p.Status, "%v", p.Err)
	require.NotEmpty(t, p.JumpTables)
	for _, pc := range p.JumpTables[0].Slots {
		assert.True(t, p.Reachable()[pc])
	}
}

// Every kind of attach point that a target lacks offers the nearest ones; only functions and
// tracepoints, of which BTF does not list all, may exist all the same.
func TestMissingHooksOfferTheNearest(t *testing.T) {
	k := kernel(t, linux72)
	symbols := kernel(t, linux72, WithKallsyms(map[string]uint64{"vfs_read": 1, "do_sys_openat2": 2, "__x64_sys_openat": 3, "__tracepoint_sched_switch": 4, "static_fn.isra.0": 5}))
	for _, tt := range []struct {
		prog, to      string
		status, known Status // without and with kallsyms
		near          string
	}{
		{"kprobe_fn", "do_sys_opnat2", StatusUnknownHook, StatusAbsent, "do_sys_openat2"},
		{"kretprobe_fn", "vfs_raed", StatusUnknownHook, StatusAbsent, "vfs_read"},
		{"kprobe_fn", "static_fn.isra.0", StatusUnknownHook, StatusOK, ""},
		{"kprobe_fn", "static_fn", StatusUnknownHook, StatusAbsent, ""},
		{"kprobe_multi", "tcp_sndmsg*", StatusUnknownHook, StatusAbsent, "tcp_sendmsg"},
		{"kprobe_multi", "vfs_reed", StatusUnknownHook, StatusAbsent, "vfs_read"},
		{"ksyscall_fn", "opnat", StatusUnknownHook, StatusAbsent, "openat"},
		{"fentry_fn", "vfs_raed", StatusAbsent, StatusAbsent, "vfs_read"},
		{"fexit_fn", "___blk_account_io_start", StatusAbsent, StatusAbsent, "blk_account_io_start"},
		{"fmod_ret_fn", "security_file_opne", StatusAbsent, StatusAbsent, "security_file_open"},
		{"lsm_fn", "file_opne", StatusAbsent, StatusAbsent, "file_open"},
		{"iter_fn", "taks", StatusAbsent, StatusAbsent, "task"},
		{"tp_btf_fn", "sched_swich", StatusAbsent, StatusAbsent, "sched_switch"},
		{"raw_tp_short", "sched_swich", StatusUnknownHook, StatusAbsent, "sched_switch"},
		{"tracepoint_long", "sched/sched_swich", StatusUnknownHook, StatusAbsent, "sched_switch"},
		{"tracepoint_long", "syscalls/sys_enter_opnat", StatusUnknownHook, StatusAbsent, "sys_enter_openat"},
		{"tracepoint_long", "syscalls/openat", StatusAbsent, StatusAbsent, ""},
	} {
		for _, x := range []struct {
			target *Target
			want   Status
		}{{k, tt.status}, {symbols, tt.known}} {
			l := load(t, object(t, "clang-14/sections.o"), x.target, LoadOptions{Attach: map[string]string{tt.prog: tt.to}})
			p := program(t, l, tt.prog)
			require.Equal(t, x.want, p.Status, "%s at %s: %v", tt.prog, tt.to, p.Err)
			if x.want == StatusOK {
				continue
			}
			var e *Error
			require.ErrorAs(t, p.Err, &e)
			if tt.near != "" {
				assert.Contains(t, e.Hint, tt.near, "%s at %s", tt.prog, tt.to)
			}
			if x.want == StatusUnknownHook {
				assert.ErrorIs(t, e, ErrUnlistedHook)
				assert.Contains(t, e.Hint, "settle it with", "%s: what would tell", tt.to)
			} else {
				assert.ErrorIs(t, e, ErrNoHook)
			}
		}
	}
}

func TestByteOrderMustAgree(t *testing.T) {
	_, err := object(t, "clang-14-eb/globals.o").Load(kernel(t, linux72), LoadOptions{})
	assert.ErrorIs(t, err, ErrByteOrder)
}

func TestGlobals(t *testing.T) {
	o := object(t, "clang-14/globals.o")
	l := load(t, o, kernel(t, linux72), LoadOptions{Globals: map[string]string{
		"rw_u64": "0x10", ".data:rw_static": "9", "rw_table[2]": "-5", "rw_text": "abc", "point.color": "GREEN", "point.tag": "5", "ro_u64": "7",
	}})
	read := func(section, name string) []byte {
		m, _ := l.Map(section)
		v := m.Vars[indexVar(m, name)]
		return m.Data[v.Off : v.Off+v.Size]
	}
	assert.Equal(t, uint64(16), binary.LittleEndian.Uint64(read(".data", "rw_u64")))
	assert.Equal(t, uint32(9), binary.LittleEndian.Uint32(read(".data", "rw_static")))
	assert.Equal(t, int32(-5), int32(binary.LittleEndian.Uint32(read(".data", "rw_table")[8:])))
	assert.Equal(t, "abc\x00", string(read(".data", "rw_text")[:4]))
	assert.Equal(t, uint64(7), binary.LittleEndian.Uint64(read(".rodata", "ro_u64")))
	text := l.Object.BTF
	m, _ := l.Map(".data")
	v := m.Vars[indexVar(m, "point")]
	got := text.FormatString(v.Type, read(".data", "point"))
	assert.Contains(t, got, "GREEN")
	for _, bad := range []map[string]string{{"nothing": "1"}, {"rw_u64": "text"}, {"point.nothing": "1"}, {"rw_table[9]": "1"}} {
		_, err := o.Load(kernel(t, linux72), LoadOptions{Globals: bad})
		assert.ErrorIs(t, err, ErrOption, "%v", bad)
	}
	orig, _ := o.Map(".data")
	assert.Equal(t, byte(42), orig.Data[orig.Vars[indexVar(orig, "rw_u64")].Off], "the object is not changed")
}

func TestMapSizes(t *testing.T) {
	o := object(t, "clang-14/maps_all.o")
	l := load(t, o, kernel(t, linux72), LoadOptions{MapSizes: map[string]uint32{"hash": 77}})
	m, _ := l.Map("hash")
	assert.Equal(t, uint32(77), m.MaxEntries)
	_, err := o.Load(kernel(t, linux72), LoadOptions{MapSizes: map[string]uint32{"no": 1}})
	assert.ErrorIs(t, err, ErrOption)
}

func TestTarget(t *testing.T) {
	for _, c := range []struct{ file, arch, version string }{
		{linux510, "x86", "5.10.262"}, {linux72, "x86", "7.2.13"}, {arm61, "arm64", "6.1.176"},
	} {
		k := kernel(t, c.file)
		assert.Equal(t, c.arch, k.Arch)
		assert.Equal(t, c.version, k.VersionString())
		assert.Equal(t, "name", k.VersionKnown)
		inferred := NewTarget("vmlinux", k.BTF)
		assert.LessOrEqual(t, inferred.VersionLow>>8, k.Version>>8, c.file)
		assert.GreaterOrEqual(t, inferred.Version>>8, k.Version>>8, c.file)
		t.Log(c.file, inferred.VersionKnown)
	}
	k := kernel(t, linux510)
	assert.True(t, k.HasHelper(uapi.FuncRedirectPeer))
	assert.False(t, k.HasHelper(156))
	assert.False(t, k.HasMapType(uapi.MapTypeArena))
	assert.True(t, k.HasMapType(uapi.MapTypeRingbuf))
	assert.False(t, k.HasProgType(uapi.ProgTypeNetfilter))
	assert.True(t, k.HasAttachType(uapi.AttachSkLookup))
	assert.False(t, k.HasAttachType(uapi.AttachNetfilter))
	assert.True(t, NewTarget("", nil).HasHelper(9999), "nothing is known without BTF")
}

func TestParseRelease(t *testing.T) {
	for _, c := range []struct {
		name, release string
		version       uint32
	}{
		{"linux-6.12.107-amd64.btf.xz", "6.12.107-amd64", 6<<16 | 12<<8 | 107},
		{"/x/linux-7.3-rc7-amd64.btf.xz", "7.3-rc7-amd64", 7<<16 | 3<<8},
		{"linux-image-5.10.0-46-cloud-amd64", "5.10.0-46-cloud-amd64", 5<<16 | 10<<8},
		{"5.4.0-1009-aws.btf.tar.xz", "5.4.0-1009-aws", 5<<16 | 4<<8},
		{"4.18.0-305.el8.x86_64.btf", "4.18.0-305.el8.x86_64", 4<<16 | 18<<8},
		{"linux-5.10.262-amd64.min.btf", "5.10.262-amd64.min", 5<<16 | 10<<8 | 255},
	} {
		release, v, ok := ParseRelease(c.name)
		assert.True(t, ok, c.name)
		assert.Equal(t, c.release, release)
		assert.Equal(t, c.version, v, c.name)
	}
	for _, name := range []string{"vmlinux", "host", "kernel.btf", "a2.b"} {
		_, _, ok := ParseRelease(name)
		assert.False(t, ok, name)
	}
}

// A chain of 50,000 functions and 100,000 relocations must not take quadratic time
// or a deep stack.
func TestBigObject(t *testing.T) {
	const n = 50000
	var insns []decode.Insn
	var rels []elfbuild.Rel
	b := elfbuild.New(binary.LittleEndian)
	main := b.Code("xdp", []decode.Insn{{Code: 0x85, Src: 1, Imm: -1}, {Code: 0x95}})
	for range n {
		insns = append(insns, decode.Insn{Code: 0x18, Dst: 1}, decode.Insn{}, decode.Insn{Code: 0x85, Src: 1, Imm: -1}, decode.Insn{Code: 0x95})
	}
	text := b.Code(".text", insns)
	data := b.Section(".data", 1, 3, make([]byte, 64))
	v := b.Symbol("v", data, 8, 8, 1, 1)
	b.Func("prog", main, 0, 2)
	first := 0
	syms := make([]int, n)
	for i := range n {
		syms[i] = b.Func(fmt.Sprintf("f%d", i), text, i*4, 4)
	}
	first = syms[0]
	for i := range n {
		rels = append(rels, elfbuild.Rel{Off: uint64(i) * 32, Sym: v, Type: rel64}, elfbuild.Rel{Off: uint64(i)*32 + 16, Sym: syms[(i+1)%n], Type: rel6432})
	}
	b.Rel(main, elfbuild.Rel{Off: 0, Sym: first, Type: rel6432})
	b.Rel(text, rels...)
	start := time.Now()
	o, err := OpenBytes("big.o", b.Bytes())
	require.NoError(t, err)
	l := load(t, o, NewTarget("", nil), LoadOptions{})
	p := program(t, l, "prog")
	assert.Len(t, p.Insns, 4*n+2)
	assert.Len(t, p.Funcs, n+1)
	assert.Len(t, p.Refs, n)
	p.Reachable()
	assert.Less(t, time.Since(start), 20*time.Second)
	t.Log(time.Since(start))
}

// A hard CO-RE error refuses the object, and every record is still answered.
func TestHardCOREErrors(t *testing.T) {
	for _, c := range []struct{ object, target string }{
		{"err_range.o", "err_range.far.btf"}, {"err_anonymous.o", "err_anonymous.none.btf"}, {"err_ambiguous_size.o", "err_ambiguous_size.two.btf"},
	} {
		spec, err := btffile.Load(filepath.Join("..", "testdata", "core", "btf", c.target), nil)
		require.NoError(t, err)
		o, err := Open(filepath.Join("..", "testdata", "core", "clang-14", c.object))
		require.NoError(t, err)
		l := load(t, o, NewTarget(c.target, spec), LoadOptions{})
		require.ErrorIs(t, l.Err, ErrCORE, c.object)
		var ce *corerelo.Error
		assert.ErrorAs(t, l.Err, &ce)
		var e *Error
		require.ErrorAs(t, l.Err, &e)
		assert.NotEmpty(t, e.Program)
		assert.NotEmpty(t, e.Source)
		assert.NotContains(t, l.Err.Error(), "\n")
		t.Log(l.Err)
		records := 0
		for _, sec := range o.Ext.CORE {
			records += len(sec.Records)
		}
		for _, fn := range l.Functions {
			records -= len(fn.Relocs)
		}
		assert.Zero(t, records)
		for _, p := range l.Programs {
			assert.Equal(t, StatusRefused, p.Status)
			assert.ErrorIs(t, p.Err, ErrCORE)
		}
	}
}

// A BTF reduced to what some objects need says nothing about hooks and helpers.
func TestReducedBTF(t *testing.T) {
	paths, err := filepath.Glob("../testdata/btf/min/*.btf")
	require.NoError(t, err)
	for _, path := range paths {
		spec, err := btffile.Load(path, nil)
		require.NoError(t, err)
		target := NewTarget(filepath.Base(path), spec)
		l := load(t, object(t, "clang-14/sections.o"), target, LoadOptions{})
		if target.reduced() {
			assert.Equal(t, StatusUnknownHook, program(t, l, "fentry_fn").Status, path)
		}
		p := program(t, l, "xdp_plain")
		assert.Equal(t, StatusOK, p.Status, "%s: %v", path, p.Err)
	}
}

// The records of whole objects against what libbpf answered, in its order.
func TestCOREExpectations(t *testing.T) {
	for _, dir := range []string{"clang-14", "clang-22"} {
		f, err := os.Open(filepath.Join("..", "testdata", "core", "expect-relo."+dir+".jsonl.gz"))
		require.NoError(t, err)
		defer f.Close()
		unpacked, err := gzip.NewReader(f)
		require.NoError(t, err)
		loaded := map[string]*Linked{}
		n := 0
		for sc := bufio.NewScanner(unpacked); sc.Scan(); {
			var r struct {
				Object, BTF, Program, Kind, Result string
				Insn                               int
				Old, New                           *json.Number
			}
			require.NoError(t, json.Unmarshal(sc.Bytes(), &r))
			if r.Result != "ok" && r.Result != "poison" {
				continue
			}
			key := r.Object + " " + r.BTF
			l := loaded[key]
			if l == nil {
				spec, err := btffile.Load(filepath.Join("..", "testdata", "core", "btf", r.BTF), nil)
				require.NoError(t, err)
				o, err := Open(filepath.Join("..", "testdata", "core", dir, r.Object))
				require.NoError(t, err)
				l = load(t, o, NewTarget(r.BTF, spec), LoadOptions{})
				loaded[key] = l
			}
			for _, fn := range l.Functions {
				if fn.Name != r.Program {
					continue
				}
				for i := range fn.Relocs {
					if rel := &fn.Relocs[i]; rel.FuncInsn == r.Insn {
						n++
						assert.NoError(t, rel.Err, "%s %s %d", key, r.Program, r.Insn)
						assert.Equal(t, r.Kind, rel.Kind.String())
						assert.Equal(t, r.Result == "poison", rel.Poisoned(), "%s %s %d", key, r.Program, r.Insn)
						if r.Result == "ok" && r.New != nil {
							assert.Equal(t, r.New.String(), fmt.Sprint(rel.Result.New), "%s %s %d", key, r.Program, r.Insn)
						}
					}
				}
			}
		}
		assert.Greater(t, n, 100)
		t.Log(dir, n)
	}
}

// TestLoadsShareNoValues: what a load makes of the initial values of a map stays its own.
func TestLoadsShareNoValues(t *testing.T) {
	o := object(t, "clang-14/maps_values.o")
	for _, m := range o.Maps {
		if len(m.Values) == 0 {
			continue
		}
		before := slices.Clone(m.Values)
		a := load(t, o, kernel(t, linux72), LoadOptions{})
		b := load(t, o, kernel(t, linux72), LoadOptions{})
		own, ok := a.Map(m.Name)
		require.True(t, ok)
		other, ok := b.Map(m.Name)
		require.True(t, ok)
		assert.Equal(t, before, m.Values, "loading edits the object")
		for i := range own.Values {
			if in := own.Values[i].Map; in != nil {
				assert.Same(t, a.Maps[in.Index], in)
				assert.NotSame(t, m.Values[i].Map, in, "a load has maps of its own")
				assert.NotSame(t, other.Values[i].Map, in)
			}
			own.Values[i] = MapInit{Index: 99}
		}
		assert.Equal(t, before, m.Values)
		assert.NotEqual(t, own.Values, other.Values)
	}
}

func TestFilesThatAreNotObjectsYetAreRecognised(t *testing.T) {
	for text, want := range map[string]string{
		"BC\xc0\xde\x35\x14\x00\x00": "LLVM bitcode", "\xde\xc0\x17\x0b\x00": "LLVM bitcode", "; ModuleID = 'x'\n": "LLVM assembly (.ll)",
		"/* c */\n#include <linux/bpf.h>\n": "C source", "!<arch>\nx": "an archive of objects", "hello world": "no ELF header",
		"# the first run\nobject: x.o\nruns: []\n": "a scenario file", "description: two at once\nrace:\n- name: x\n": "a scenario file",
		"\x00#include ": "no ELF header",
	} {
		_, err := OpenBytes("f", []byte(text))
		require.ErrorIs(t, err, ErrNotObject)
		assert.ErrorContains(t, err, want)
	}
}
