// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// fields: the ways in which correct CO-RE code reaches a field. Every offset comes from a relocation, or there is none: pointers that were
// loaded are read where they point.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>



#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next, *prev;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	unsigned int level;
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[];
};

struct signal_struct {
	struct pid *pids[4];
};

struct nsproxy {
	struct pid_namespace *pid_ns_for_children;
};

struct load_weight {
	unsigned long weight;
};

struct sched_entity {
	struct load_weight load;
	__u64 vruntime;
};

struct task_struct {
	int pid;
	int tgid;
	unsigned int flags;
	unsigned int sched_reset_on_fork : 1;
	unsigned int sched_contributes_to_load : 1;
	unsigned int in_iowait : 1;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct list_head children;
	struct list_head sibling;
	struct sched_entity se;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct nsproxy *nsproxy;
	char comm[16];
};

struct super_block {
	char s_id[32];
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct qstr {
	union {
		struct {
			__u32 hash;
			__u32 len;
		};
		__u64 hash_len;
	};
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
};

struct linux_binprm {
	struct file *file;
	const char *filename;
	const char *interp;
};

#pragma clang attribute pop

struct event {
	__u32 pid, tgid, parent, level, nr[4], inum, bits, depth;
	__u64 weight, ino, magic;
	char comm[16], parent_comm[16];
	char name[32], above[32], filename[64], fs[32];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event);
} last SEC(".maps");

static struct event *event(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&last, &zero);
}

