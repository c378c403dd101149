// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// defaults_disk: what holds of the file system on a disk that the running program came from, of its block device, and of the chains that its dentry, inode,
// super block and mount are on. A result is 1 where it holds, except where the name says "number". Recorded where the program is on a disk.
#include "case.h"
#include <bpf/bpf_core_read.h>

/* Ends a loop that has gone on for too long. */
#define MAY_GOTO(label) asm volatile goto("may_goto %l[" #label "]" : : : : label)

struct list_head {
	struct list_head *next, *prev;
} CORE;
struct hlist_node {
	struct hlist_node *next, **pprev;
} CORE;
struct hlist_head {
	struct hlist_node *first;
} CORE;
struct hlist_bl_node {
	struct hlist_bl_node *next, **pprev;
} CORE;
struct rb_node {
	unsigned long __rb_parent_color;
} CORE;
struct rb_root {
	struct rb_node *rb_node;
} CORE;
struct xarray {
	void *xa_head;
} CORE;
struct xa_node {
	u8 shift, count;
	void *slots[64];
} CORE;
typedef struct {
	int counter;
} atomic_t;

struct work_struct {
	struct list_head entry;
	void (*func)(struct work_struct *work);
} CORE;
struct delayed_work {
	struct work_struct work;
} CORE;
struct backing_dev_info;
struct bdi_writeback {
	struct backing_dev_info *bdi;
	struct delayed_work dwork;
	struct list_head b_more_io;
} CORE;
struct backing_dev_info {
	struct bdi_writeback wb;
	struct list_head wb_list;
} CORE;
struct queue_limits {
	u32 logical_block_size, physical_block_size, max_sectors, max_hw_sectors;
	u16 max_segments;
} CORE;
struct gendisk;
struct request_queue {
	struct gendisk *disk;
	void *mq_ops, *tag_set;
	u32 nr_hw_queues;
	u64 nr_requests;
	struct queue_limits limits;
} CORE;
struct kobject {
	char *name;
} CORE;
struct device {
	struct kobject kobj;
	struct device *parent;
	void *class;
	u32 devt;
} CORE;
struct address_space {
	struct inode *host;
} CORE;
struct block_device {
	u64 bd_start_sect, bd_nr_sectors;
	struct gendisk *bd_disk;
	struct request_queue *bd_queue;
	u32 bd_dev;
	atomic_t __bd_flags, bd_openers;
	struct address_space *bd_mapping;
	void *bd_holder, *bd_holder_ops;
	struct device bd_device;
} CORE;
struct gendisk {
	int major, first_minor, minors;
	char disk_name[32];
	struct xarray part_tbl;
	struct block_device *part0;
	void *fops;
	struct request_queue *queue;
	struct backing_dev_info *bdi;
} CORE;
struct file_system_type {
	char *name;
	struct file_system_type *next;
	struct hlist_head fs_supers;
} CORE;
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} CORE;
struct file {
	struct inode *f_inode;
	struct address_space *f_mapping;
	struct path f_path;
} CORE;
struct super_block {
	struct list_head s_list, s_inodes;
	struct hlist_node s_instances;
	struct dentry *s_root;
	u64 s_blocksize;
	u32 s_dev;
	struct file_system_type *s_type;
	struct block_device *s_bdev;
	struct file *s_bdev_file;
	struct backing_dev_info *s_bdi;
	char s_id[32];
	struct mount *s_mounts;
} CORE;
struct inode {
	u16 i_mode;
	u32 i_rdev;
	struct super_block *i_sb;
	struct hlist_node i_hash;
	struct hlist_head i_dentry;
	struct list_head i_sb_list;
} CORE;
struct dentry {
	struct dentry *d_parent;
	struct inode *d_inode;
	struct hlist_bl_node d_hash;
	struct {
		struct hlist_node d_alias;
	} d_u;
} CORE;
struct vfsmount {
	struct dentry *mnt_root;
	struct super_block *mnt_sb;
} CORE;
struct mountpoint {
	struct hlist_node m_hash;
	struct dentry *m_dentry;
	struct hlist_head m_list;
} CORE;
struct mnt_namespace {
	struct mount *root;
	struct rb_root mounts;
	u32 nr_mounts;
} CORE;
struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct list_head mnt_mounts, mnt_child;
	struct hlist_node mnt_hash, mnt_mp_list;
	struct rb_node mnt_node;
	struct mnt_namespace *mnt_ns;
	struct mountpoint *mnt_mp;
	struct mount *mnt_next_for_sb, **mnt_pprev_for_sb;
	char *mnt_devname;
} CORE;
// The same on other releases.
struct super_block___list {
	struct list_head s_mounts; // until 6.16
} CORE;
struct mount___list {
	struct list_head mnt_instance;
} CORE;
struct file_system_type___hlist {
	struct hlist_node list; // on 7.2
} CORE;
struct dentry___flat {
	struct hlist_node d_alias; // on 7.2
} CORE;
struct mm_struct {
	struct file *exe_file;
} CORE;
struct task_struct {
	struct mm_struct *mm;
} CORE;

