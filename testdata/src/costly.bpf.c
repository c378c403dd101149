// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// costly: programs that cost the verifier much, each for another reason.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8[256]);
} rules SEC(".maps");

__u64 found;

/* Reads options of one, two or more bytes, as those of TCP: where the next one begins depends on the last. */
static __attribute__((noinline)) int kind_at(const __u8 *v, __u32 at)
{
	if (at >= 256)
		return -1;
	switch (v[at]) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return 4;
	case 3:
		return 3;
	}
	return 2;
}

SEC("tc")
int options(struct __sk_buff *skb)
{
	__u32 zero = 0, at = 0;
	const __u8 *v = bpf_map_lookup_elem(&rules, &zero);

	if (!v)
		return 0;
	for (int i = 0; i < 10; i++) {
		int n = kind_at(v, at);

		if (n <= 0)
			break;
		at += n;
	}
	found = kind_at(v, at);
	return 0;
}

/* Each way leaves another constant, which the access at the end needs. */
SEC("tc")
int labels(struct __sk_buff *skb)
{
	__u32 zero = 0;
	const __u8 *v = bpf_map_lookup_elem(&rules, &zero);
	__u64 sum = 0, at = 0;

	if (!v)
		return 0;
	if (skb->len & 1)
		at += 1;
	asm volatile("" : "+r"(at));
	if (skb->mark & 1)
		at += 2;
	asm volatile("" : "+r"(at));
	if (skb->priority & 1)
		at += 4;
	asm volatile("" : "+r"(at));
	if (skb->protocol & 1)
		at += 8;
	asm volatile("" : "+r"(at));
	if (skb->queue_mapping & 1)
		at += 16;
	asm volatile("" : "+r"(at));
	for (int i = 0; i < 20; i++)
		sum += v[at + i];
	found = sum;
	return 0;
}

/* A loop whose turns are all walked. */
SEC("tc")
int counted(struct __sk_buff *skb)
{
	__u32 zero = 0;
	const __u8 *v = bpf_map_lookup_elem(&rules, &zero);
	__u64 sum = 0;

	if (!v)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < 250; i++) {
		if (v[i] > 7)
			sum += v[i];
	}
	found = sum;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
