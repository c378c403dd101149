// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// calledback: functions that helpers and timers call, which read the kernel's structs through what they are given. Needs Linux 5.17.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

struct bpf_timer {
	__u64 opaque[2];
} __attribute__((aligned(8)));

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct signal_struct {
	int nr_threads;
};

struct task_struct {
	int pid;
	int tgid;
	__u64 start_time;
	struct task_struct *real_parent;
	struct signal_struct *signal;
	char comm[16];
};

#pragma clang attribute pop

struct walk {
	struct task_struct *at;
	const char *comm;
	__u32 depth, last;
	char name[16];
};

struct tick {
	struct bpf_timer timer;
	__u32 tgid, threads;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct tick);
} ticks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} starts SEC(".maps");

static long up(__u32 i, void *ctx)
{
	struct walk *w = ctx;
	struct task_struct *task = w->at;

	w->last = BPF_CORE_READ(task, tgid);
	bpf_probe_read_kernel_str(w->name, sizeof(w->name), w->comm);
	w->at = BPF_CORE_READ(task, real_parent);
	w->comm = (const char *)w->at + bpf_core_field_offset(struct task_struct, comm);
	w->depth++;
	return w->last <= 1;
}

static long note(void *map, const void *key, void *value, void *ctx)
{
	struct walk *w = ctx;
	struct task_struct *task = w->at;
	__u64 *start = value;

	*start = BPF_CORE_READ(task, start_time);
	w->last = BPF_CORE_READ(task, real_parent, pid);
	return 0;
}

SEC("raw_tracepoint/sched_process_exit")
int ancestors(struct bpf_raw_tracepoint_args *ctx)
{
	struct walk w = {.at = (void *)ctx->args[0]};

	w.comm = (const char *)w.at + bpf_core_field_offset(struct task_struct, comm);
	bpf_loop(8, up, &w, 0);
	bpf_for_each_map_elem(&starts, note, &w, 0);
	return w.depth == 0;
}

static int expired(void *map, __u32 *key, struct tick *t)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	t->tgid = BPF_CORE_READ(task, tgid);
	t->threads = BPF_CORE_READ(task, signal, nr_threads);
	return 0;
}

static int expired_again(void *map, __u32 *key, struct tick *t)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	t->threads = BPF_CORE_READ(task, real_parent, signal, nr_threads);
	t->tgid = BPF_CORE_READ(task, real_parent, tgid);
	return 0;
}

/* Both programs start timers, which may expire while the other one runs. */
SEC("tc")
int arm(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct tick *t = bpf_map_lookup_elem(&ticks, &key);

	if (!t)
		return 0;
	bpf_timer_init(&t->timer, &ticks, 1);
	bpf_timer_set_callback(&t->timer, expired);
	bpf_timer_start(&t->timer, 1000, 0);
	return 0;
}

SEC("tc")
int rearm(struct __sk_buff *skb)
{
	__u32 key = 1;
	struct tick *t = bpf_map_lookup_elem(&ticks, &key);

	if (!t)
		return 0;
	bpf_timer_init(&t->timer, &ticks, 1);
	bpf_timer_set_callback(&t->timer, expired_again);
	bpf_timer_start(&t->timer, 500, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
