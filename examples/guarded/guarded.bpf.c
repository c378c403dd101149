// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// guarded: one object for kernels that disagree (a renamed field, a reshaped field, a missing type, a missing enumerator):
// each is behind a CO-RE question, so the reads a kernel cannot serve are never reached there.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

// Up to 5.13 the state of a task is `state`, later `__state`.
struct task_struct___old {
	volatile long state;
} __attribute__((preserve_access_index));

struct task_struct___new {
	unsigned int __state;
} __attribute__((preserve_access_index));

// Up to 6.1 the counters of resident pages are an array in a struct, later an array of per-CPU counters.
struct mm_struct___rss_array {
	struct {
		struct {
			long long counter;
		} count[4];
	} rss_stat;
} __attribute__((preserve_access_index));

struct percpu_counter {
	long long count;
} __attribute__((preserve_access_index));

struct mm_struct___rss_percpu {
	struct percpu_counter rss_stat[4];
	unsigned long total_vm;
} __attribute__((preserve_access_index));

struct task_struct___mm {
	struct mm_struct___rss_percpu *mm;
} __attribute__((preserve_access_index));

struct sched_ext_entity {
	__u32 weight;
} __attribute__((preserve_access_index));

struct task_struct___scx {
	struct sched_ext_entity scx;
} __attribute__((preserve_access_index));

enum bpf_map_type___since_6_9 {
	BPF_MAP_TYPE_ARENA___since_6_9 = 33,
};

struct report {
	__u64 state;
	__u64 total_vm;
	__s64 file_pages;
	__u32 scx_weight;
	__u8 has_old_state;
	__u8 has_scx;
	__u8 has_arena;
	__u8 rss_is_percpu;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct report);
} reports SEC(".maps");

SEC("tracepoint/sched/sched_process_exit")
int on_exit(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct task_struct___old *old = (void *)task;
	struct task_struct___new *new = (void *)task;
	struct task_struct___scx *scx = (void *)task;
	struct task_struct___mm *tmm = (void *)task;
	struct report r = {};
	__u32 pid;

	pid = BPF_CORE_READ(task, pid);
	if (bpf_core_field_exists(old->state)) {
		r.has_old_state = 1;
		r.state = BPF_CORE_READ(old, state);
	} else {
		r.state = BPF_CORE_READ(new, __state);
	}

	r.total_vm = BPF_CORE_READ(tmm, mm, total_vm);
	if (bpf_core_field_exists(((struct mm_struct___rss_percpu *)0)->rss_stat[0].count)) {
		r.rss_is_percpu = 1;
		r.file_pages = BPF_CORE_READ(tmm, mm, rss_stat[0].count);
	} else {
		struct mm_struct___rss_array *mm = (void *)BPF_CORE_READ(tmm, mm);

		r.file_pages = BPF_CORE_READ(mm, rss_stat.count[0].counter);
	}

	if (bpf_core_type_exists(struct sched_ext_entity)) {
		r.has_scx = 1;
		r.scx_weight = BPF_CORE_READ(scx, scx.weight);
	}
	r.has_arena = bpf_core_enum_value_exists(enum bpf_map_type___since_6_9, BPF_MAP_TYPE_ARENA___since_6_9);

	bpf_map_update_elem(&reports, &pid, &r, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
