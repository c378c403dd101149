// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// percpu: time spent in each kind of soft interrupt, in per-CPU arrays and a per-CPU hash.
#include "kernel.h"
#include <bpf/bpf_helpers.h>

#define NR_SOFTIRQS 10

struct spent {
	__u64 count;
	__u64 ns;
	__u64 longest;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} entered SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_SOFTIRQS);
	__type(key, __u32);
	__type(value, struct spent);
} by_vector SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} interrupted SEC(".maps");

SEC("tracepoint/irq/softirq_entry")
int on_entry(struct trace_event_raw_softirq *ctx)
{
	__u32 zero = 0;
	__u64 *t = bpf_map_lookup_elem(&entered, &zero);

	if (t)
		*t = bpf_ktime_get_ns();
	return 0;
}

SEC("tracepoint/irq/softirq_exit")
int on_exit(struct trace_event_raw_softirq *ctx)
{
	__u32 zero = 0, vec = ctx->vec, tgid = bpf_get_current_pid_tgid() >> 32;
	__u64 *t, *n, one = 1, ns;
	struct spent *s;

	t = bpf_map_lookup_elem(&entered, &zero);
	if (!t || !*t)
		return 0;
	ns = bpf_ktime_get_ns() - *t;
	*t = 0;

	s = bpf_map_lookup_elem(&by_vector, &vec);
	if (!s)
		return 0;
	s->count++;
	s->ns += ns;
	if (ns > s->longest)
		s->longest = ns;

	n = bpf_map_lookup_elem(&interrupted, &tgid);
	if (n)
		++*n;
	else
		bpf_map_update_elem(&interrupted, &tgid, &one, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
