/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What our sched_ext schedulers need of the kernel: the fields of tasks that they read, the operations that they
 * implement, and the functions that they call. Layouts come from the target's BTF, as in kernel.h.
 */
#ifndef BPFRUN_SCHED_H
#define BPFRUN_SCHED_H

#include "types.h"
#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cpumask;

struct sched_ext_entity {
	__u32 flags;
	__u32 weight;
	__u64 slice;
	__u64 dsq_vtime;
};

struct task_struct {
	int pid;
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	struct sched_ext_entity scx;
};

struct scx_init_task_args {
	bool fork;
};

enum scx_exit_kind {
	SCX_EXIT_NONE = 0,
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	__s64 exit_code;
};

#pragma clang attribute pop

struct sched_ext_ops {
	__s32 (*select_cpu)(struct task_struct *p, __s32 prev_cpu, __u64 wake_flags);
	void (*enqueue)(struct task_struct *p, __u64 enq_flags);
	void (*dispatch)(__s32 cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*enable)(struct task_struct *p);
	__s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	__u64 flags;
	__u32 timeout_ms;
	char name[128];
};

#define SCX_DSQ_LOCAL	(1ULL << 63 | 2)
#define SCX_SLICE_DFL	20000000ULL
#define SCX_TASK_QUEUED	1

__s32 scx_bpf_create_dsq(__u64 dsq_id, __s32 node) __ksym;
void scx_bpf_dsq_insert(struct task_struct *p, __u64 dsq_id, __u64 slice, __u64 enq_flags) __ksym;
bool scx_bpf_dsq_move_to_local(__u64 dsq_id) __ksym;
__s32 scx_bpf_select_cpu_dfl(struct task_struct *p, __s32 prev_cpu, __u64 wake_flags, bool *is_idle) __ksym;
struct task_struct *scx_bpf_dsq_peek(__u64 dsq_id) __ksym;
void scx_bpf_dsq_insert_vtime(struct task_struct *p, __u64 dsq_id, __u64 slice, __u64 vtime, __u64 enq_flags) __ksym;
__s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
__u32 scx_bpf_nr_cpu_ids(void) __ksym;

#endif
