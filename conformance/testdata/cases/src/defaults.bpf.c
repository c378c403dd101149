// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// defaults: what holds of the running task and the objects around it on any healthy system, whoever runs the program: pointers that lead back,
// lists that close, counts that agree. A result is 1 where it holds, except where the name says "number".
#include "case.h"
#include <bpf/bpf_core_read.h>

/* Ends a loop that has gone on for too long. */
#define MAY_GOTO(label) asm volatile goto("may_goto %l[" #label "]" : : : : label)

struct list_head {
	struct list_head *next, *prev;
} CORE;
struct hlist_node {
	struct hlist_node *next;
} CORE;
struct hlist_head {
	struct hlist_node *first;
} CORE;
typedef struct {
	int counter;
} atomic_t;
struct refcount_struct {
	atomic_t refs;
} CORE;
typedef struct {
	u32 val;
} kuid_t;
typedef struct {
	u64 val;
} kernel_cap_t;

struct super_block;
struct file_system_type {
	char *name;
} CORE;
struct user_namespace {
	int level;
} CORE;
struct address_space {
	struct inode *host;
} CORE;
struct inode {
	u16 i_mode;
	void *i_op, *i_fop;
	struct super_block *i_sb;
	struct address_space *i_mapping;
	struct address_space i_data;
	u64 i_ino;
	long long i_size;
	u32 i_nlink;
	atomic_t i_count;
} CORE;
struct qstr {
	u32 len;
	unsigned char *name;
} CORE;
struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct super_block *d_sb;
	struct hlist_head d_children;
	struct hlist_node d_sib;
} CORE;
struct super_block {
	struct dentry *s_root;
	u64 s_blocksize;
	u8 s_blocksize_bits;
	u64 s_magic;
	void *s_op;
	struct file_system_type *s_type;
	struct user_namespace *s_user_ns;
	long long s_maxbytes;
} CORE;
struct vfsmount {
	struct dentry *mnt_root;
	struct super_block *mnt_sb;
} CORE;
struct mnt_namespace;
struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct mnt_namespace *mnt_ns;
} CORE;
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} CORE;
struct file {
	struct path f_path;
	struct inode *f_inode;
	struct address_space *f_mapping;
	void *f_op;
	u32 f_mode;
	void *f_cred;
} CORE;
struct fs_struct {
	struct path root, pwd;
} CORE;
struct fdtable {
	u32 max_fds;
	struct file **fd;
	u64 *open_fds;
} CORE;
struct files_struct {
	atomic_t count;
	struct fdtable *fdt;
	u32 next_fd;
} CORE;
struct mm_struct {
	int map_count;
	u64 total_vm, start_code, end_code, start_stack, arg_start, arg_end, env_start, task_size;
	void *pgd;
	struct task_struct *owner;
	struct file *exe_file;
	atomic_t mm_users, mm_count;
} CORE;
struct vm_area_struct {
	u64 vm_start, vm_end;
	struct mm_struct *vm_mm;
	struct file *vm_file;
	void *vm_ops;
} CORE;
struct user_struct {
	kuid_t uid;
} CORE;
struct group_info {
	int ngroups;
} CORE;
struct cred {
	kuid_t uid;
	kernel_cap_t cap_permitted, cap_effective;
	struct user_struct *user;
	struct user_namespace *user_ns;
	struct group_info *group_info;
} CORE;
struct pid_namespace {
	u32 level;
	struct task_struct *child_reaper;
	struct pid_namespace *parent;
	struct user_namespace *user_ns;
} CORE;
struct upid {
	int nr;
	struct pid_namespace *ns;
} CORE;
struct pid {
	u32 level;
	struct hlist_head tasks[4];
	struct upid numbers[1];
} CORE;
struct net_device {
	char name[16];
	int ifindex;
	u32 flags, mtu;
	struct list_head dev_list;
	void *netdev_ops;
} CORE;
struct net {
	struct list_head dev_base_head;
	struct net_device *loopback_dev;
	struct user_namespace *user_ns;
} CORE;
struct new_utsname {
	char sysname[65], nodename[65], release[65];
} CORE;
struct uts_namespace {
	struct new_utsname name;
} CORE;
struct nsproxy {
	struct uts_namespace *uts_ns;
	struct mnt_namespace *mnt_ns;
	struct pid_namespace *pid_ns_for_children;
	struct net *net_ns;
	void *ipc_ns, *cgroup_ns, *time_ns;
} CORE;
struct signal_struct {
	int nr_threads;
	atomic_t live;
	struct list_head thread_head;
	struct pid *pids[4];
} CORE;
struct sighand_struct {
	struct refcount_struct count;
} CORE;
struct kernfs_node {
	void *priv;
	char *name;
	u64 id;
} CORE;
struct cgroup;
struct cgroup_root;
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} CORE;
struct cgroup {
	struct cgroup_subsys_state self;
	int level;
	struct kernfs_node *kn;
	struct cgroup_root *root;
} CORE;
struct cgroup_root {
	struct cgroup cgrp;
} CORE;
struct css_set {
	struct cgroup *dfl_cgrp;
	int nr_tasks;
	struct list_head tasks;
} CORE;
struct load_weight {
	u64 weight;
} CORE;
struct sched_entity {
	struct load_weight load;
	u8 on_rq, sched_delayed, rel_deadline, custom_slice;
} CORE;
struct task_struct {
	u32 __state, flags;
	void *stack;
	int on_cpu, on_rq; // bytes on 7.2
	int pid, tgid, prio, static_prio, normal_prio, nr_cpus_allowed;
	u32 policy;
	struct sched_entity se;
	void *sched_class;
	struct task_struct *group_leader, *real_parent, *parent;
	struct list_head children, sibling, tasks, thread_node;
	struct mm_struct *mm, *active_mm;
	struct signal_struct *signal;
	struct sighand_struct *sighand;
	struct pid *thread_pid;
	struct hlist_node pid_links[4];
	struct cred *cred, *real_cred;
	struct files_struct *files;
	struct fs_struct *fs;
	struct nsproxy *nsproxy;
	struct css_set *cgroups;
	struct list_head cg_list;
	u64 start_time, start_boottime;
	char comm[16];
} CORE;

