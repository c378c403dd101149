// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// cilium: what cilium/ebpf completes and libbpf leaves to the kernel, which refuses it: maps without the sizes that follow from their type, a
// ring buffer that names the type of its records, and section names that continue a known one.
#include "types.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct event {
	int a, b, c;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(value, struct event);
} typed_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
	__type(value, struct event);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 4);
} jumps SEC(".maps");

SEC("tc_ingress")
int ingress(struct __sk_buff *skb)
{
	struct event e = {1, 2, 3};
	bpf_ringbuf_output(&ring, &e, sizeof(e), 0);
	bpf_perf_event_output(skb, &events, BPF_F_CURRENT_CPU, &e, sizeof(e));
	bpf_perf_event_output(skb, &typed_events, BPF_F_CURRENT_CPU, &e, sizeof(e));
	bpf_tail_call(skb, &jumps, 3);
	return 0;
}

SEC("tcingress")
int glued(struct __sk_buff *skb)
{
	return 1;
}
