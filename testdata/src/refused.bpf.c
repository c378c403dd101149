// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// refused: mistakes that verifiers refuse most often, each with one missing line.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct entry {
	__u64 hits;
	__u32 items[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, struct entry);
} table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct key {
	__u8 kind;
	__u32 id; /* three bytes of padding before */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, struct key);
	__type(value, __u64);
} padded SEC(".maps");

const __u64 total = 0;
__u64 sum;

SEC("tc")
int null_access(struct __sk_buff *skb)
{
	__u32 key = skb->mark;
	struct entry *e = bpf_map_lookup_elem(&table, &key);

	e->hits++;
	return 0;
}

SEC("tc")
int null_argument(struct __sk_buff *skb)
{
	__u32 key = skb->mark, other = 1;
	struct entry *e = bpf_map_lookup_elem(&table, &key);

	bpf_map_update_elem(&table, &other, e, BPF_ANY);
	return 0;
}

SEC("tc")
int unbounded_index(struct __sk_buff *skb)
{
	__u32 key = skb->mark, i = skb->hash;
	struct entry *e = bpf_map_lookup_elem(&table, &key);

	if (!e)
		return 0;
	sum += e->items[i];
	return 0;
}

SEC("tc")
int index_too_large(struct __sk_buff *skb)
{
	__u32 key = skb->mark, i = skb->hash & 31;
	struct entry *e = bpf_map_lookup_elem(&table, &key);

	if (!e)
		return 0;
	sum += e->items[i];
	return 0;
}

SEC("tc")
int unbounded_size(struct __sk_buff *skb)
{
	__u64 buf[4] = {};
	__u32 n = skb->len;

	bpf_skb_load_bytes(skb, 0, buf, n);
	sum += buf[0];
	return 0;
}

SEC("xdp")
int packet_end(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data;

	if (data[12] == 8)
		return XDP_DROP;
	return XDP_PASS;
}

SEC("tc")
int leaked(struct __sk_buff *skb)
{
	__u64 *r = bpf_ringbuf_reserve(&ring, 8, 0);

	if (!r)
		return 0;
	if (skb->len < 64)
		return 0;
	*r = skb->len;
	bpf_ringbuf_submit(r, 0);
	return 0;
}

SEC("tc")
int constant_written(struct __sk_buff *skb)
{
	*(volatile __u64 *)&total = skb->len;
	return 0;
}

SEC("lsm/file_open")
int cannot_sleep(__u64 *ctx)
{
	__u64 v = 0;

	bpf_copy_from_user(&v, sizeof(v), (void *)ctx[0]);
	sum += v;
	return 0;
}

/* Releases before 6.3. */
SEC("tc")
int padding(struct __sk_buff *skb)
{
	struct key k;
	__u64 *v;

	k.kind = 1;
	k.id = skb->mark;
	v = bpf_map_lookup_elem(&padded, &k);
	if (v)
		sum += *v;
	return 0;
}

/* Two checks are missing. */
SEC("tc")
int two_mistakes(struct __sk_buff *skb)
{
	__u32 key = skb->mark, i = skb->hash;
	struct entry *e = bpf_map_lookup_elem(&table, &key);

	sum += e->items[i];
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