#define AT(p, field) ((void *)&(p)->field)
#define OUTER(node, type, field) ((type *)((void *)(node) - bpf_core_field_offset(type, field)))

// What a list has: how many nodes, whether it closes with every node's prev right, and whether a node is on it.
struct found {
	u64 nodes, closes, has;
};

static __noinline int walk(struct found *f, u64 head, u64 node)
{
	struct list_head *prev = (void *)head, *at;

	if (!f)
		return 1;
	f->nodes = f->closes = f->has = 0;
	at = BPF_CORE_READ(prev, next);
	for (;;) {
		MAY_GOTO(out);
		if (BPF_CORE_READ(at, prev) != prev)
			return 1;
		if (at == (void *)head) {
			f->closes = 1;
			return 0;
		}
		f->nodes++;
		f->has |= at == (void *)node;
		prev = at;
		at = BPF_CORE_READ(at, next);
	}
out:
	return 1;
}

// Whether a short list without a way back has a node.
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

static __noinline int length(u64 text)
{
	char buf[256];

	return bpf_probe_read_kernel_str(buf, sizeof(buf), (void *)text);
}

// The last of a task's ancestors.
static __noinline u64 eldest(u64 task)
{
	struct task_struct *at = (void *)task, *up;

	for (;;) {
		MAY_GOTO(out);
		up = BPF_CORE_READ(at, real_parent);
		if (up == at)
			return (u64)at;
		at = up;
	}
out:
	return 0;
}

