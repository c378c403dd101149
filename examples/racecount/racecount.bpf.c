// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// racecount: packets and bytes of each source address. count loses some when two CPUs get packets of one source: the second to
// find no element overwrites the first one's, and += is a load and a store. count_right does both by one operation.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct flow {
	__u64 packets, bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __be32);
	__type(value, struct flow);
} flows SEC(".maps"), flows_right SEC(".maps");

static __be32 source(struct __sk_buff *skb)
{
	__be32 addr = 0;

	bpf_skb_load_bytes(skb, 26, &addr, sizeof(addr));
	return addr;
}

SEC("tc")
int count(struct __sk_buff *skb)
{
	__be32 key = source(skb);
	struct flow first = {1, skb->len}, *f = bpf_map_lookup_elem(&flows, &key);

	if (!f) {
		bpf_map_update_elem(&flows, &key, &first, BPF_ANY);
		return TC_ACT_OK;
	}
	f->packets += 1;
	f->bytes += skb->len;
	return TC_ACT_OK;
}

SEC("tc")
int count_right(struct __sk_buff *skb)
{
	__be32 key = source(skb);
	struct flow none = {}, *f = bpf_map_lookup_elem(&flows_right, &key);

	if (!f) {
		/* Another CPU may have been faster: then this one uses its element. */
		bpf_map_update_elem(&flows_right, &key, &none, BPF_NOEXIST);
		f = bpf_map_lookup_elem(&flows_right, &key);
		if (!f)
			return TC_ACT_OK;
	}
	__sync_fetch_and_add(&f->packets, 1);
	__sync_fetch_and_add(&f->bytes, skb->len);
	return TC_ACT_OK;
}

char _license[] SEC("license") = "GPL";
