// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// userset: what user space sets before it loads: the inner map of a map of maps, and a constant written into the instructions.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__uint(max_entries, 8);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 16);
} like SEC(".maps");

__u64 found, limit_seen;

SEC("socket")
int lookup(struct __sk_buff *skb)
{
	__u32 outer = 5, key = 7;
	__u64 *v, limit;
	void *inner;

	asm volatile("%0 = user_limit ll" : "=r"(limit));
	limit_seen = limit;
	inner = bpf_map_lookup_elem(&rules, &outer);
	if (!inner)
		return 0;
	v = bpf_map_lookup_elem(inner, &key);
	if (!v)
		return 1;
	found = *v;
	return 2;
}
