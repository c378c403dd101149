/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* More kernel types, for the examples of program types: as in kernel.h only the fields that are read, relocated to the target's. */
#ifndef BPFRUN_HOOKS_H
#define BPFRUN_HOOKS_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct {
	unsigned long arg_start;
};

struct task_struct___mm {
	struct mm_struct *mm;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
};

struct cgroup {
	struct kernfs_node *kn;
	int level;
};

struct bpf_map {
	char name[16];
	__u32 max_entries;
};

struct tcp_sock {
	__u32 snd_cwnd;
};

/* The contexts of iterators. */
struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

struct bpf_iter__bpf_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
};

struct bpf_iter__bpf_map_elem {
	struct bpf_iter_meta *meta;
	void *key;
	void *value;
};

struct bpf_iter__cgroup {
	struct bpf_iter_meta *meta;
	struct cgroup *cgroup;
};

#pragma clang attribute pop

/* Registered with the kernel by name: not relocated, libbpf puts it into the target's layout. */
struct sock;
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
};

#endif
