package kernel

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func filesShape(t *testing.T, k *Kernel, task view) {
	files := task.ptr("files")
	table := files.ptr("fdt")
	embedded := k.Mem().PointerSize() == 8 // a table of NR_OPEN_DEFAULT entries; a larger one is allocated
	if embedded {
		assert.Equal(t, files.at("fdtab"), table.addr, "the first table is part of files_struct")
		assert.Equal(t, files.at("fd_array"), table.num("fd"))
		assert.Equal(t, files.at("open_fds_init"), table.num("open_fds"))
		assert.Equal(t, files.at("close_on_exec_init"), table.num("close_on_exec"))
		assert.Equal(t, files.at("full_fds_bits_init"), table.num("full_fds_bits"))
	}
	assert.EqualValues(t, 64, table.num("max_fds"))
	open := table.num("open_fds[0]")
	if !embedded {
		open |= table.num("open_fds[1]") << 32
	}
	assert.Zero(t, table.num("close_on_exec[0]")&^open)
	assert.GreaterOrEqual(t, bits.OnesCount64(open), 12)
	for fd := range table.num("max_fds") {
		assert.Equal(t, open>>fd&1 == 1, table.num(fmt.Sprintf("fd[%d]", fd)) != 0, "descriptor %d", fd)
		if embedded {
			assert.Equal(t, table.num(fmt.Sprintf("fd[%d]", fd)), files.num(fmt.Sprintf("fd_array[%d]", fd)))
		}
	}
	assert.Zero(t, open>>files.num("next_fd")&1)
}

func fsShape(t *testing.T, _ *Kernel, task view) {
	fs := task.ptr("fs")
	root := fs.ptr("root.dentry")
	assert.Equal(t, root.addr, root.num("d_parent"))
	for _, p := range []string{"pwd", "root"} {
		mnt := fs.ptr(p + ".mnt")
		d := fs.ptr(p + ".dentry")
		assert.EqualValues(t, 0o40000, d.num("d_inode.i_mode")&0o170000, "%s is a directory", p)
		top := mnt.num("mnt_root")
		for d.addr != top {
			require.NotEqual(t, d.addr, d.num("d_parent"), "%s is below the root of its mount", p)
			d = d.ptr("d_parent")
		}
	}
	assert.EqualValues(t, 0o022, fs.num("umask"))
	assert.EqualValues(t, 1, fs.num("users|users.count"))
}

func fileShape(t *testing.T, k *Kernel, task view) {
	for _, f := range []view{task.ptr("files.fdt.fd[3]"), task.ptr("mm.exe_file")} {
		inode := f.ptr("f_inode")
		assert.Equal(t, []uint64{f.num("f_path.dentry")}, addrs(inode.hlist("i_dentry", "dentry", "d_u.d_alias|d_alias")), "before the dentry was read")
		assert.Equal(t, inode.addr, f.num("f_path.dentry.d_inode"))
		assert.NotEmpty(t, f.text("f_path.dentry.d_name.name"))
		assert.Equal(t, inode.addr, f.num("f_path.dentry.d_inode"), "after the dentry was read")
		assert.Equal(t, inode.num("i_mapping"), f.num("f_mapping"))
		assert.Equal(t, inode.num("i_fop"), f.num("f_op"))
		assert.NotZero(t, f.num("f_op"))
		assert.Equal(t, f.num("f_path.mnt.mnt_sb"), inode.num("i_sb"))
		assert.Equal(t, task.num("cred"), f.num("f_cred"))
		assert.NotZero(t, f.num("f_mode")&1, "FMODE_READ")
		count := f.num("f_count.counter|f_ref.refcnt.counter|f_count")
		assert.Less(t, count, uint64(16))
		assert.Zero(t, f.num("f_flags")&0o4000000, "no O_TMPFILE")
	}
	assert.EqualValues(t, 0o755, task.num("mm.exe_file.f_inode.i_mode")&0o777, "a program can be executed")
}

func dentryShape(t *testing.T, k *Kernel, task view) {
	dentriesEnd(t, task.ptr("mm.exe_file.f_path.dentry"))
	dentriesEnd(t, task.ptr("files.fdt.fd[3].f_path.dentry"))
}

