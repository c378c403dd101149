package model

import (
	"math/bits"
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// mountSpec is a default mount, by its name as a prefix of roles.
type mountSpec struct {
	name, fs, device string
	magic, dev       uint64 // of the super block
	on               string // the mount it is mounted on; "" = on its own root
	point            string // directory in the root of that mount; "" = the root
}

// mounts are the mounts of a small system (init_mount_tree of fs/namespace.c, prepare_namespace of
// init/do_mounts.c): what the kernel booted with, the disk mounted over it, and /proc.
var mounts = [...]mountSpec{
	{name: "rootfs", fs: "rootfs", device: "none", magic: 0x01021994, dev: 2}, // TMPFS_MAGIC
	{name: "root", fs: "ext4", device: "/dev/sda1", magic: ext4Magic, dev: KernelDev(DiskMajor, diskMinor), on: "rootfs"},
	{name: "proc", fs: "proc", device: "proc", magic: 0x9fa0, dev: 21, on: "root", point: "proc"}, // PROC_SUPER_MAGIC
}

// internal are file systems of the kernel itself, which no process sees (kern_mount).
var internal = [...]mountSpec{
	{name: "bdev", fs: "bdev", magic: 0x62646576, dev: 3},     // BDEVFS_MAGIC
	{name: "sockfs", fs: "sockfs", magic: 0x534f434b, dev: 8}, // SOCKFS_MAGIC
}

func (s *mountSpec) kernelOnly() bool {
	return slices.ContainsFunc(internal[:], func(i mountSpec) bool { return i.name == s.name })
}

// Roles of what a mount consists of.
func (s *mountSpec) root() string  { return s.name + " dentry" }
func (s *mountSpec) super() string { return s.name + " super_block" }
func (s *mountSpec) role() string  { return s.name + " vfsmount" }

// mountOf returns the default mount to which an object belongs by the role that it has there;
// others belong to the disk's.
func mountOf(o *object.Object, role func(*mountSpec) string) (s *mountSpec, own bool) {
	for i := range mounts {
		if role(&mounts[i]) == o.Role() {
			return &mounts[i], true
		}
	}
	for i := range internal {
		if role(&internal[i]) == o.Role() {
			return &internal[i], true
		}
	}
	return mountNamed("root"), false
}

func mountNamed(name string) *mountSpec {
	for i := range mounts {
		if mounts[i].name == name {
			return &mounts[i]
		}
	}
	for i := range internal {
		if internal[i].name == name {
			return &internal[i]
		}
	}
	return nil
}

// mountAt returns the vfsmount of a default mount, nil if the target lacks the type.
func (m *Model) mountAt(s *mountSpec) *object.Object {
	if s == nil || m.LayoutNamed("vfsmount") == nil {
		return nil
	}
	return m.Builtin(s.role(), "vfsmount")
}

// rootDentry returns the root directory, its own parent.
func (m *Model) rootDentry() *object.Object { return m.rootOf(mountNamed("root")) }

func (m *Model) rootOf(s *mountSpec) *object.Object { return m.Builtin(s.root(), "dentry") }

// superBlock returns the super block of the default file system.
func (m *Model) superBlock() *object.Object { return m.superOf(mountNamed("root")) }

func (m *Model) superOf(s *mountSpec) *object.Object { return m.Builtin(s.super(), "super_block") }

// rootMount returns the mount of the root directory.
func (m *Model) rootMount() *object.Object { return m.mountAt(mountNamed("root")) }

// mountPoint returns the directory that a mount is on.
func (m *Model) mountPoint(s *mountSpec) *object.Object {
	below := mountNamed(s.on)
	switch {
	case below == nil:
		return m.rootOf(s)
	case s.point == "":
		return m.rootOf(below)
	}
	role := "/" + s.point
	if o := m.Kept(role); o != nil {
		return o
	}
	o := m.Builtin(role, "dentry")
	if o != nil {
		b := object.Fill(o)
		m.nameDentry(b, s.point)
		b.Ptr("d_parent", m.rootOf(below))
	}
	return o
}

func (m *Model) fillVfsmount(b object.Builder) {
	s, _ := mountOf(b.Object, (*mountSpec).role)
	b.Ptr("mnt_root", m.rootOf(s))
	b.Ptr("mnt_sb", m.superOf(s))
	b.Num("mnt_flags", 0x20) // MNT_RELATIME
}

func (m *Model) fillMount(b object.Builder) {
	b = b.As("mount")
	s, own := mountOf(b.Object, (*mountSpec).role)
	parent := b.Object.Base()
	if on := m.mountAt(mountNamed(s.on)); on != nil {
		parent = on.Base()
		if own {
			asMount(on).AppendTo("mnt_mounts", b, "mnt_child")
		}
	}
	point := m.mountPoint(s)
	b.Num("mnt_parent", parent)
	b.Ptr("mnt_mountpoint", point)
	b.Ptr("mnt.mnt_root", m.rootOf(s))
	b.Ptr("mnt.mnt_sb", m.superOf(s))
	b.Text("mnt_devname", s.device)
	b.Num("mnt_id", b.Within("id", 20, 100))
	b.Num("mnt_flags", 0x20)
	b.Null("mnt_master overmount prev_ns mnt_fsnotify_marks")
	if mp := b.Child("mnt_mp"); mp != nil {
		p := object.Fill(mp)
		p.Ptr("m_dentry", point)
		m.hashed(placeTable, p, "m_hash")
		p.PushTo("m_list", b, "mnt_mp_list")
	}
	if !own {
		return
	}
	if s.on != "" {
		m.hashed(mountTable, b, "mnt_hash")
	}
	if sb := m.superOf(s); sb != nil {
		m.linkSuper(b, object.Fill(sb))
	}
	if s.kernelOnly() {
		b.Num("mnt_ns", ^uint64(uapi.EINVAL)+1) // MNT_NS_INTERNAL
	} else if t := m.Current(); t != nil {
		if ns, err := t.Pointee("nsproxy.mnt_ns"); err == nil {
			b.Ptr("mnt_ns", ns)
		}
	}
	for i := range mounts { // those on it are in its list from the start
		if mounts[i].on == s.name {
			b.AppendTo("mnt_mounts", asMount(m.mountAt(&mounts[i])), "mnt_child")
		}
	}
}

// asMount returns a builder of the struct mount that contains a vfsmount.
func asMount(o *object.Object) object.Builder { return object.Fill(o).As("mount") }

// linkSuper puts a mount into its super block's list, of list_heads before 6.17.
func (m *Model) linkSuper(b, sb object.Builder) {
	if sb.AppendTo("s_mounts", b, "mnt_instance") {
		return
	}
	if f, ok := b.Field("mnt_pprev_for_sb"); ok && !b.Taken(f) {
		b.Null("mnt_next_for_sb")
		b.Num("mnt_pprev_for_sb", memberAddr(sb.Object, "s_mounts"))
		sb.Num("s_mounts", b.Object.Base())
	}
}

// fillMountNamespace gives a mount namespace its mounts: a list before 6.8, a tree by their ids
// since then.
func (m *Model) fillMountNamespace(b object.Builder) {
	top := m.mountAt(&mounts[0])
	if top == nil || m.LayoutNamed("mount") == nil {
		b.Child("root")
		return
	}
	b.Num("root", top.Base())
	b.Num("nr_mounts|mounts", uint64(len(mounts)))
	b.Num("pending_mounts", 0)
	var nodes []treeNode
	for i := range mounts {
		mnt := asMount(m.mountAt(&mounts[i]))
		b.AppendTo("list", mnt, "mnt_list")
		if _, tree := mnt.Field("mnt_node"); tree {
			nodes = append(nodes, treeNode{mnt, "mnt_node"})
		}
		mnt.Num("mnt_id_unique", 1<<31+uint64(i)+1) // MNT_UNIQUE_ID_OFFSET
	}
	if _, tree := b.Field("mounts.rb_node"); tree && len(nodes) > 0 {
		b.Num("mounts.rb_node", linkTree(nodes, 0, bits.Len(uint(len(nodes)))))
		b.Num("mnt_first_node", nodes[0].addr())
		b.Num("mnt_last_node", nodes[len(nodes)-1].addr())
	}
}
