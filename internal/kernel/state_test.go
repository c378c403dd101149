package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// observe runs a fixed script on a kernel and collects everything it saw.
func observe(t *testing.T, k *Kernel) []any {
	t.Helper()
	var out []any
	add := func(v ...any) { out = append(out, v...) }
	k.Clock().Tick()
	add(k.Clock().Mono(), k.Clock().Boot(), k.Clock().Real(), k.Random32(), k.Random64(), k.CPU())
	for _, p := range []string{"pid", "tgid", "real_parent.tgid", "cred.uid.val", "se.vruntime", "mm.arg_start", "exit_code", "fs.pwd.dentry.d_inode.i_ino"} {
		add(p, uintAt(t, k.Current(), p))
	}
	require.NoError(t, k.Current().Set("exit_code", 12))
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeSchedCls})
	add(c.Addr, c.Packet.Data(), load(t, c, 8, 4))
	require.Nil(t, k.Mem().Store(c.Addr+8, 4, 5))
	add(c.Packet.Resize(0, 20), c.Packet.Data())
	o, err := k.NewFile("f", model.FileSpec{Path: "/etc/passwd", Ino: 77, Mode: 0o600})
	require.NoError(t, err)
	add(o.Addr(), uintAt(t, o, "f_inode.i_ino"), uintAt(t, o, "f_inode.i_mode"))
	add(k.UserString("hello"), k.SymbolAddr("something_new"), uintAt(t, k.Current(), "exit_code"))
	k.SetStack(true, []uint64{1, 2})
	k.Clock().Advance(1000)
	return out
}

func TestSnapshotRestore(t *testing.T) {
	k := newEmbedded(t)
	require.NoError(t, k.Current().Set("pid", 999))
	kept := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeXDP})
	k.PidTgid()
	ms, ks := k.Mem().Snapshot(), k.Snapshot()
	first := observe(t, k)
	require.NoError(t, k.Current().Set("pid", 1))
	assert.Zero(t, kept.Packet.AdjustHead(-10))
	for range 2 {
		k.Mem().Restore(ms)
		k.Restore(ks)
		assert.EqualValues(t, 999, uintAt(t, k.Current(), "pid"))
		assert.Equal(t, 64, kept.Packet.Len())
		assert.Equal(t, kept.Packet.Data(), load(t, kept, 0, 4))
		assert.NotEqual(t, []uint64{1, 2}, k.Stack(true))
		assert.Equal(t, first, observe(t, k))
	}
	// A snapshot of another kernel changes nothing.
	k.Restore(newEmbedded(t).Snapshot())
	k.Restore(nil)
}

func TestDeterminism(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		if b.spec.PointerSize() == 4 {
			t.Skip("the script reads a 64-bit packet")
		}
		assert.Equal(t, observe(t, newKernel(t, b)), observe(t, newKernel(t, b)))
	})
}

func TestContextsAreForgotten(t *testing.T) {
	k := newEmbedded(t)
	for range 3 {
		for _, s := range []hook.ContextSpec{{ProgType: uapi.ProgTypeSchedCls}, {ProgType: uapi.ProgTypeXDP}, {ProgType: uapi.ProgTypeTracepoint, AttachTo: "sched/sched_switch"}, {ProgType: uapi.ProgTypeKprobe, AttachTo: "vfs_read", Section: "kprobe/vfs_read"}} {
			c := newContext(t, k, s)
			c.Free()
			_, f := k.Mem().Load(c.Addr, 4)
			require.NotNil(t, f)
			assert.Equal(t, mem.UseAfterFree, f.Kind)
		}
	}
	assert.Empty(t, k.Contexts())
}

// TestTheRunQueueOfATaskHasFewTasks: tools draw how many.
func TestTheRunQueueOfATaskHasFewTasks(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		o := newKernel(t, b).Current()
		for _, name := range []string{"nr_running", "nr_queued", "h_nr_running", "h_nr_queued"} {
			if n, err := o.Uint("se.cfs_rq." + name); err == nil {
				assert.True(t, n >= 1 && n <= 4, "%s: %d", name, n)
				return
			}
		}
		t.Skip("run queues of these types do not say")
	})
}

