// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// ratelimit: a token bucket for each source address. Every packet takes a token; a timer fills the buckets again.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#define CLOCK_MONOTONIC 1
#define REFILL 100000000ULL	/* ns */

struct bpf_timer {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bucket {
	struct bpf_timer timer;
	__s64 tokens;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __be32);
	__type(value, struct bucket);
} buckets SEC(".maps");

const volatile __s64 burst = 2;

static int refill(void *map, __be32 *source, struct bucket *b)
{
	b->tokens = burst;
	return 0;
}

static struct bucket *new_bucket(__be32 source)
{
	struct bucket *b, fresh = {.tokens = burst};

	if (bpf_map_update_elem(&buckets, &source, &fresh, BPF_NOEXIST))
		return NULL;
	b = bpf_map_lookup_elem(&buckets, &source);
	if (!b || bpf_timer_init(&b->timer, &buckets, CLOCK_MONOTONIC))
		return NULL;
	bpf_timer_set_callback(&b->timer, refill);
	return b;
}

SEC("tc")
int limit(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct iphdr *ip = data + sizeof(struct ethhdr);
	struct bucket *b;
	__be32 source;

	if ((void *)(ip + 1) > end || skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_OK;
	source = ip->saddr;
	b = bpf_map_lookup_elem(&buckets, &source);
	if (!b)
		b = new_bucket(source);
	if (!b)
		return TC_ACT_OK;
	if (b->tokens == burst)
		bpf_timer_start(&b->timer, REFILL, 0);
	if (__sync_fetch_and_add(&b->tokens, -1) <= 0)
		return TC_ACT_SHOT;
	return TC_ACT_OK;
}

char LICENSE[] SEC("license") = "GPL";
