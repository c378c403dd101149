// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// racescratch: events too large for the stack are built in memory of the CPU. A program that runs in the middle of another one on
// that CPU, in an interrupt or because the kernel switched to another task, builds its event in the same place. The programs whose
// names end in _right have a place for each level.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct event {
	__u64 kind, pid, payload[64];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} events SEC(".maps"), events_right SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} level SEC(".maps");

/* A task, a softirq, an interrupt and an NMI can be in the middle of each other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, struct event);
} levels SEC(".maps");

static void fill(struct event *e, __u64 kind)
{
	e->kind = kind;
	e->pid = bpf_get_current_pid_tgid() >> 32;
	e->payload[0] = kind * 100;
}

static int report(__u64 kind)
{
	__u32 zero = 0;
	struct event *e = bpf_map_lookup_elem(&scratch, &zero);

	if (!e)
		return 0;
	fill(e, kind);
	bpf_ringbuf_output(&events, e, sizeof(*e), 0);
	return 0;
}

static int report_right(__u64 kind)
{
	__u32 zero = 0, mine;
	__u32 *depth = bpf_map_lookup_elem(&level, &zero);
	struct event *e;

	if (!depth)
		return 0;
	/* Whatever comes in between leaves the level as it finds it. */
	mine = *(volatile __u32 *)depth;
	*(volatile __u32 *)depth = mine + 1;
	e = bpf_map_lookup_elem(&levels, &mine);
	if (e) {
		fill(e, kind);
		bpf_ringbuf_output(&events_right, e, sizeof(*e), 0);
	}
	*(volatile __u32 *)depth = mine;
	return 0;
}

SEC("fentry/vfs_unlink")
int on_unlink(void *ctx)
{
	return report(1);
}

SEC("tp_btf/sched_wakeup")
int on_wakeup(void *ctx)
{
	return report(2);
}

SEC("fentry/vfs_unlink")
int on_unlink_right(void *ctx)
{
	return report_right(1);
}

SEC("tp_btf/sched_wakeup")
int on_wakeup_right(void *ctx)
{
	return report_right(2);
}

char _license[] SEC("license") = "GPL";