func TestPercpu(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b, func(c *Config) { c.CPUs = 4 })
		if k.PercpuObject("runqueues", 0) == nil {
			t.Skip("the BTF lists no per-CPU variables")
		}
		const name = "runqueues"
		base, ok := k.KsymAddr(name)
		require.True(t, ok)
		va, err := k.VariableAddr(name)
		require.NoError(t, err)
		assert.Equal(t, base, va)
		_, f := k.Mem().Load(base, 4)
		require.NotNil(t, f, "a per-CPU address is not a pointer")
		seen := map[uint64]bool{}
		for cpu := range 4 {
			a, ok := k.PercpuAddr(base, cpu)
			require.True(t, ok)
			o := k.PercpuObject(name, cpu)
			require.NotNil(t, o)
			assert.Equal(t, o.Addr(), a)
			assert.Same(t, o, k.ObjectAt(a))
			seen[a] = true
			_, f := k.Mem().Load(a, 4)
			require.Nil(t, f)
			require.NoError(t, o.Set("nr_running", cpu+1))
			_, typ, _, ok := k.Resolve(a)
			require.True(t, ok)
			assert.Equal(t, "rq", typ)
		}
		assert.Len(t, seen, 4)
		for cpu := range 4 {
			assert.EqualValues(t, cpu+1, uintAt(t, k.PercpuObject(name, cpu), "nr_running"))
		}
		_, ok = k.PercpuAddr(base, 4)
		assert.False(t, ok)
		_, ok = k.PercpuAddr(0x1234, 0)
		assert.False(t, ok)
	})
}

func TestSymbols(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		a, ok := k.KsymAddr("vfs_read")
		require.True(t, ok)
		name, off, ok := k.SymbolAt(a + 7)
		require.True(t, ok)
		assert.Equal(t, "vfs_read", name)
		assert.EqualValues(t, 7, off)
		v, f := k.Mem().Load(a, 4)
		require.Nil(t, f)
		assert.EqualValues(t, uint64(0xcccccccc), v)
		assert.NotNil(t, k.Mem().Store(a, 4, 0))
		_, ok = k.KsymAddr("not_in_this_kernel")
		assert.False(t, ok)
		x := k.SymbolAddr("not_in_this_kernel")
		assert.Equal(t, x, k.SymbolAddr("not_in_this_kernel"))
		name, _, ok = k.SymbolAt(x)
		assert.True(t, ok)
		assert.Equal(t, "not_in_this_kernel", name)
		_, _, ok = k.SymbolAt(12)
		assert.False(t, ok)
		j, ok := k.KsymAddr("jiffies")
		require.True(t, ok)
		v, f = k.Mem().Load(j, 8)
		require.Nil(t, f)
		assert.Equal(t, k.Clock().Jiffies(), v)
		net, err := k.VariableAddr("init_net")
		require.NoError(t, err)
		assert.Equal(t, uintAt(t, k.Current(), "nsproxy.net_ns"), net)
		_, err = k.VariableAddr("no_such_variable")
		var absent *object.AbsentError
		assert.ErrorAs(t, err, &absent)
	})
	k := newEmbedded(t, func(c *Config) { c.Kallsyms = map[string]uint64{"given": 0xffffffffc0001000} })
	a, ok := k.KsymAddr("given")
	assert.True(t, ok)
	name, off, ok := k.SymbolAt(a + 16)
	assert.True(t, ok)
	assert.Equal(t, "given", name)
	assert.EqualValues(t, 16, off)
	assert.Zero(t, k.HashPointer(0))
	assert.NotEqual(t, k.HashPointer(1), k.HashPointer(2))
}

func TestConfigErrors(t *testing.T) {
	b := targets()[0]
	m, err := mem.New(mem.Config{PointerSize: 4, Size: 16 << 20})
	require.NoError(t, err)
	defer m.Close()
	_, err = New(Config{Mem: m, BTF: b.spec})
	assert.Error(t, err, "pointer sizes differ")
	_, err = New(Config{})
	assert.Error(t, err)
	_, err = New(Config{Mem: m, CPUs: -1})
	assert.Error(t, err)
	k := newEmbedded(t)
	assert.Error(t, k.SetCPU(2))
	assert.NoError(t, k.SetCPU(1))
	assert.NotEqual(t, k.CurrentOn(0), k.Current())
}

func TestRandom(t *testing.T) {
	k := newEmbedded(t, func(c *Config) { c.Random = []uint64{7, 8} })
	assert.EqualValues(t, 7, k.Random32())
	assert.EqualValues(t, 8, k.Random64())
	assert.NotEqual(t, k.Random64(), k.Random64())
}

