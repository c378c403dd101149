// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// budget: work of helpers between calls that native code makes on its own.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct block {
	char bytes[4000];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct block);
} blocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

static long copy(__u32 i, void *ctx)
{
	__u32 from = 0, to = 1, key = i & 7;
	struct block *a = bpf_map_lookup_elem(&blocks, &from), *b = bpf_map_lookup_elem(&blocks, &to);
	__u64 *n = bpf_map_lookup_elem(&counts, &key), one = 1;

	if (n)
		(*n)++;
	else
		bpf_map_update_elem(&counts, &key, &one, BPF_ANY);
	if (a && b && (i & 3) == 0)
		bpf_probe_read_kernel(b, sizeof(*b), a);
	bpf_ktime_get_ns();
	return 0;
}

SEC("tc")
int copies(struct __sk_buff *skb)
{
	return bpf_loop(1 << 20, copy, NULL, 0);
}

char LICENSE[] SEC("license") = "GPL";