#define AT(p, field) ((void *)&(p)->field)
#define OUTER(node, type, field) ((type *)((void *)(node) - bpf_core_field_offset(type, field)))
#define MINOR(dev) ((dev) & 0xfffff)

static __always_inline struct file *exe(void)
{
	struct task_struct *cur = (void *)bpf_get_current_task();

	return BPF_CORE_READ(cur, mm, exe_file);
}

static __noinline int length(u64 text)
{
	char buf[256];

	return bpf_probe_read_kernel_str(buf, sizeof(buf), (void *)text);
}

static __noinline int on_hlist(u64 head, u64 node)
{
	struct hlist_node *at = BPF_CORE_READ((struct hlist_head *)head, first);

	while (at) {
		MAY_GOTO(out);
		if (at == (void *)node)
			return 1;
		at = BPF_CORE_READ(at, next);
	}
out:
	return 0;
}

// Whether both neighbours of a node in a list lead to it.
static __noinline int neighbours(u64 node)
{
	struct list_head *at = (void *)node, *next = BPF_CORE_READ(at, next), *prev = BPF_CORE_READ(at, prev);

	return next && prev && BPF_CORE_READ(next, prev) == at && BPF_CORE_READ(prev, next) == at;
}

// Whether a node is in a hash chain: what comes before it leads to it.
static __noinline int chained(u64 node)
{
	struct hlist_node *at = (void *)node, *to = NULL;
	u64 back = (u64)BPF_CORE_READ(at, pprev);

	bpf_probe_read_kernel(&to, 8, (void *)back);
	return back && ((u64)to & ~1ull) == node;
}

// What an array of pointers (struct xarray) of at most 64 has at an index.
static __noinline u64 indexed(u64 array, u32 index)
{
	u64 head = (u64)BPF_CORE_READ((struct xarray *)array, xa_head);

	if ((head & 3) == 2)
		bpf_probe_read_kernel(&head, 8, AT((struct xa_node *)(head - 2), slots) + 8 * (index & 63));
	else if (index)
		return 0;
	return head;
}

// The root of the tree that a node is in.
static __noinline u64 top(u64 node)
{
	struct rb_node *at = (void *)node, *up;

	for (;;) {
		MAY_GOTO(out);
		up = (void *)(BPF_CORE_READ(at, __rb_parent_color) & ~3ul);
		if (!up)
			return (u64)at;
		at = up;
	}
out:
	return 0;
}

