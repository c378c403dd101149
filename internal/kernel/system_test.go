package kernel

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// pointee follows a pointer field and fails when it is NULL.
func pointee(t *testing.T, o *object.Object, path string) *object.Object {
	t.Helper()
	p, err := o.Pointee(path)
	require.NoError(t, err)
	require.NotNil(t, p, "%s.%s", o.Role(), path)
	return p
}

// TestDefaultObjectsAgree: default objects are as a small real system has them: what one says of
// another is so.
func TestDefaultObjectsAgree(t *testing.T) {
	checks := []struct {
		name  string
		check func(*testing.T, *Kernel)
	}{
		{"file table", fileTableAgrees}, {"files lead to the root", filesLeadToRoot}, {"message", messageAgrees}, {"address space", addressSpaceAgrees},
		{"cgroup hierarchy", cgroupsAgree}, {"network devices", devicesAgree}, {"mounts", mountsAgree}, {"container_of", containersAgree}, {"family", familyAgrees},
	}
	onTargets(t, func(t *testing.T, b targetBTF) {
		for _, c := range checks {
			t.Run(c.name, func(t *testing.T) {
				k := newKernel(t, b)
				c.check(t, k)
				require.NoError(t, k.Err())
			})
		}
	})
}

func fileTableAgrees(t *testing.T, k *Kernel) {
	files := pointee(t, k.Current(), "files")
	assert.EqualValues(t, 64, uintAt(t, files, "fdt.max_fds"))
	open := uintAt(t, files, "fdt.open_fds[0]")
	if k.Mem().PointerSize() == 4 {
		open = open&0xffffffff | uintAt(t, files, "fdt.open_fds[1]")<<32
	}
	assert.Zero(t, uintAt(t, files, "fdt.close_on_exec[0]"))
	assert.GreaterOrEqual(t, bits.OnesCount64(open), 12)
	assert.LessOrEqual(t, bits.OnesCount64(open), 16)
	for fd := range 64 {
		assert.Equal(t, open>>fd&1 == 1, uintAt(t, files, fmt.Sprintf("fdt.fd[%d]", fd)) != 0, "open_fds and fd[%d]", fd)
	}
	next := uintAt(t, files, "next_fd")
	assert.Zero(t, open>>next&1, "the next descriptor is free")
	// A call reads from a file that is open.
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeTracepoint, AttachTo: "syscalls/sys_enter_read"})
	require.NotNil(t, c.Arg("fd"))
	assert.EqualValues(t, 1, open>>c.Arg("fd").Value&1, "descriptor %d", c.Arg("fd").Value)
}

func filesLeadToRoot(t *testing.T, k *Kernel) {
	file := pointee(t, k.Current(), "files.fdt.fd[3]")
	d := pointee(t, file, "f_path.dentry")
	assert.Equal(t, uintAt(t, file, "f_inode"), uintAt(t, d, "d_inode"))
	for range 16 {
		up := pointee(t, d, "d_parent")
		if up == d {
			name, err := d.String("d_name.name")
			require.NoError(t, err)
			assert.Equal(t, "/", name)
			assert.Equal(t, d, pointee(t, k.Current(), "fs.root.dentry"))
			assert.Equal(t, d, pointee(t, file, "f_path.mnt.mnt_root"))
			return
		}
		assert.Equal(t, uintAt(t, d, "d_sb"), uintAt(t, up, "d_sb"))
		d = up
	}
	t.Error("no root within 16 directories")
}

func messageAgrees(t *testing.T, k *Kernel) {
	for _, hookName := range []string{"tcp_sendmsg", "udp_sendmsg"} {
		c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: hookName, Section: "kprobe/" + hookName})
		a := c.Arg("msg")
		require.NotNil(t, a)
		iov := "msg_iter.iov"
		if !a.Object.Has(iov) {
			iov = "msg_iter.__iov"
		}
		v := pointee(t, a.Object, iov)
		n := uintAt(t, v, "iov_len")
		assert.Equal(t, n, uintAt(t, a.Object, "msg_iter.count"))
		base := uintAt(t, v, "iov_base")
		assert.True(t, k.IsUserAddress(base))
		require.NoError(t, k.UserRead(base, make([]byte, n)), "iov_len bytes are there")
	}
}