SEC("syscall") int t_family(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task(), *leader = BPF_CORE_READ(cur, group_leader);
	struct found f;

	CHECK("task: pid of the leader is the tgid", BPF_CORE_READ(leader, pid) == BPF_CORE_READ(cur, tgid));
	CHECK("task: the leader leads itself", BPF_CORE_READ(leader, group_leader) == leader);
	CHECK("task: parent of an untraced task", BPF_CORE_READ(cur, parent) == BPF_CORE_READ(cur, real_parent));
	CHECK("task: ids are those of the helper", bpf_get_current_pid_tgid() == ((u64)BPF_CORE_READ(cur, tgid) << 32 | BPF_CORE_READ(cur, pid)));
	CHECK("task: no kernel thread", !(BPF_CORE_READ(cur, flags) & 0x200000));
	CHECK("task: has a name", length((u64)AT(cur, comm)) > 1);
	CHECK("task: the parent is a leader", BPF_CORE_READ(leader, real_parent, group_leader, pid) == BPF_CORE_READ(leader, real_parent, tgid));
	walk(&f, (u64)AT(BPF_CORE_READ(leader, real_parent), children), (u64)AT(leader, sibling));
	CHECK("task: children of the parent close", f.closes);
	CHECK("task: the leader is a child of its parent", f.has);
	return 0;
}

SEC("syscall") int t_tasks(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task(), *up;

	up = (void *)eldest((u64)cur);
	CHECK("task: the family ends", up != NULL);
	CHECK("idle task: pid", BPF_CORE_READ(up, pid) == 0);
	CHECK("idle task: no memory of its own", BPF_CORE_READ(up, mm) == NULL);
	CHECK("idle task: a kernel thread", (BPF_CORE_READ(up, flags) & 0x200000) != 0);
	return 0;
}

SEC("syscall") int t_tasklist(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task(), *leader = BPF_CORE_READ(cur, group_leader), *up = BPF_CORE_READ(leader, real_parent, group_leader);
	struct found f;

	walk(&f, (u64)AT(leader, tasks), (u64)AT(up, tasks));
	CHECK("tasks: the list closes", f.closes);
	CHECK("tasks: the list has the parent", f.has);
	return 0;
}

SEC("syscall") int t_threads(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task(), *leader = BPF_CORE_READ(cur, group_leader);
	struct found f;

	walk(&f, (u64)AT(BPF_CORE_READ(cur, signal), thread_head), (u64)AT(cur, thread_node));
	CHECK("threads: the list closes", f.closes);
	CHECK("threads: the list has the task", f.has);
	CHECK("threads: as many as are counted", f.nodes == BPF_CORE_READ(cur, signal, nr_threads));
	CHECK("threads: as many live", f.nodes == BPF_CORE_READ(cur, signal, live.counter));
	CHECK("threads: sighand is shared", BPF_CORE_READ(cur, sighand) == BPF_CORE_READ(leader, sighand));
	CHECK("threads: sighand is counted", BPF_CORE_READ(cur, sighand, count.refs.counter) >= (int)f.nodes);
	CHECK("task: started", BPF_CORE_READ(cur, start_time) > 0);
	CHECK("task: started since boot", BPF_CORE_READ(cur, start_boottime) >= BPF_CORE_READ(cur, start_time));
	CHECK("task: started in the past", BPF_CORE_READ(cur, start_boottime) <= bpf_ktime_get_boot_ns());
	return 0;
}

SEC("syscall") int t_running(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	u64 magic = 0;

	CHECK("scheduling: running", BPF_CORE_READ(cur, __state) == 0);
	CHECK("scheduling: on a CPU", BPF_CORE_READ_BITFIELD_PROBED(cur, on_cpu) == 1);
	CHECK("scheduling: on a run queue", BPF_CORE_READ_BITFIELD_PROBED(cur, on_rq) == 1);
	CHECK("scheduling: number of the policy", BPF_CORE_READ(cur, policy));
	CHECK("scheduling: number of the static priority", BPF_CORE_READ(cur, static_prio));
	CHECK("scheduling: normal priority", BPF_CORE_READ(cur, normal_prio) == BPF_CORE_READ(cur, static_prio));
	CHECK("scheduling: priority", BPF_CORE_READ(cur, prio) == BPF_CORE_READ(cur, static_prio));
	CHECK("scheduling: number of the weight", BPF_CORE_READ(cur, se.load.weight));
	CHECK("scheduling: the entity is queued", BPF_CORE_READ(cur, se.on_rq) == 1);
	CHECK("scheduling: not delayed, no deadline, no slice of its own", !BPF_CORE_READ(cur, se.sched_delayed) && !BPF_CORE_READ(cur, se.rel_deadline) && !BPF_CORE_READ(cur, se.custom_slice));
	CHECK("scheduling: class", BPF_CORE_READ(cur, sched_class) != NULL);
	CHECK("scheduling: allowed CPUs", BPF_CORE_READ(cur, nr_cpus_allowed) >= 1);
	bpf_probe_read_kernel(&magic, 8, BPF_CORE_READ(cur, stack));
	CHECK("stack: ends with the magic number", magic == 0x57AC6E9D);
	return 0;
}

