// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// edges: programs at the edges of rules that the other sources, a program for each refusal, do not reach.
#include "refused.h"

extern void *bpf_rdonly_cast(const void *obj, u32 type) __ksym;
extern int bpf_dynptr_from_skb(struct __sk_buff *s, u64 flags, struct bpf_dynptr *p) __ksym;
extern void *bpf_dynptr_slice(const struct bpf_dynptr *p, u32 off, void *buffer, u32 len) __ksym;

MAP(hash, BPF_MAP_TYPE_HASH, u32, u64, 4);

/* A number to which a pointer to untrusted memory is added stays that number. */
PAIR("tc", UntrustedOnTheRight, struct __sk_buff)
{
	u64 p = (u64)(long)bpf_rdonly_cast(ctx, 0), n = 8;

	if (bad)
		asm volatile("%0 += %1" : "+r"(n) : "r"(p));
	else
		asm volatile("%1 += %0\n%0 = %1" : "+r"(n), "+r"(p));
	return *(volatile u8 *)(long)n & 1;
}

/* A slice of a packet is no longer valid once the packet may have moved. */
PAIR("tc", SliceAfterAChange, struct __sk_buff)
{
	struct bpf_dynptr d;
	u8 buffer[16];
	volatile u8 *data;

	bpf_dynptr_from_skb(ctx, 0, &d);
	data = bpf_dynptr_slice(&d, 0, buffer, sizeof(buffer));
	if (!data)
		return 0;
	if (bad)
		bpf_skb_pull_data(ctx, 0);
	return data[0] & 1;
}

/* A function that a callback calls loads from the packet. */
static __noinline int load_packet(struct __sk_buff *ctx)
{
	int byte;

	asm volatile("r6 = %[ctx]; r0 = *(u8 *)skb[0]; %[byte] = r0;" : [byte] "=r"(byte) : [ctx] "r"(ctx) : "r0", "r1", "r2", "r3", "r4", "r5", "r6");
	return byte;
}

static long load_below(struct bpf_map *map, u32 *key, u64 *value, struct __sk_buff **ctx)
{
	return load_packet(*ctx) & 1;
}

SEC("?tc") int LoadPacketBelowCallback(struct __sk_buff *ctx)
{
	bpf_for_each_map_elem(&hash, load_below, &ctx, 0);
	return 0;
}

char _license[] SEC("license") = "GPL";