func addressSpaceAgrees(t *testing.T, k *Kernel) {
	mm := pointee(t, k.Current(), "mm")
	areas := k.VMAs(mm)
	require.EqualValues(t, uintAt(t, mm, "map_count"), len(areas))
	require.GreaterOrEqual(t, len(areas), 5)
	end := uint64(0)
	for i, v := range areas {
		assert.Less(t, uintAt(t, v, "vm_start"), uintAt(t, v, "vm_end"))
		assert.GreaterOrEqual(t, uintAt(t, v, "vm_start"), end, "areas are in order and do not overlap")
		end = uintAt(t, v, "vm_end")
		assert.Equal(t, mm.Addr(), uintAt(t, v, "vm_mm"))
		if v.Has("vm_next") && i+1 < len(areas) {
			assert.Equal(t, areas[i+1].Addr(), uintAt(t, v, "vm_next"))
		}
	}
	if mm.Has("mmap") {
		assert.Equal(t, areas[0].Addr(), uintAt(t, mm, "mmap"))
	}
	for field, flags := range map[string]uint64{"start_code": 4, "start_data": 2, "start_brk": 2, "start_stack": 2} {
		v, err := k.VMAAt(mm, uintAt(t, mm, field))
		require.NoError(t, err)
		require.NotNil(t, v, field)
		assert.Contains(t, areas, v)
		assert.NotZero(t, uintAt(t, v, "vm_flags")&flags, field)
	}
	assert.Equal(t, uintAt(t, mm, "exe_file"), uintAt(t, areas[0], "vm_file"))
	last := uint64(0)
	for _, field := range []string{"start_code", "end_code", "start_data", "end_data", "start_brk", "brk", "mmap_base", "start_stack", "arg_start", "arg_end", "env_end", "task_size"} {
		assert.Greater(t, uintAt(t, mm, field), last, field)
		last = uintAt(t, mm, field)
	}
	assert.Equal(t, uintAt(t, mm, "arg_end"), uintAt(t, mm, "env_start"))
	stack, err := k.VMAAt(mm, uintAt(t, mm, "start_stack"))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, uintAt(t, stack, "vm_end"), uintAt(t, mm, "env_end"))
}

func cgroupsAgree(t *testing.T, k *Kernel) {
	cg := pointee(t, k.Current(), "cgroups.dfl_cgrp")
	for level := uintAt(t, cg, "level"); level > 0; level-- {
		up := k.ObjectAt(uintAt(t, cg, "self.parent"))
		require.NotNil(t, up)
		assert.Equal(t, level-1, uintAt(t, up, "level"))
		sibling, err := cg.FieldAddr("self.sibling")
		require.NoError(t, err)
		assert.Equal(t, sibling, uintAt(t, up, "self.children.next"), "the child is in its parent's list")
		cg = up
	}
	assert.EqualValues(t, 1, uintAt(t, cg, "kn.id"))
	leaf := pointee(t, k.Current(), "cgroups.dfl_cgrp")
	assert.Equal(t, uintAt(t, leaf, "root"), uintAt(t, cg, "root"), "one hierarchy")
	at, err := cg.FieldAddr("root->cgrp")
	require.NoError(t, err)
	assert.Equal(t, cg.Addr(), at)
	if leaf.Has("ancestors[0]") {
		assert.Equal(t, cg.Addr(), uintAt(t, leaf, "ancestors[0]"))
		assert.Equal(t, cg.Addr(), uintAt(t, cg, "ancestors[0]"))
	}
	assert.EqualValues(t, 3, uintAt(t, cg, "root->nr_cgrps.counter"))
	assert.Zero(t, uintAt(t, cg, "root->hierarchy_id"))
}

