package kernel

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// newContext makes a context that must exist.
func newContext(t *testing.T, k *Kernel, s hook.ContextSpec) *hook.Context {
	t.Helper()
	c, err := k.NewContext(s)
	require.NoError(t, err)
	return c
}

// word reads the u64 at index i of a context.
func word(t *testing.T, c *hook.Context, i int) uint64 {
	t.Helper()
	v, f := c.Space().Mem().Load(c.Addr+8*uint64(i), 8)
	require.Nil(t, f)
	return v
}

// register reads a register of a pt_regs context through BTF.
func register(t *testing.T, c *hook.Context, name string) uint64 {
	t.Helper()
	r, ok := c.Space().BTF().Find(btf.KindStruct, "pt_regs")
	require.True(t, ok)
	f, err := c.Space().BTF().ResolvePath(r.ID, name)
	require.NoError(t, err)
	v, fault := c.Space().Mem().Load(c.Addr+uint64(f.BitOffset/8), c.Space().Mem().PointerSize())
	require.Nil(t, fault)
	return v
}

var argRegister = map[string][]string{"x86": {"di", "si", "dx", "cx"}, "arm64": {"regs[0]", "regs[1]", "regs[2]", "regs[3]"}, "riscv": {"a0", "a1", "a2", "a3"}, "arm": {"uregs[0]", "uregs[1]", "uregs[2]", "uregs[3]"}, "s390": {"gprs[2]", "gprs[3]", "gprs[4]", "gprs[5]"}}
var retRegister = map[string]string{"x86": "ax", "arm64": "regs[0]", "riscv": "a0", "arm": "uregs[0]", "s390": "gprs[2]"}

func TestKprobe(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		require.NotEmpty(t, k.Arch())
		c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: "vfs_read", Section: "kprobe/vfs_read"})
		require.Len(t, c.Args, 4)
		mask := k.Mem().Truncate(^uint64(0))
		for i, a := range c.Args {
			assert.Equal(t, a.Value&mask, register(t, c, argRegister[k.Arch()][i]), a.Name)
		}
		assert.Equal(t, "file", c.Args[0].Object.TypeName())
		assert.True(t, k.IsUserAddress(c.Args[1].Value), "buf is a user pointer")
		assert.Equal(t, c.FuncAddr, mustSymbol(t, k, "vfs_read"))
		name, off, ok := k.SymbolAt(c.FuncAddr + 4)
		assert.True(t, ok)
		assert.Equal(t, "vfs_read", name)
		assert.EqualValues(t, 4, off)

		r := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: "vfs_read", Section: "kretprobe/vfs_read"})
		assert.True(t, r.Returns)
		assert.Equal(t, r.Ret.Value, register(t, r, retRegister[k.Arch()]))
		assert.Positive(t, int64(r.Ret.Value), "a read that succeeds returns a length")

		// The same argument is the same object at another hook.
		w := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeTracing, Attach: uapi.AttachTraceFentry, AttachTo: "vfs_write"})
		assert.Equal(t, c.Args[0].Value, word(t, w, 0))

		u := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: "no_such_function.isra.0", Section: "kprobe"})
		assert.True(t, u.Untyped)
		assert.NotEmpty(t, u.Args)
		require.NoError(t, k.Err())
	})
}

func mustSymbol(t *testing.T, k *Kernel, name string) uint64 {
	t.Helper()
	a, ok := k.KsymAddr(name)
	require.True(t, ok)
	return a
}

func TestArgsOverride(t *testing.T) {
	k := newEmbedded(t)
	task, err := k.NewTask("victim")
	require.NoError(t, err)
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeLSM, AttachTo: "task_kill", Args: map[string]any{"p": task, "sig": 9, "ret": -1}})
	assert.Equal(t, task.Addr(), word(t, c, 0))
	assert.EqualValues(t, 9, word(t, c, 2))
	assert.Equal(t, ^uint64(0), word(t, c, c.Slots))
	assert.Same(t, task, c.Arg("p").Object)
	assert.Nil(t, c.Arg("nothing"))
	_, err = k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeLSM, AttachTo: "task_kill", Args: map[string]any{"sig": struct{}{}}})
	assert.ErrorIs(t, err, object.ErrValue)
}