SEC("syscall") int t_device(void *ctx)
{
	struct file *file = exe();
	struct super_block *sb = BPF_CORE_READ(file, f_inode, i_sb);
	struct block_device *dev = BPF_CORE_READ(sb, s_bdev), *whole;
	struct gendisk *disk = BPF_CORE_READ(dev, bd_disk);
	struct request_queue *q = BPF_CORE_READ(disk, queue);
	struct inode *node = BPF_CORE_READ(dev, bd_mapping, host);
	struct backing_dev_info *bdi = BPF_CORE_READ(disk, bdi);
	u32 part, block;

	whole = BPF_CORE_READ(disk, part0);
	part = BPF_CORE_READ(dev, __bd_flags.counter) & 0xff;
	block = BPF_CORE_READ(q, limits.logical_block_size);
	CHECK("file system: has a device", dev != NULL);
	CHECK("file system: number of the device", BPF_CORE_READ(sb, s_dev) == BPF_CORE_READ(dev, bd_dev));
	CHECK("file system: opened the device", BPF_CORE_READ(sb, s_bdev_file, f_mapping) == BPF_CORE_READ(dev, bd_mapping));
	CHECK("file system: name of the device", length((u64)AT(sb, s_id)) > 1);
	CHECK("file system: writes by the disk", BPF_CORE_READ(sb, s_bdi) == bdi);
	CHECK("file system: whole blocks of the device", BPF_CORE_READ(sb, s_blocksize) % block == 0);
	CHECK("device: the file system holds it", BPF_CORE_READ(dev, bd_holder) == sb);
	CHECK("device: the holder is told", BPF_CORE_READ(dev, bd_holder_ops) != NULL);
	CHECK("device: open", BPF_CORE_READ(dev, bd_openers.counter) >= 1);
	CHECK("device: queue of the disk", BPF_CORE_READ(dev, bd_queue) == q);
	CHECK("device: sectors", BPF_CORE_READ(dev, bd_nr_sectors) > 0);
	CHECK("device: within the disk", BPF_CORE_READ(dev, bd_start_sect) + BPF_CORE_READ(dev, bd_nr_sectors) <= BPF_CORE_READ(whole, bd_nr_sectors));
	CHECK("device: number by its partition", MINOR(BPF_CORE_READ(dev, bd_dev)) - MINOR(BPF_CORE_READ(whole, bd_dev)) == part);
	CHECK("device: in the disk's array of partitions", indexed((u64)AT(disk, part_tbl), part) == (u64)dev);
	CHECK("device: the inode has its number", BPF_CORE_READ(node, i_rdev) == BPF_CORE_READ(dev, bd_dev));
	CHECK("device: the inode is of a block device", (BPF_CORE_READ(node, i_mode) & 0170000) == 0060000);
	CHECK("device: number in sysfs", BPF_CORE_READ(dev, bd_device.devt) == BPF_CORE_READ(dev, bd_dev));
	CHECK("device: name in sysfs", length((u64)BPF_CORE_READ(dev, bd_device.kobj.name)) > 1);
	CHECK("device: class of block devices", BPF_CORE_READ(dev, bd_device.class) && BPF_CORE_READ(dev, bd_device.class) == BPF_CORE_READ(whole, bd_device.class));
	CHECK("disk: the whole of it is partition 0", (BPF_CORE_READ(whole, __bd_flags.counter) & 0xff) == 0);
	CHECK("disk: its first partition leads back", BPF_CORE_READ(whole, bd_disk) == disk);
	CHECK("disk: the array of partitions begins with the whole", indexed((u64)AT(disk, part_tbl), 0) == (u64)whole);
	CHECK("disk: the whole begins at the start", BPF_CORE_READ(whole, bd_start_sect) == 0);
	CHECK("disk: number", BPF_CORE_READ(whole, bd_dev) == ((u32)BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor)));
	CHECK("disk: has a name", length((u64)AT(disk, disk_name)) > 1);
	CHECK("disk: the name in sysfs is as long", length((u64)AT(disk, disk_name)) == length((u64)BPF_CORE_READ(whole, bd_device.kobj.name)));
	CHECK("disk: operations", BPF_CORE_READ(disk, fops) != NULL);
	CHECK("queue: leads back", BPF_CORE_READ(q, disk) == disk);
	CHECK("queue: of the whole disk", BPF_CORE_READ(whole, bd_queue) == q);
	CHECK("queue: operations", BPF_CORE_READ(q, mq_ops) && BPF_CORE_READ(q, tag_set));
	CHECK("queue: hardware queues", BPF_CORE_READ(q, nr_hw_queues) >= 1);
	CHECK("queue: requests", BPF_CORE_READ(q, nr_requests) >= 1);
	CHECK("queue: size of a block is a power of two", block >= 512 && (block & (block - 1)) == 0);
	CHECK("queue: physical blocks are not smaller", BPF_CORE_READ(q, limits.physical_block_size) >= block);
	CHECK("queue: requests within the limit of the hardware", BPF_CORE_READ(q, limits.max_sectors) > 0 && BPF_CORE_READ(q, limits.max_sectors) <= BPF_CORE_READ(q, limits.max_hw_sectors));
	CHECK("queue: pieces of a request", BPF_CORE_READ(q, limits.max_segments) >= 1);
	CHECK("write-back: leads back", BPF_CORE_READ(bdi, wb.bdi) == bdi);
	CHECK("write-back: work", BPF_CORE_READ(bdi, wb.dwork.work.func) != NULL);
	CHECK("write-back: the work's entry is in a list or alone", neighbours((u64)AT(bdi, wb.dwork.work.entry)));
	return 0;
}