SEC("syscall") int t_pid(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(cur, thread_pid), *tgid = BPF_CORE_READ(cur, signal, pids[1]);
	struct pid_namespace *ns = BPF_CORE_READ(pid, numbers[0].ns);

	CHECK("pid: number", BPF_CORE_READ(pid, numbers[0].nr) == BPF_CORE_READ(cur, pid));
	CHECK("pid: the task hangs on it", on_hlist((u64)AT(pid, tasks[0]), (u64)AT(cur, pid_links[0])));
	CHECK("tgid: number", BPF_CORE_READ(tgid, numbers[0].nr) == BPF_CORE_READ(cur, tgid));
	CHECK("tgid: the leader hangs on it", on_hlist((u64)AT(tgid, tasks[1]), (u64)AT(BPF_CORE_READ(cur, group_leader), pid_links[1])));
	CHECK("pgid: a number", BPF_CORE_READ(cur, signal, pids[2], numbers[0].nr) >= 0);
	CHECK("sid: a number", BPF_CORE_READ(cur, signal, pids[3], numbers[0].nr) >= 0);
	CHECK("first pid namespace: level", BPF_CORE_READ(ns, level) == 0);
	CHECK("first pid namespace: no parent", BPF_CORE_READ(ns, parent) == NULL);
	CHECK("first pid namespace: init reaps", BPF_CORE_READ(ns, child_reaper, pid) == 1);
	CHECK("first pid namespace: of the first users", BPF_CORE_READ(ns, user_ns, level) == 0);
	return 0;
}

struct bpf_iter_task_vma {
	u64 opaque[1];
} __attribute__((aligned(8)));
extern int bpf_iter_task_vma_new(struct bpf_iter_task_vma *it, struct task_struct *task, u64 addr) __ksym;
extern struct vm_area_struct *bpf_iter_task_vma_next(struct bpf_iter_task_vma *it) __ksym;
extern void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma *it) __ksym;

u64 pages, areas, wrong, code, stack;

SEC("raw_tp") int t_memory(void *ctx)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct mm_struct *mm = BPF_CORE_READ(cur, mm);
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;
	u64 end = 0, start_code = BPF_CORE_READ(mm, start_code), start_stack = BPF_CORE_READ(mm, start_stack);

	CHECK("mm: active", BPF_CORE_READ(cur, active_mm) == mm);
	CHECK("mm: the leader owns it", BPF_CORE_READ(mm, owner) == BPF_CORE_READ(cur, group_leader));
	CHECK("mm: users", BPF_CORE_READ(mm, mm_users.counter) >= 1);
	CHECK("mm: references", BPF_CORE_READ(mm, mm_count.counter) >= 1);
	CHECK("mm: page tables", BPF_CORE_READ(mm, pgd) != NULL);
	CHECK("mm: code", BPF_CORE_READ(mm, end_code) > start_code);
	CHECK("mm: the stack begins below the arguments", start_stack < BPF_CORE_READ(mm, arg_start));
	CHECK("mm: arguments", BPF_CORE_READ(mm, arg_start) < BPF_CORE_READ(mm, arg_end));
	CHECK("mm: the environment follows", BPF_CORE_READ(mm, arg_end) <= BPF_CORE_READ(mm, env_start));
	CHECK("mm: size of the address space", BPF_CORE_READ(mm, task_size) == 0x7ffffffff000);
	CHECK("areas: iterator", bpf_iter_task_vma_new(&it, cur, 0));
	while ((vma = bpf_iter_task_vma_next(&it))) {
		u64 from = vma->vm_start, to = vma->vm_end;

		wrong += from < end || to <= from || ((from | to) & 4095) || vma->vm_mm != mm;
		wrong += BPF_CORE_READ(vma, vm_file) && !BPF_CORE_READ(vma, vm_ops);
		code |= from <= start_code && start_code < to;
		stack |= from <= start_stack && start_stack < to;
		pages += (to - from) / 4096;
		areas++;
		end = to;
	}
	bpf_iter_task_vma_destroy(&it);
	CHECK("areas: in order, whole pages, of this memory", wrong == 0);
	CHECK("areas: as many as are counted", areas == BPF_CORE_READ(mm, map_count));
	CHECK("areas: as many pages as are counted", pages == BPF_CORE_READ(mm, total_vm));
	CHECK("areas: code lies in one", code);
	CHECK("areas: the stack lies in one", stack);
	return 0;
}
CASE({"name": "t_memory", "env_dependent": ["global:pages", "global:areas"]});