func TestSyscallWrapper(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		fn := k.SyscallSymbol("openat")
		if len(b.spec.IDs(btf.KindFunc, fn)) == 0 {
			t.Skipf("the BTF has no function %s", fn)
		}
		c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: fn, Section: "kprobe/" + fn})
		first := register(t, c, argRegister[k.Arch()][0])
		if k.Arch() == "arm" { // no wrappers: the arguments are the function's own
			assert.True(t, k.IsUserAddress(register(t, c, "uregs[1]")))
			return
		}
		inner := k.ObjectAt(first)
		require.NotNil(t, inner)
		assert.Equal(t, "pt_regs", inner.TypeName())
		name := map[string]string{"x86": "si", "arm64": "regs[1]", "riscv": "a1", "s390": "gprs[3]"}[k.Arch()]
		user := uintAt(t, inner, name)
		assert.True(t, k.IsUserAddress(user))
		buf := make([]byte, 5)
		require.Nil(t, k.Mem().ReadUser(user, buf))
		assert.Equal(t, "/tmp/", string(buf))

		s := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: "openat", Section: "ksyscall/openat"})
		assert.Equal(t, fn, s.Func)
		if id := b.spec.IDs(btf.KindFunc, fn); len(id) > 0 {
			f := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeTracing, Attach: uapi.AttachTraceFentry, AttachTo: fn})
			assert.Equal(t, first, word(t, f, 0))
		}
	})
}

func TestUprobe(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: "/bin/bash:readline", Section: "uretprobe//bin/bash:readline"})
		assert.True(t, k.IsUserAddress(c.Ret.Value))
		assert.Equal(t, "readline", c.Func)
		c = newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: "/bin/bash:readline", Section: "uprobe//bin/bash:readline"})
		assert.True(t, k.IsUserAddress(register(t, c, argRegister[k.Arch()][0])))
	})
}

func TestTracing(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeTracing, Attach: uapi.AttachTraceRawTp, AttachTo: "sched_switch"})
		require.GreaterOrEqual(t, len(c.Args), 3)
		assert.Equal(t, []string{"preempt", "prev", "next"}, []string{c.Args[0].Name, c.Args[1].Name, c.Args[2].Name})
		assert.Equal(t, k.Current().Addr(), word(t, c, 1))
		next := k.ObjectAt(word(t, c, 2))
		require.NotNil(t, next)
		assert.NotEqual(t, uintAt(t, k.Current(), "pid"), uintAt(t, next, "pid"))
		w := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeTracing, Attach: uapi.AttachTraceRawTp, AttachTo: "sched_wakeup"})
		assert.Equal(t, next.Addr(), word(t, w, 0), "the task that was woken runs next")

		x := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeTracing, Attach: uapi.AttachTraceFexit, AttachTo: "vfs_read"})
		assert.Equal(t, 4, x.Slots)
		assert.Equal(t, 8*5, x.Size)
		assert.Equal(t, x.Ret.Value, word(t, x, 4))
		e := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeTracing, Section: "fentry/vfs_read", AttachTo: "vfs_read"})
		assert.Equal(t, 8*4, e.Size)
		assert.NotNil(t, k.Mem().Store(e.Addr, 8, 1), "the context is read-only")

		if len(b.spec.IDs(btf.KindFunc, "bpf_lsm_file_open")) > 0 { // s390 kernels have no BPF LSM
			l := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeLSM, AttachTo: "file_open"})
			assert.Equal(t, "file", l.Args[0].Object.TypeName())
			assert.Zero(t, word(t, l, 1))
		}

		s := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeRawTracepoint, AttachTo: "sys_enter"})
		if nr, ok := k.SyscallNumber("openat"); ok {
			assert.EqualValues(t, nr, word(t, s, 1))
		}
		assert.Equal(t, "pt_regs", k.ObjectAt(word(t, s, 0)).TypeName())
		require.NoError(t, k.Err())
	})
}

