// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// reuseport: chooses among the sockets that share a port by the first byte of the payload; '!' drops, '?' leaves it to the kernel.
#include "kernel.h"
#include <bpf/bpf_helpers.h>

#define SK_DROP 0
#define SK_PASS 1

struct {
	__uint(type, BPF_MAP_TYPE_REUSEPORT_SOCKARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 4);
} socks SEC(".maps");

long error; // of the last selection

#define UDP_HEADER 8

SEC("sk_reuseport")
int choose(struct sk_reuseport_md *ctx)
{
	__u8 first;
	__u32 slot;

	if (bpf_skb_load_bytes(ctx, UDP_HEADER, &first, 1))
		return SK_PASS;
	if (first == '!')
		return SK_DROP;
	if (first == '?')
		return SK_PASS;
	slot = first - '0';
	error = bpf_sk_select_reuseport(ctx, &socks, &slot, 0);
	return SK_PASS;
}

char LICENSE[] SEC("license") = "GPL";
