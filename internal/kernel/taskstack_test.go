package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// userRegs reads a register where task_pt_regs of the target finds it, by address alone.
func userRegs(t *testing.T, k *Kernel, name string) uint64 {
	t.Helper()
	const threadSize = 16 << 10
	pad := uint64(0)
	if _, fred := k.BTF().Find(btf.KindStruct, "fred_frame"); fred {
		pad = 16 // TOP_OF_KERNEL_STACK_PADDING
	}
	l := k.LayoutNamed("pt_regs")
	require.NotNil(t, l)
	f, _, err := l.Place(name)
	require.NoError(t, err)
	at := uintAt(t, k.Current(), "stack") + threadSize - pad - l.Size + f.Off
	v, fault := k.Mem().Load(at, int(f.Size))
	require.Nil(t, fault)
	return v
}

func TestTaskStackHasUserRegisters(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		if b.spec.PointerSize() != 8 {
			t.Skip("sizes of 64-bit kernels")
		}
		k := newKernel(t, b)
		number, first, result := "orig_ax", "di", "ax"
		switch k.Arch() {
		case "arm64":
			number, first, result = "regs[8]", "orig_x0", "regs[0]"
		case "riscv":
			number, first, result = "a7", "orig_a0", "a0"
		case "s390":
			t.Skip("numbers of system calls are not known")
		}
		nr := func(call string) uint64 {
			n, ok := k.SyscallNumber(call)
			require.True(t, ok)
			return uint64(n)
		}
		assert.Equal(t, nr("read"), userRegs(t, k, number), "outside of events about a system call the task reads")

		stack := uintAt(t, k.Current(), "stack")
		o := k.ObjectAt(stack + 4096)
		require.NotNil(t, o)
		assert.EqualValues(t, 16<<10, o.Size())
		mark, fault := k.Mem().Load(stack, 8)
		require.Nil(t, fault)
		assert.EqualValues(t, 0x57AC6E9D, mark, "STACK_END_MAGIC")
		whole := make([]byte, 16<<10)
		require.Nil(t, k.Mem().Read(stack, whole))
		regs, err := k.TaskPtRegs(k.Current().Addr())
		require.NoError(t, err)
		assert.Equal(t, "pt_regs", k.ObjectAt(regs).TypeName(), "bpf_task_pt_regs finds the same")
		_, fault = k.Mem().Load(stack+16<<10, 8)
		require.NotNil(t, fault)
		assert.Equal(t, mem.OutOfBounds, fault.Kind)

		for _, s := range []hook.ContextSpec{
			{ProgType: uapi.ProgTypeRawTracepoint, AttachTo: "sys_enter", Args: map[string]any{"dfd": 77}},
			{ProgType: uapi.ProgTypeTracepoint, AttachTo: "raw_syscalls/sys_enter", Args: map[string]any{"call": "openat", "dfd": 77}},
			{ProgType: uapi.ProgTypeTracepoint, AttachTo: "syscalls/sys_enter_openat", Args: map[string]any{"dfd": 77}},
			{ProgType: uapi.ProgTypeKprobe, AttachTo: k.SyscallSymbol("openat"), Section: "kprobe/x", Args: map[string]any{"dfd": 77}},
		} {
			c := newContext(t, k, s)
			assert.Equal(t, nr("openat"), userRegs(t, k, number), "%s %s", s.ProgType, s.AttachTo)
			assert.EqualValues(t, 77, userRegs(t, k, first), "%s %s", s.ProgType, s.AttachTo)
			c.Leave()
			assert.Equal(t, nr("read"), userRegs(t, k, number), "the next event finds the task in another call")
		}
		c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeRawTracepoint, AttachTo: "sys_exit", Args: map[string]any{"ret": 5}})
		assert.EqualValues(t, 5, userRegs(t, k, result))
		assert.Equal(t, word(t, c, 0), regs, "the event's registers are those on the stack")
		// A traced function runs on this stack, below the registers.
		c = newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: "vfs_read", Section: "kprobe/vfs_read"})
		sp := register(t, c, "sp")
		assert.True(t, sp > stack && sp < regs, "%#x is between %#x and %#x", sp, stack, regs)
	})
}

// TestStrayPointersHitNothing: within a page of an object there is no other one.
func TestStrayPointersHitNothing(t *testing.T) {
	k := newEmbedded(t)
	for _, p := range []string{"mm.exe_file.f_path.dentry.d_parent.d_name.len", "signal.tty.index", "nsproxy.uts_ns.ns.inum", "fs.pwd.dentry.d_inode.i_ino"} {
		uintAt(t, k.Current(), p)
	}
	var last *mem.Region
	n := 0
	k.Mem().Regions(func(r *mem.Region) bool {
		if r.Kind != mem.KernelObject {
			return true
		}
		if last != nil {
			n++
			assert.GreaterOrEqual(t, r.Base-last.Base-last.Size, uint64(4096), "%s and %s", last.Name, r.Name)
			f := k.Mem().Check(last.Base+last.Size+2000, 8, false)
			require.NotNil(t, f)
			assert.Equal(t, mem.OutOfBounds, f.Kind)
			assert.Same(t, last, f.Region, "the fault names the object before")
		}
		last = r
		return true
	})
	assert.Greater(t, n, 10)
}