func TestAbsentHooks(t *testing.T) {
	k := newEmbedded(t)
	for _, s := range []hook.ContextSpec{
		{ProgType: uapi.ProgTypeTracing, Attach: uapi.AttachTraceFentry, AttachTo: "vfs_raed"},
		{ProgType: uapi.ProgTypeTracing, Attach: uapi.AttachTraceRawTp, AttachTo: "sched_swich"},
		{ProgType: uapi.ProgTypeRawTracepoint, AttachTo: "sched_swich"},
		{ProgType: uapi.ProgTypeLSM, AttachTo: "file_opne"},
		{ProgType: uapi.ProgTypeTracepoint, AttachTo: "sched/sched_swich"},
	} {
		_, err := k.NewContext(s)
		var absent *object.AbsentError
		require.ErrorAs(t, err, &absent)
		assert.NotEmpty(t, absent.Nearest, s.AttachTo)
	}
	var not *hook.NotSimulated
	_, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeExt})
	require.ErrorAs(t, err, &not)
	assert.False(t, k.Simulates(uapi.ProgTypeExt))
	assert.True(t, k.Simulates(uapi.ProgTypeKprobe))

}

// recordField reads a field of a tracepoint's context.
func recordField(t *testing.T, c *hook.Context, path string) uint64 {
	t.Helper()
	f, err := c.Space().BTF().ResolvePath(c.Record.Type(), path)
	require.NoError(t, err)
	v, fault := c.Space().Mem().Load(c.Addr+uint64(f.BitOffset/8), int(f.BitSize+7)/8)
	if f.BitSize == 0 {
		n, err := c.Space().BTF().Sizeof(f.Type)
		require.NoError(t, err)
		v, fault = c.Space().Mem().Load(c.Addr+uint64(f.BitOffset/8), int(n))
	}
	require.Nil(t, fault)
	return v
}

func TestTracepoints(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		tp := func(name string) *hook.Context {
			return newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeTracepoint, AttachTo: name})
		}
		pid, _ := k.PidTgid()
		sw := tp("sched/sched_switch")
		assert.Equal(t, "trace_event_raw_sched_switch", sw.Type)
		assert.EqualValues(t, pid, recordField(t, sw, "prev_pid"))
		assert.EqualValues(t, pid, recordField(t, sw, "ent.pid"))
		wake := tp("sched/sched_wakeup")
		assert.Equal(t, "trace_event_raw_sched_wakeup_template", wake.Type)
		assert.Equal(t, recordField(t, sw, "next_pid"), recordField(t, wake, "pid"))

		exec := tp("sched/sched_process_exec")
		loc := recordField(t, exec, "__data_loc_filename")
		s, end, fault := k.Mem().ReadCString(exec.Addr+loc&0xffff, 64)
		require.Nil(t, fault)
		assert.True(t, end)
		assert.Equal(t, "/usr/bin/"+k.Comm(), string(s))
		assert.EqualValues(t, len(s)+1, loc>>16)

		st := tp("sock/inet_sock_set_state")
		sk := k.ObjectAt(recordField(t, st, "skaddr"))
		require.NotNil(t, sk)
		assert.Equal(t, "sock", sk.TypeName())
		assert.Equal(t, uintAt(t, sk, "__sk_common.skc_num"), recordField(t, st, "sport"))
		port, err := sk.GetBytes("__sk_common.skc_dport")
		require.NoError(t, err)
		assert.EqualValues(t, binary.BigEndian.Uint16(port), recordField(t, st, "dport"))
		assert.EqualValues(t, uapi.AFInet, recordField(t, st, "family"))

		rq := tp("block/block_rq_issue")
		assert.EqualValues(t, 8<<20, recordField(t, rq, "dev"))
		assert.Equal(t, recordField(t, rq, "bytes"), recordField(t, rq, "nr_sector")*512)

		en := tp("syscalls/sys_enter_openat")
		if nr, ok := k.SyscallNumber("openat"); ok {
			assert.EqualValues(t, nr, recordField(t, en, "id"))
		}
		assert.True(t, k.IsUserAddress(recordField(t, en, "args[1]")))
		ex := tp("syscalls/sys_exit_openat")
		assert.GreaterOrEqual(t, recordField(t, ex, "ret"), uint64(3))
		require.NoError(t, k.Err())
	})
}

