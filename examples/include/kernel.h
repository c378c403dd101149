/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The kernel types our examples read, each with only the fields they read. preserve_access_index makes clang
 * record every access to them, so size, order and offsets here mean nothing: they come from the target's BTF
 * when the object is loaded. Names and types of the fields do matter.
 */
#ifndef BPFRUN_KERNEL_H
#define BPFRUN_KERNEL_H

#include "types.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t uid;
	kuid_t euid;
};

struct task_struct {
	int pid;
	int tgid;
	int prio;
	int exit_code;
	unsigned int flags;
	__u64 start_time;
	struct task_struct *real_parent;
	const struct cred *cred;
	char comm[16];
};

struct qstr {
	__u32 len;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	long long i_size;
};

struct file {
	unsigned int f_flags;
	struct inode *f_inode;
	struct path f_path;
};

struct filename {
	const char *name;
};

struct linux_binprm {
	struct file *file;
	const struct cred *cred;
	const char *filename;
	int argc;
};

struct kernfs_node {
	const char *name;
};

/* Tracepoint contexts: struct trace_event_raw_CLASS. */
struct trace_entry {
	int pid;
};

struct trace_event_raw_sched_process_exec {
	struct trace_entry ent;
	__u32 __data_loc_filename;
	int pid;
	int old_pid;
};

struct trace_event_raw_softirq {
	struct trace_entry ent;
	unsigned int vec;
};

struct trace_event_raw_sys_enter {
	struct trace_entry ent;
	long id;
	unsigned long args[6];
};

#pragma clang attribute pop

#endif