func dentriesEnd(t *testing.T, d view) {
	t.Helper()
	for range 16 {
		name := d.text("d_name.name")
		assert.EqualValues(t, len(name), d.num("d_name.len"))
		assert.Equal(t, d.at("d_iname|d_shortname"), d.num("d_name.name"), "a short name is part of the dentry")
		inode := d.ptr("d_inode")
		assert.Contains(t, addrs(inode.hlist("i_dentry", "dentry", "d_u.d_alias|d_alias")), d.addr, "the inode's dentries")
		count := d.num("d_lockref.count")
		assert.GreaterOrEqual(t, int32(count), int32(1))
		up := d.ptr("d_parent")
		assert.Equal(t, d.num("d_sb"), up.num("d_sb"))
		if up.addr == d.addr {
			assert.Equal(t, "/", name)
			return
		}
		if d.has("d_child.next") { // until 6.7
			assert.Contains(t, addrs(up.list("d_subdirs", "dentry", "d_child")), d.addr)
		} else {
			assert.Contains(t, addrs(up.hlist("d_children", "dentry", "d_sib")), d.addr)
		}
		assert.EqualValues(t, 0o40000, up.num("d_inode.i_mode")&0o170000)
		d = up
	}
	t.Error("the dentries do not end at a root")
}

func inodeShape(t *testing.T, _ *Kernel, task view) {
	d := task.ptr("files.fdt.fd[3].f_path.dentry")
	seen := map[uint64]bool{}
	for range 4 {
		inode := d.ptr("d_inode")
		assert.Equal(t, inode.at("i_data"), inode.num("i_mapping"))
		assert.Equal(t, inode.addr, inode.num("i_data.host"))
		assert.Equal(t, d.num("d_sb"), inode.num("i_sb"))
		assert.Contains(t, addrs(inode.ptr("i_sb").list("s_inodes", "inode", "i_sb_list")), inode.addr)
		assert.NotZero(t, inode.num("i_op"))
		assert.GreaterOrEqual(t, inode.num("i_count.counter"), uint64(1))
		assert.False(t, seen[inode.num("i_ino")], "one inode for each number")
		seen[inode.num("i_ino")] = true
		assert.Equal(t, (inode.num("i_size")+511)/512 <= inode.num("i_blocks"), true, "blocks of 512 bytes hold the size")
		if d.num("d_parent") == d.addr {
			assert.EqualValues(t, 2, inode.num("i_ino"), "the root of an ext4")
		}
		d = d.ptr("d_parent")
	}
}

func superShape(t *testing.T, k *Kernel, task view) {
	sb := task.ptr("fs.root.mnt.mnt_sb")
	assert.Equal(t, task.num("fs.root.dentry"), sb.num("s_root"))
	assert.Equal(t, "ext4", sb.text("s_type.name"))
	assert.EqualValues(t, 0xef53, sb.num("s_magic"))
	assert.EqualValues(t, sb.num("s_blocksize"), 1<<sb.num("s_blocksize_bits"))
	assert.Equal(t, sb.num("s_dev"), sb.num("s_bdev.bd_dev"))
	if sb.has("s_bdev.bd_super") {
		assert.Equal(t, sb.addr, sb.num("s_bdev.bd_super"))
	}
	assert.Equal(t, []uint64{containerOf(t, k, task.num("fs.root.mnt"), "mount", "mnt").addr}, mountsOf(sb))
	assert.Contains(t, addrs(sb.ptr("s_type").hlist("fs_supers", "super_block", "s_instances")), sb.addr)
	assert.Equal(t, task.num("cred.user_ns"), sb.num("s_user_ns"))
	assert.NotZero(t, sb.num("s_op"))
	assert.NotZero(t, sb.num("s_maxbytes"))
}

// mountsOf returns the mounts of a file system: a list of list_heads until 6.16.
func mountsOf(sb view) []uint64 {
	if sb.has("s_mounts.next") {
		return addrs(sb.list("s_mounts", "mount", "mnt_instance"))
	}
	var out []uint64
	pprev := sb.at("s_mounts")
	for at := sb.num("s_mounts"); at != 0 && len(out) < 8; {
		m := viewOf(sb.t, sb.k, "mount", at)
		assert.Equal(sb.t, pprev, m.num("mnt_pprev_for_sb"))
		out = append(out, at)
		pprev, at = m.at("mnt_next_for_sb"), m.num("mnt_next_for_sb")
	}
	return out
}