func devicesAgree(t *testing.T, k *Kernel) {
	ns := pointee(t, k.Current(), "nsproxy.net_ns")
	head, err := ns.FieldAddr("dev_base_head")
	require.NoError(t, err)
	var names []string
	for at := uintAt(t, ns, "dev_base_head.next"); at != head; {
		dev := k.ObjectAt(at)
		require.NotNil(t, dev)
		name, err := dev.String("name")
		require.NoError(t, err)
		names = append(names, name)
		assert.Equal(t, ns.Addr(), uintAt(t, dev, "nd_net.net"))
		at = uintAt(t, dev, "dev_list.next")
		require.Less(t, len(names), 8)
	}
	assert.Equal(t, []string{"lo", "eth0"}, names)
}

func mountsAgree(t *testing.T, k *Kernel) {
	mnt := pointee(t, k.Current(), "fs.root.mnt")
	root := pointee(t, mnt, "mnt_root")
	assert.Equal(t, root, pointee(t, k.Current(), "fs.root.dentry"))
	assert.Equal(t, pointee(t, root, "d_sb"), pointee(t, mnt, "mnt_sb"))
	assert.Equal(t, root, pointee(t, root, "d_sb.s_root"))
}

func containersAgree(t *testing.T, k *Kernel) {
	for _, c := range []struct{ function, arg, typ string }{
		{"free_user_ns", "work", "user_namespace"}, {"put_cred_rcu", "rcu", "cred"}, {"delayed_put_pid", "rhp", "pid"},
	} {
		ctx, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: c.function, Section: "kprobe/" + c.function})
		require.NoError(t, err)
		if len(ctx.Args) != 1 || ctx.Args[0].Object == nil {
			continue // the target's BTF does not list the function
		}
		o := ctx.Args[0].Object
		assert.Equal(t, c.typ, o.Storage().Name, c.function)
		assert.Equal(t, o, k.ObjectAt(o.Base()), "container_of stays in the object")
	}
}

func familyAgrees(t *testing.T, k *Kernel) {
	cur := k.Current()
	assert.Equal(t, uintAt(t, cur, "cred"), uintAt(t, cur, "real_cred"))
	assert.Equal(t, cur, pointee(t, cur, "group_leader"))
	assert.Equal(t, uintAt(t, cur, "tgid"), uintAt(t, cur, "thread_pid.numbers[0].nr"))
	var pids []uint64
	at := cur
	for range 8 {
		up := pointee(t, at, "real_parent")
		if up == at {
			break
		}
		assert.Contains(t, childrenOf(t, k, up), at)
		at = up
		pids = append(pids, uintAt(t, at, "pid"))
	}
	require.Len(t, pids, 3)
	assert.Equal(t, []uint64{1, 0}, pids[1:], "the family ends at init and the idle task")
	assert.Nil(t, k.TaskByPID(0))

	// Tasks that appear later join the list of their parent, threads do not.
	init := pointee(t, cur, "real_parent.real_parent")
	before := len(childrenOf(t, k, init))
	other, err := k.NewTask("other")
	require.NoError(t, err)
	thread, err := k.NewTask("thread")
	require.NoError(t, err)
	require.NoError(t, thread.Set("tgid", 7))
	require.NoError(t, thread.Set("pid", 8))
	for _, o := range []*object.Object{other, thread} {
		pointee(t, o, "real_parent.real_parent")
	}
	assert.Equal(t, []*object.Object{pointee(t, thread, "group_leader")}, childrenOf(t, k, pointee(t, thread, "real_parent")))
	list := childrenOf(t, k, init)
	assert.Len(t, list, before+2)
	assert.Contains(t, list, pointee(t, other, "real_parent"))
}

// childrenOf walks a task's children, forwards, and checks each pointer back.
func childrenOf(t *testing.T, k *Kernel, o *object.Object) []*object.Object {
	t.Helper()
	head, err := o.FieldAddr("children")
	require.NoError(t, err)
	var list []*object.Object
	prev := head
	for at := uintAt(t, o, "children.next"); at != head; {
		c := k.ObjectAt(at)
		require.NotNil(t, c)
		assert.Equal(t, prev, uintAt(t, c, "sibling.prev"))
		require.Less(t, len(list), 20)
		list, prev, at = append(list, c), at, uintAt(t, c, "sibling.next")
	}
	assert.Equal(t, prev, uintAt(t, o, "children.prev"))
	return list
}