// An inode's names, of whose dentry nothing was read.
SEC("syscall") int t_alias(void *ctx)
{
	struct file *file = exe();
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct dentry *d = BPF_CORE_READ(file, f_path.dentry);

	u64 name;

	if (bpf_core_field_exists(d->d_u))
		name = (u64)AT(d, d_u.d_alias);
	else
		name = (u64)AT((struct dentry___flat *)d, d_alias);
	CHECK("inode: the dentry is one of its names", on_hlist((u64)AT(inode, i_dentry), name));
	return 0;
}

SEC("syscall") int t_chains(void *ctx)
{
	struct file *file = exe();
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct dentry *d = BPF_CORE_READ(file, f_path.dentry);
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);
	struct file_system_type *t = BPF_CORE_READ(sb, s_type);
	struct mount *m = OUTER(BPF_CORE_READ(file, f_path.mnt), struct mount, mnt), *at;
	struct mountpoint *mp = BPF_CORE_READ(m, mnt_mp);
	struct mnt_namespace *ns = BPF_CORE_READ(m, mnt_ns);
	struct dentry *up = BPF_CORE_READ(d, d_parent);
	int i, found = 0, back = 1;
	void *from;

	CHECK("dentry: in the hash by name", chained((u64)AT(d, d_hash)));
	CHECK("dentry: the directory is in it too", chained((u64)AT(up, d_hash)));
	CHECK("root: not in the hash", BPF_CORE_READ(sb, s_root, d_hash.pprev) == NULL);
	CHECK("inode: in the hash by number", chained((u64)AT(inode, i_hash)));
	CHECK("inode: in the list of the file system", neighbours((u64)AT(inode, i_sb_list)));
	CHECK("super block: in the list of all", neighbours((u64)AT(sb, s_list)));
	CHECK("super block: has inodes", neighbours((u64)AT(sb, s_inodes)) && BPF_CORE_READ(sb, s_inodes.next) != AT(sb, s_inodes));
	CHECK("super block: one of its type", on_hlist((u64)AT(t, fs_supers), (u64)AT(sb, s_instances)));
	CHECK("super block: the chain leads back", chained((u64)AT(sb, s_instances)));
	if (bpf_core_field_exists(t->next))
		for (i = 0; i < 128 && t; i++)
			t = BPF_CORE_READ(t, next);
	else if (chained((u64)AT((struct file_system_type___hlist *)t, list)))
		t = NULL;
	CHECK("types of file systems: end, or are in a list", t == NULL);
	if (bpf_core_field_exists(m->mnt_next_for_sb)) {
		from = AT(sb, s_mounts);
		at = BPF_CORE_READ(sb, s_mounts);
		for (i = 0; i < 64 && at; i++) {
			found |= at == m;
			back &= (void *)BPF_CORE_READ(at, mnt_pprev_for_sb) == from;
			from = AT(at, mnt_next_for_sb);
			at = BPF_CORE_READ(at, mnt_next_for_sb);
		}
	} else {
		struct list_head *list = AT((struct super_block___list *)sb, s_mounts), *one = BPF_CORE_READ(list, next);

		for (i = 0; i < 64 && one != list; i++) {
			found |= one == AT((struct mount___list *)m, mnt_instance);
			back &= neighbours((u64)one);
			one = BPF_CORE_READ(one, next);
		}
	}
	CHECK("super block: the mount is one of its mounts", found);
	CHECK("super block: the mounts lead back", back);
	CHECK("mount: in the hash by its place", chained((u64)AT(m, mnt_hash)));
	CHECK("mount: its place", BPF_CORE_READ(mp, m_dentry) == BPF_CORE_READ(m, mnt_mountpoint));
	CHECK("mount: one at its place", on_hlist((u64)AT(mp, m_list), (u64)AT(m, mnt_mp_list)));
	CHECK("mount: the place is in the hash", chained((u64)AT(mp, m_hash)));
	CHECK("mount: among its parent's", neighbours((u64)AT(m, mnt_child)));
	CHECK("mount: has a name", length((u64)BPF_CORE_READ(m, mnt_devname)) > 1);
	CHECK("mounts: a tree has the mount", top((u64)AT(m, mnt_node)) == (u64)BPF_CORE_READ(ns, mounts.rb_node));
	CHECK("mounts: counted", BPF_CORE_READ(ns, nr_mounts) >= 2);
	CHECK("mounts: begin with one on itself", BPF_CORE_READ(ns, root, mnt_parent) == BPF_CORE_READ(ns, root));
	return 0;
}