func mountShape(t *testing.T, k *Kernel, task view) {
	mnt := containerOf(t, k, task.num("fs.root.mnt"), "mount", "mnt")
	assert.Equal(t, mnt.num("mnt.mnt_sb.s_root"), mnt.num("mnt.mnt_root"))
	assert.Equal(t, "/dev/sda1", mnt.text("mnt_devname"))
	ns := mnt.ptr("mnt_ns")
	assert.Equal(t, task.num("nsproxy.mnt_ns"), ns.addr)
	// The root of the namespace is the file system that the kernel booted with; the disk is mounted
	// on it.
	top := mnt.ptr("mnt_parent")
	assert.NotEqual(t, top.addr, mnt.addr)
	assert.Equal(t, top.addr, top.num("mnt_parent"), "the hierarchy ends")
	assert.Equal(t, top.num("mnt.mnt_root"), mnt.num("mnt_mountpoint"))
	assert.Equal(t, ns.num("root"), top.addr)
	assert.Contains(t, addrs(top.list("mnt_mounts", "mount", "mnt_child")), mnt.addr)
	// /proc is mounted on it.
	below := mnt.list("mnt_mounts", "mount", "mnt_child")
	require.NotEmpty(t, below)
	proc := below[0]
	assert.Equal(t, mnt.addr, proc.num("mnt_parent"))
	assert.Equal(t, "proc", proc.text("mnt.mnt_sb.s_type.name"))
	at := proc.ptr("mnt_mountpoint")
	assert.Equal(t, "proc", at.text("d_name.name"))
	assert.Equal(t, mnt.num("mnt.mnt_root"), at.num("d_parent"))
	assert.NotEqual(t, at.addr, proc.num("mnt.mnt_root"), "the root of the mounted file system is another dentry")
	all := map[uint64]bool{top.addr: true, mnt.addr: true, proc.addr: true}
	if ns.has("list.next") && !ns.has("nr_mounts") { // until 6.7
		assert.Len(t, ns.list("list", "mount", "mnt_list"), len(all))
		for _, m := range ns.list("list", "mount", "mnt_list") {
			assert.True(t, all[m.addr])
		}
	} else {
		var found int
		walkRB(t, k, ns.num("mounts.rb_node"), func(node uint64) {
			m := containerOf(t, k, node, "mount", "mnt_node")
			assert.True(t, all[m.addr])
			found++
		})
		assert.Equal(t, len(all), found)
	}
	assert.EqualValues(t, len(all), ns.num("nr_mounts|mounts"))
	ids := map[uint64]bool{}
	for at := range all {
		m := viewOf(t, k, "mount", at)
		assert.Equal(t, ns.addr, m.num("mnt_ns"))
		assert.Equal(t, []uint64{at}, mountsOf(m.ptr("mnt.mnt_sb")))
		ids[m.num("mnt_id")] = true
	}
	assert.Len(t, ids, len(all))
}

// walkRB visits the nodes of a red-black tree in order and checks its rules.
func walkRB(t *testing.T, k *Kernel, root uint64, visit func(node uint64)) {
	t.Helper()
	var walk func(at, parent uint64, depth int) (black int)
	walk = func(at, parent uint64, depth int) int {
		if at == 0 {
			return 0
		}
		require.Less(t, depth, 12)
		n := viewOf(t, k, "rb_node", at)
		color := n.num("__rb_parent_color")
		assert.Equal(t, parent, color&^3)
		left := walk(n.num("rb_left"), at, depth+1)
		visit(at)
		right := walk(n.num("rb_right"), at, depth+1)
		assert.Equal(t, left, right, "black nodes on every path")
		if color&1 == 0 {
			require.NotZero(t, parent, "the root is black")
			assert.NotZero(t, viewOf(t, k, "rb_node", parent).num("__rb_parent_color")&1, "a red node below a black one")
		}
		return left + int(color&1)
	}
	walk(root, 0, 0)
}
