// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// builds: two builds of one object, the second with -DNEW: a program that only got longer, one that does something else, one that the verifier now
// refuses, one more and one less, and a map of another size.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct count {
	__u64 packets;
	__u64 task;
#ifdef NEW
	__u64 last;
#endif
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
#ifdef NEW
	__uint(max_entries, 4096);
#else
	__uint(max_entries, 1024);
#endif
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} results SEC(".maps");

static __always_inline void result(__u32 k, __u64 v)
{
	bpf_map_update_elem(&results, &k, &v, BPF_ANY);
}

SEC("xdp")
int longer(struct xdp_md *ctx)
{
	__u8 *p = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 sum = 0;

	if (p + 32 > end)
		return XDP_PASS;
#ifdef NEW
#pragma clang loop unroll(disable)
	for (int i = 0; i < 32; i++)
		sum += p[i];
#else
	for (int i = 0; i < 32; i++)
		sum += p[i];
#endif
	result(0, sum);
	return XDP_PASS;
}

SEC("xdp")
int stricter(struct xdp_md *ctx)
{
	__u8 *p = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (p + 14 > end)
		return XDP_DROP;
#ifdef NEW
	if (p[12] == 8 && p[13] == 0)
		return XDP_DROP;
#endif
	return XDP_PASS;
}

SEC("socket")
int counted(struct __sk_buff *skb)
{
	__u32 k = 1;
	struct count *c = bpf_map_lookup_elem(&counts, &k);

#ifndef NEW
	if (!c)
		return 0;
#endif
	return c->packets;
}

SEC("tracepoint/sched/sched_process_exec")
int stores_task(void *ctx)
{
	__u32 k = 0;
	struct count c = {};

	c.packets = 1;
	c.task = bpf_get_current_task();
	bpf_map_update_elem(&counts, &k, &c, BPF_ANY);
	return 0;
}

#ifdef NEW
SEC("xdp")
int added(struct xdp_md *ctx)
{
	result(1, bpf_ktime_get_tai_ns());
	return XDP_PASS;
}
#else
SEC("xdp")
int removed(struct xdp_md *ctx)
{
	return XDP_PASS;
}
#endif

char LICENSE[] SEC("license") = "GPL";
