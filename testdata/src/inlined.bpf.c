// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// inlined: a null pointer is read in a function that was inlined into one that was inlined. Built with DWARF.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} limits SEC(".maps");

static __always_inline __u64 limit_of(__u32 key)
{
	__u64 *v = bpf_map_lookup_elem(&limits, &key);

	return *v;
}

static __always_inline int over_limit(__u32 key, __u64 n)
{
	return n > limit_of(key);
}

SEC("xdp")
int check(struct xdp_md *ctx)
{
	return over_limit(7, ctx->data_end - ctx->data) ? XDP_DROP : XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