func TestSyscallTable(t *testing.T) {
	for arch, want := range map[string]map[string]int{
		"x86": {"read": 0, "openat": 257, "execve": 59, "newstat": 4}, "arm64": {"read": 63, "openat": 56, "execve": 221}, "riscv": {"openat": 56}, "arm": {"read": 3, "openat": 322, "execve": 11},
	} {
		k := &hook.Hooks{Space: object.New(object.Config{Arch: arch})}
		for name, nr := range want {
			got, ok := k.SyscallNumber(name)
			assert.True(t, ok, "%s %s", arch, name)
			assert.Equal(t, nr, got, "%s %s", arch, name)
		}
	}
	k := &hook.Hooks{Space: object.New(object.Config{Arch: "arm64"})}
	_, ok := k.SyscallNumber("open")
	assert.False(t, ok)
	name, ok := k.SyscallName(56)
	assert.True(t, ok)
	assert.Equal(t, "openat", name)
}

func TestUserMemory(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		a := k.UserString("abc")
		p := make([]byte, 4)
		require.Nil(t, k.Mem().ReadUser(a, p))
		assert.Equal(t, "abc\x00", string(p))
		_, f := k.Mem().Load(a, 1)
		require.NotNil(t, f)
		assert.Equal(t, mem.UserPointer, f.Kind)
		assert.True(t, k.IsUserAddress(0))
		assert.False(t, k.IsUserAddress(k.Current().Addr()))
		require.NoError(t, k.UserWrite(0x10000, []byte("xyz")))
		require.Nil(t, k.Mem().ReadUser(0x10000, p[:3]))
		// The arguments of the current process.
		start, end := uintAt(t, k.Current(), "mm.arg_start"), uintAt(t, k.Current(), "mm.arg_end")
		args := make([]byte, end-start)
		require.Nil(t, k.Mem().ReadUser(start, args))
		assert.Contains(t, string(args), k.Comm())
	})
}

func TestWritableFields(t *testing.T) {
	k := newEmbedded(t)
	k.SetProgType(uapi.ProgTypeStructOps)
	sk, err := k.NewObjectNamed("sk", "sock")
	require.NoError(t, err)
	f, _, err := k.LayoutNamed("tcp_sock").Place("snd_cwnd")
	require.NoError(t, err)
	require.Nil(t, k.Mem().Store(sk.Addr()+f.Off, 4, 20))
	v, fault := k.Mem().Load(sk.Addr()+f.Off, 4)
	require.Nil(t, fault)
	assert.EqualValues(t, 20, v)
	assert.NotNil(t, k.Mem().Store(sk.Addr(), 4, 1))
	state, err := k.NewObjectNamed("state", "bpf_dummy_ops_state")
	require.NoError(t, err)
	assert.Nil(t, k.Mem().Store(state.Addr(), 4, 1))
	assert.NotNil(t, k.Mem().Store(state.Addr()+4, 4, 1), "past its end")
	k.SetProgType(uapi.ProgTypeKprobe)
	assert.NotNil(t, k.Mem().Store(sk.Addr()+f.Off, 4, 1))
	conn, err := k.NewObjectNamed("connection", "nf_conn")
	require.NoError(t, err)
	mark, err := conn.FieldAddr("mark")
	require.NoError(t, err)
	assert.NotNil(t, k.Mem().Store(mark, 4, 1))
	for typ, may := range map[uapi.ProgType]bool{uapi.ProgTypeXDP: true, uapi.ProgTypeSchedCls: true, uapi.ProgTypeSocketFilter: false, uapi.ProgTypeStructOps: false} {
		k.SetProgType(typ)
		assert.Equal(t, may, k.Mem().Store(mark, 4, 1) == nil, "%v", typ)
		assert.NotNil(t, k.Mem().Store(mark+2, 4, 1), "%v: past its end", typ)
		assert.NotNil(t, k.Mem().Store(mark-4, 4, 1), "%v: before it", typ)
	}
}

func TestInferArch(t *testing.T) {
	want := map[string]string{"amd64": "x86", "arm64": "arm64", "riscv64": "riscv", "armhf": "arm", "s390x": "s390"}
	for _, b := range targets() {
		for part, arch := range want {
			if containsWord(b.name, part) {
				assert.Equal(t, arch, hook.InferArch(b.spec), b.name)
			}
		}
	}
	assert.Empty(t, hook.InferArch(nil))
}

func containsWord(name, part string) bool {
	for i := 0; i+len(part) <= len(name); i++ {
		if name[i:i+len(part)] == part {
			return true
		}
	}
	return false
}