SEC("syscall") int t_files(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	struct files_struct *files = BPF_CORE_READ(cur, files);
	struct fdtable *t = BPF_CORE_READ(files, fdt);
	struct file **fd = BPF_CORE_READ(t, fd), *one;
	u64 *bits = BPF_CORE_READ(t, open_fds), open = 0, bad = 0, gaps = 0;
	u32 next = BPF_CORE_READ(files, next_fd);

	bpf_probe_read_kernel(&open, 8, bits);
	CHECK("files: users", BPF_CORE_READ(files, count.counter) >= 1);
	CHECK("files: at least 64 descriptors", BPF_CORE_READ(t, max_fds) >= 64);
	CHECK("files: whole words of descriptors", BPF_CORE_READ(t, max_fds) % 64 == 0);
	for (u32 i = 0; i < 64; i++) {
		one = NULL;
		bpf_probe_read_kernel(&one, 8, fd + i);
		bad += (one != NULL) != (open >> i & 1);
		gaps += i < next && !(open >> i & 1);
	}
	CHECK("files: bits agree with files", bad == 0);
	CHECK("files: all below the next are open", gaps == 0);
	CHECK("files: the first three are open", (open & 7) == 7);
	return 0;
}

SEC("syscall") int t_exe(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	struct file *exe = BPF_CORE_READ(cur, mm, exe_file);
	struct inode *inode = BPF_CORE_READ(exe, f_inode);
	struct dentry *d = BPF_CORE_READ(exe, f_path.dentry), *up;
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);
	u32 deep;

	CHECK("exe: inode of the dentry", BPF_CORE_READ(d, d_inode) == inode);
	CHECK("exe: pages", BPF_CORE_READ(exe, f_mapping) == BPF_CORE_READ(inode, i_mapping));
	CHECK("exe: operations of the inode", BPF_CORE_READ(exe, f_op) == BPF_CORE_READ(inode, i_fop));
	CHECK("exe: open for reading", BPF_CORE_READ(exe, f_mode) & 1);
	CHECK("exe: opened by somebody", BPF_CORE_READ(exe, f_cred) != NULL);
	CHECK("exe: file system of the mount", BPF_CORE_READ(exe, f_path.mnt, mnt_sb) == sb);
	CHECK("inode: regular", (BPF_CORE_READ(inode, i_mode) & 0170000) == 0100000);
	CHECK("inode: executable", (BPF_CORE_READ(inode, i_mode) & 0100) != 0);
	CHECK("inode: size", BPF_CORE_READ(inode, i_size) > 0);
	CHECK("inode: links", BPF_CORE_READ(inode, i_nlink) >= 1);
	CHECK("inode: references", BPF_CORE_READ(inode, i_count.counter) >= 1);
	CHECK("inode: number", BPF_CORE_READ(inode, i_ino) != 0);
	CHECK("inode: operations", BPF_CORE_READ(inode, i_op) != NULL);
	CHECK("inode: host of its pages", BPF_CORE_READ(inode, i_mapping, host) == inode);
	CHECK("dentry: length of the name", length((u64)BPF_CORE_READ(d, d_name.name)) == BPF_CORE_READ(d, d_name.len) + 1);
	CHECK("dentry: file system", BPF_CORE_READ(d, d_sb) == sb);
	CHECK("dentry: child of its parent", on_hlist((u64)AT(BPF_CORE_READ(d, d_parent), d_children), (u64)AT(d, d_sib)));
	up = BPF_CORE_READ(d, d_parent);
	CHECK("dentry: the parent is a directory", (BPF_CORE_READ(up, d_inode, i_mode) & 0170000) == 0040000);
	for (deep = 0; deep < 64 && BPF_CORE_READ(up, d_parent) != up; deep++)
		up = BPF_CORE_READ(up, d_parent);
	CHECK("dentries: end at a root", deep < 64);
	CHECK("root: of the file system", up == BPF_CORE_READ(sb, s_root));
	CHECK("root: length of the name", BPF_CORE_READ(up, d_name.len) == 1);
	CHECK("root: length of the text", length((u64)BPF_CORE_READ(up, d_name.name)) == 2);
	CHECK("super block: block size", BPF_CORE_READ(sb, s_blocksize) == 1ull << BPF_CORE_READ(sb, s_blocksize_bits));
	CHECK("super block: magic number", BPF_CORE_READ(sb, s_magic) != 0);
	CHECK("super block: operations", BPF_CORE_READ(sb, s_op) != NULL);
	CHECK("super block: name of the type", length((u64)BPF_CORE_READ(sb, s_type, name)) > 1);
	CHECK("super block: users", BPF_CORE_READ(sb, s_user_ns, level) == 0);
	CHECK("super block: largest file", BPF_CORE_READ(sb, s_maxbytes) > BPF_CORE_READ(inode, i_size));
	return 0;
}

