// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// maps_legacy: definitions as they were before BTF: `struct bpf_map_def` in a section named maps, one of them with extra trailing
// members, as older tools and iproute2 have them. libbpf 1.0 and later refuse such objects.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct legacy_map {
	__u32 type;
	__u32 key_size;
	__u32 value_size;
	__u32 max_entries;
	__u32 map_flags;
};

struct legacy_map SEC("maps") counters = {
	.type = BPF_MAP_TYPE_ARRAY,
	.key_size = 4,
	.value_size = 8,
	.max_entries = 2,
};

struct legacy_map SEC("maps") flows = {
	.type = BPF_MAP_TYPE_HASH,
	.key_size = 8,
	.value_size = 16,
	.max_entries = 128,
	.map_flags = BPF_F_NO_PREALLOC,
};

SEC("filter")
int count(struct __sk_buff *skb)
{
	__u64 key = skb->hash, value[2] = {skb->len, skb->mark}, *n;
	__u32 i = skb->len > 100;

	n = bpf_map_lookup_elem(&counters, &i);
	if (n)
		__sync_fetch_and_add(n, 1);
	bpf_map_update_elem(&flows, &key, value, BPF_ANY);
	return skb->len;
}

char LICENSE[] SEC("license") = "GPL";