/* Pointers read by BPF_CORE_READ and BPF_CORE_READ_INTO, through several structs, and whole arrays. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(chains, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	struct event *e = event();

	if (!e)
		return 0;
	e->parent = BPF_CORE_READ(p, real_parent, group_leader, tgid);
	BPF_CORE_READ_INTO(&e->pid, p, group_leader, pid);
	BPF_CORE_READ_INTO(&e->weight, p, real_parent, se.load.weight);
	BPF_CORE_READ_INTO(&e->comm, p, comm);
	BPF_CORE_READ_INTO(&e->parent_comm, p, real_parent, comm);
	BPF_CORE_READ_INTO(&e->ino, bprm, file, f_path.dentry, d_inode, i_ino);
	BPF_CORE_READ_INTO(&e->fs, bprm, file, f_inode, i_sb, s_id);
	e->magic = BPF_CORE_READ(bprm, file, f_inode, i_sb, s_magic);
	BPF_CORE_READ_STR_INTO(&e->filename, bprm, filename);
	return 0;
}

/* The file's name lies where d_name.name points: inside the dentry, if it is short. No offset is added to it. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(names, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	struct dentry *d = bprm->file->f_path.dentry, *up;
	struct event *e = event();
	const unsigned char *name;

	if (!e)
		return 0;
	bpf_probe_read_kernel_str(e->name, sizeof(e->name), d->d_name.name);
	up = BPF_CORE_READ(d, d_parent);
	name = BPF_CORE_READ(up, d_name.name);
	bpf_core_read_str(e->above, sizeof(e->above), name);
	BPF_CORE_READ_STR_INTO(&e->above, d, d_parent, d_name.name);
	bpf_probe_read_kernel_str(e->filename, sizeof(e->filename), bprm->interp);
	bpf_probe_read_kernel(e->name, 8, BPF_CORE_READ(d, d_parent, d_name.name));
	bpf_core_read(&e->depth, sizeof(e->depth), &d->d_name.len);
	return 0;
}

/* The last character of a name, and the name in a loop: what is added to the pointer is a number of characters. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(suffix, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	struct event *e = event();
	const unsigned char *name;
	__u32 len;
	char c = 0;

	if (!e)
		return 0;
	name = BPF_CORE_READ(bprm, file, f_path.dentry, d_name.name);
	len = BPF_CORE_READ(bprm, file, f_path.dentry, d_name.len);
	if (len > 2)
		bpf_probe_read_kernel(&e->name[0], 2, name + len - 2);
	bpf_probe_read_kernel_str(e->above, sizeof(e->above), name + 1);
#pragma clang loop unroll(disable)
	for (int i = 0; i < 8; i++) {
		bpf_probe_read_kernel(&c, 1, name + i);
		if (!c)
			break;
		e->name[i] = c;
	}
	return 0;
}

/* A task's number in its own namespace: an element of an array at the end of struct pid, longer than declared. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(numbers, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	struct event *e = event();
	struct pid *pid = BPF_CORE_READ(p, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);
	struct upid upid;

	if (!e)
		return 0;
	e->level = level;
	e->nr[0] = BPF_CORE_READ(pid, numbers[0].nr);
	e->nr[2] = BPF_CORE_READ(pid, numbers[level & 1].nr);
	if (!bpf_core_read(&upid, sizeof(upid), &pid->numbers[level & 1]))
		e->nr[3] = upid.nr;
	e->inum = BPF_CORE_READ(pid, numbers[level & 1].ns, ns.inum);
	pid = BPF_CORE_READ(p, signal, pids[2]);
	e->nr[3] = BPF_CORE_READ(pid, numbers[0].nr);
	e->inum = BPF_CORE_READ(p, nsproxy, pid_ns_for_children, ns.inum);
	return 0;
}

/* Bit fields, unions, and characters of an array. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(parts, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct dentry *d = BPF_CORE_READ(bprm, file, f_path.dentry);
	struct event *e = event();

	if (!e)
		return 0;
	e->bits = BPF_CORE_READ_BITFIELD_PROBED(task, sched_reset_on_fork) | BPF_CORE_READ_BITFIELD(task, sched_contributes_to_load) << 1 |
		  BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait) << 2;
	e->depth = BPF_CORE_READ(d, d_name.hash) + BPF_CORE_READ(d, d_name.len);
	e->ino = BPF_CORE_READ(d, d_name.hash_len);
	e->comm[0] = task->comm[0];
	e->comm[1] = task->comm[3];
	e->comm[2] = BPF_CORE_READ(task, comm[5]);
	bpf_core_read(&e->parent_comm, 4, &task->comm[4]);
	return 0;
}

static __noinline struct task_struct *task_of(struct sched_entity *se)
{
	return (void *)se - bpf_core_field_offset(struct task_struct, se);
}

/* From a member or a list's node back to the struct that contains it. The offset that is subtracted means no field. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(containers, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	struct list_head *head = &p->children, *first = BPF_CORE_READ(p, children.next);
	struct task_struct *child, *same;
	struct event *e = event();

	if (!e)
		return 0;
	same = task_of(&p->se);
	e->pid = BPF_CORE_READ(same, pid);
	e->parent = BPF_CORE_READ(same, real_parent, tgid);
	if (first == head)
		return 0;
	child = (void *)first - bpf_core_field_offset(struct task_struct, sibling);
	e->nr[0] = BPF_CORE_READ(child, tgid);
	return 0;
}

static __noinline __u64 weight_of(struct sched_entity *se)
{
	return BPF_CORE_READ(se, load.weight);
}

static __noinline __u64 number_at(const void *at)
{
	__u64 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), at);
	return v;
}

static __noinline const void *where(struct task_struct *p)
{
	return &p->se.vruntime;
}

/* Global functions get their pointers as numbers, which they read with a helper. */
__noinline int parent_of(__u64 task)
{
	struct task_struct *p = (void *)task;

	return BPF_CORE_READ(p, real_parent, pid);
}

__noinline int word_of(__u64 at)
{
	int v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), (void *)at);
	return v;
}

/* Functions that add an offset themselves, that get an address with an offset added, and that return one. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(functions, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	struct event *e = event();
	__u64 task;

	if (!e)
		return 0;
	e->weight = weight_of(&p->se);
	e->weight += number_at(&p->se.vruntime);
	e->weight += number_at(where(p));
	task = bpf_get_current_task();
	e->parent = parent_of(task);
	e->tgid = word_of(task + bpf_core_field_offset(struct task_struct, tgid));
	return 0;
}

/* An address that lives on the stack across calls, and one that two paths determine. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(spilled, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	const void *volatile at = &p->tgid;
	struct event *e = event();
	const void *some;

	if (!e)
		return 0;
	bpf_probe_read_kernel(&e->tgid, sizeof(e->tgid), at);
	some = bpf_get_prandom_u32() & 1 ? (const void *)&p->pid : (const void *)&p->flags;
	bpf_probe_read_kernel(&e->pid, sizeof(e->pid), some);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