SEC("syscall") int t_paths(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	struct fs_struct *fs = BPF_CORE_READ(cur, fs);
	struct vfsmount *mnt = BPF_CORE_READ(fs, root.mnt);
	struct mount *m = OUTER(mnt, struct mount, mnt), *top = m;
	u32 deep;

	CHECK("root: a directory", (BPF_CORE_READ(fs, root.dentry, d_inode, i_mode) & 0170000) == 0040000);
	CHECK("pwd: a directory", (BPF_CORE_READ(fs, pwd.dentry, d_inode, i_mode) & 0170000) == 0040000);
	CHECK("root: file system of the mount", BPF_CORE_READ(fs, root.dentry, d_sb) == BPF_CORE_READ(mnt, mnt_sb));
	CHECK("mount: root of the same file system", BPF_CORE_READ(mnt, mnt_root, d_sb) == BPF_CORE_READ(mnt, mnt_sb));
	CHECK("mount: namespace of the task", BPF_CORE_READ(m, mnt_ns) == BPF_CORE_READ(cur, nsproxy, mnt_ns));
	for (deep = 0; deep < 32 && BPF_CORE_READ(top, mnt_parent) != top; deep++)
		top = BPF_CORE_READ(top, mnt_parent);
	CHECK("mounts: end at the first", deep < 32);
	CHECK("mounts: the mountpoint is a directory of the parent", BPF_CORE_READ(m, mnt_mountpoint, d_sb) == BPF_CORE_READ(m, mnt_parent, mnt.mnt_sb));
	return 0;
}

SEC("syscall") int t_cred(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	struct cred *c = BPF_CORE_READ(cur, cred);

	CHECK("cred: objective and subjective", BPF_CORE_READ(cur, real_cred) == c);
	CHECK("cred: id of the helper", (u32)bpf_get_current_uid_gid() == BPF_CORE_READ(c, uid.val));
	CHECK("cred: the user", BPF_CORE_READ(c, user, uid.val) == BPF_CORE_READ(c, uid.val));
	CHECK("cred: effective capabilities are permitted", (BPF_CORE_READ(c, cap_effective.val) & ~BPF_CORE_READ(c, cap_permitted.val)) == 0);
	CHECK("cred: groups", BPF_CORE_READ(c, group_info) && BPF_CORE_READ(c, group_info, ngroups) >= 0);
	CHECK("cred: first user namespace", BPF_CORE_READ(c, user_ns, level) == 0);
	return 0;
}