// TestEveryTracepoint makes the record of all events of the kernel.
func TestEveryTracepoint(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		all, missing := 0, 0
		for id := btf.ID(1); int(id) < b.spec.NumTypes(); id++ {
			name, ok := strings.CutPrefix(b.spec.Name(id), "btf_trace_")
			if !ok || b.spec.Kind(id) != btf.KindTypedef || strings.HasSuffix(name, "_tp") {
				continue
			}
			all++
			c, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeTracepoint, AttachTo: "x/" + name})
			if err != nil {
				missing++
			} else {
				c.Free()
			}
			c, err = k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeRawTracepoint, AttachTo: name})
			require.NoError(t, err, name)
			c.Free()
		}
		require.NoError(t, k.Err())
		assert.Greater(t, all, 500)
		assert.LessOrEqual(t, missing, all/50, "%d of %d events have no structure", missing, all)
	})
}

func TestPerfEvent(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypePerfEvent, Args: map[string]any{"sample_period": 99}})
		l := k.LayoutNamed("bpf_perf_event_data")
		if l == nil {
			return
		}
		f, _, err := l.Place("sample_period")
		require.NoError(t, err)
		v, fault := k.Mem().Load(c.Addr+f.Off, 8)
		require.Nil(t, fault)
		assert.EqualValues(t, 99, v)
		assert.EqualValues(t, l.Size, c.Size)
	})
}

func TestSyscallProgram(t *testing.T) {
	k := newEmbedded(t)
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeSyscall})
	assert.Equal(t, make([]byte, 64), c.CtxOut())
	require.Nil(t, k.Mem().Store(c.Addr+8, 4, 7))
	assert.EqualValues(t, 7, c.CtxOut()[8])
	c = newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeSyscall, Bytes: []byte{1, 2, 3}})
	assert.Equal(t, []byte{1, 2, 3}, c.CtxOut())
}

// TestWithoutBTF: contexts of the user space ABI need no BTF.
func TestWithoutBTF(t *testing.T) {
	b := targets()[0]
	k := newKernel(t, b, func(c *Config) { c.BTF, c.Arch = nil, "x86" })
	for _, s := range []hook.ContextSpec{
		{ProgType: uapi.ProgTypeXDP}, {ProgType: uapi.ProgTypeSchedCls}, {ProgType: uapi.ProgTypeSyscall},
		{ProgType: uapi.ProgTypeKprobe, AttachTo: "vfs_read", Section: "kprobe/vfs_read"}, {ProgType: uapi.ProgTypePerfEvent},
		{ProgType: uapi.ProgTypeRawTracepoint, AttachTo: "sched_switch"}, {ProgType: uapi.ProgTypeTracepoint, AttachTo: "sched/sched_switch"},
	} {
		newContext(t, k, s)
	}
	pid, tgid := k.PidTgid()
	assert.Equal(t, pid, tgid, "a process, not one of its threads")
	assert.NotEmpty(t, k.Comm())
	assert.Nil(t, k.Current())
	k.Stack(false)
	k.Stack(true)
}
