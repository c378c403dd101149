// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// limit: a token bucket for each source, for tc. Packets are read with helpers, so that fragments do not matter.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct bucket {
	__u64 tokens, filled;
	__u32 dropped, passed;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __be32);
	__type(value, struct bucket);
} buckets SEC(".maps");

struct prefix {
	__u32 len;
	__be32 addr;
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 64);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u32);
} exempt SEC(".maps");

const volatile __u64 rate = 1000; /* bytes in a millisecond */
const volatile __u64 burst = 64 * 1024;

SEC("tc")
int limit(struct __sk_buff *skb)
{
	struct prefix p = {.len = 32};
	struct bucket *b, fresh = {};
	struct iphdr ip;
	__u64 now;

	if (skb->protocol != bpf_htons(ETH_P_IP) || bpf_skb_load_bytes(skb, sizeof(struct ethhdr), &ip, sizeof(ip)))
		return TC_ACT_OK;
	p.addr = ip.saddr;
	if (bpf_map_lookup_elem(&exempt, &p))
		return TC_ACT_OK;
	now = bpf_ktime_get_ns();
	b = bpf_map_lookup_elem(&buckets, &p.addr);
	if (!b) {
		fresh.tokens = burst;
		fresh.filled = now;
		bpf_map_update_elem(&buckets, &p.addr, &fresh, BPF_NOEXIST);
		b = bpf_map_lookup_elem(&buckets, &p.addr);
		if (!b)
			return TC_ACT_OK;
	}
	b->tokens += (now - b->filled) / 1000000 * rate;
	if (b->tokens > burst)
		b->tokens = burst;
	b->filled = now;
	if (b->tokens < skb->len) {
		b->dropped++;
		return TC_ACT_SHOT;
	}
	b->tokens -= skb->len;
	b->passed++;
	return TC_ACT_OK;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