SEC("syscall") int t_namespaces(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	struct nsproxy *ns = BPF_CORE_READ(cur, nsproxy);
	struct net *net = BPF_CORE_READ(ns, net_ns);
	struct net_device *lo = BPF_CORE_READ(net, loopback_dev);
	struct found f;

	CHECK("nsproxy: all namespaces", BPF_CORE_READ(ns, uts_ns) && BPF_CORE_READ(ns, mnt_ns) && net && BPF_CORE_READ(ns, ipc_ns) &&
		BPF_CORE_READ(ns, cgroup_ns) && BPF_CORE_READ(ns, time_ns));
	CHECK("nsproxy: children get the task's pid namespace", BPF_CORE_READ(ns, pid_ns_for_children) == BPF_CORE_READ(cur, thread_pid, numbers[0].ns));
	CHECK("uts: system", length((u64)AT(BPF_CORE_READ(ns, uts_ns), name.sysname)) == 6);
	CHECK("uts: name of the node", length((u64)AT(BPF_CORE_READ(ns, uts_ns), name.nodename)) > 1);
	CHECK("uts: release", length((u64)AT(BPF_CORE_READ(ns, uts_ns), name.release)) > 3);
	walk(&f, (u64)AT(net, dev_base_head), (u64)AT(lo, dev_list));
	CHECK("net: devices close", f.closes);
	CHECK("net: the loopback device is one", f.has);
	CHECK("loopback: number of the device", BPF_CORE_READ(lo, ifindex));
	CHECK("loopback: name", length((u64)AT(lo, name)) == 3);
	CHECK("loopback: IFF_LOOPBACK", (BPF_CORE_READ(lo, flags) & 8) != 0);
	CHECK("loopback: number of bytes in a packet", BPF_CORE_READ(lo, mtu));
	CHECK("loopback: operations", BPF_CORE_READ(lo, netdev_ops) != NULL);
	CHECK("net: first users", BPF_CORE_READ(net, user_ns, level) == 0);
	return 0;
}

SEC("syscall") int t_cgroup(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	struct css_set *set = BPF_CORE_READ(cur, cgroups);
	struct cgroup *cg = BPF_CORE_READ(set, dfl_cgrp), *root = AT(BPF_CORE_READ(cg, root), cgrp);
	struct cgroup_subsys_state *css = AT(cg, self);
	struct found f;
	u32 deep;

	CHECK("cgroup: its own state", BPF_CORE_READ(css, cgroup) == cg);
	CHECK("cgroup: node of the hierarchy", BPF_CORE_READ(cg, kn, priv) == cg);
	CHECK("cgroup: id of the helper", bpf_get_current_cgroup_id() == BPF_CORE_READ(cg, kn, id));
	for (deep = 0; deep < 64 && BPF_CORE_READ(css, parent); deep++)
		css = BPF_CORE_READ(css, parent);
	CHECK("cgroup: as many ancestors as its level", deep == BPF_CORE_READ(cg, level));
	CHECK("cgroup: the last is the root", BPF_CORE_READ(css, cgroup) == root);
	CHECK("root cgroup: level", BPF_CORE_READ(root, level) == 0);
	CHECK("root cgroup: number of the id", BPF_CORE_READ(root, kn, id));
	CHECK("css_set: tasks", BPF_CORE_READ(set, nr_tasks) >= 1);
	walk(&f, (u64)AT(set, tasks), (u64)AT(cur, cg_list));
	CHECK("css_set: the list closes", f.closes);
	CHECK("css_set: the list has the task", f.has);
	CHECK("css_set: as many as are counted", f.nodes == BPF_CORE_READ(set, nr_tasks));
	return 0;
}
