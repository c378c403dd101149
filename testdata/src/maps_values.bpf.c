// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// maps_values: maps filled by relocations in .maps: a prog array with a gap, an array and a hash of maps, inner definitions given
// as a template and as named maps.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
};

struct inner inner_a SEC(".maps");
struct inner inner_b SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, struct inner);
} outer_array SEC(".maps") = {
	.values = {[0] = &inner_a, [2] = &inner_b},
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, struct inner);
} outer_hash SEC(".maps") = {
	.values = {[1] = &inner_b},
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 8);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_HASH);
		__uint(max_entries, 2);
		__uint(map_flags, BPF_F_NO_PREALLOC);
		__type(key, __u32);
		__type(value, __u32);
	});
} outer_empty SEC(".maps");

int second(struct __sk_buff *skb);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 4);
	__uint(key_size, 4);
	__array(values, int(struct __sk_buff *));
} jumps SEC(".maps") = {
	.values = {[3] = (void *)&second},
};

SEC("tc")
int second(struct __sk_buff *skb)
{
	return 33;
}

SEC("tc")
int first(struct __sk_buff *skb)
{
	__u32 k = skb->mark;

	bpf_tail_call(skb, &jumps, k);
	return 11;
}

static void *inner_of(void *outer, __u32 k)
{
	return bpf_map_lookup_elem(outer, &k);
}

SEC("syscall")
int nested(__u64 *ctx)
{
	__u32 zero = 0;
	void *m;
	__u64 *v, n = 5;

	m = inner_of(&outer_array, 2);
	if (!m)
		return 1;
	v = bpf_map_lookup_elem(m, &zero);
	if (!v)
		return 2;
	*v = ctx[0];
	m = inner_of(&outer_hash, 1);
	if (!m)
		return 3;
	v = bpf_map_lookup_elem(m, &zero);
	if (!v)
		return 4;
	ctx[1] = *v;			/* inner_b again */
	bpf_map_update_elem(&inner_a, &zero, &n, BPF_ANY);
	ctx[2] = inner_of(&outer_array, 1) == NULL;
	ctx[3] = inner_of(&outer_empty, 0) == NULL;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
