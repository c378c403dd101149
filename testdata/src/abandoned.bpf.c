// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// abandoned: programs that end while they hold something (err_...), and programs that need it afterwards (ok_...).
#include "types.h"
#include <bpf/bpf_helpers.h>

struct bpf_spin_lock {
	__u32 val;
};

struct counter {
	struct bpf_spin_lock lock;
	__u32 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counter);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

SEC("tc")
int err_keeps_lock(struct __sk_buff *ctx)
{
	__u32 zero = 0;
	struct counter *c = bpf_map_lookup_elem(&counters, &zero);

	if (!c)
		return 1;
	bpf_spin_lock(&c->lock);
	c->count++;
	return 0;
}

SEC("tc")
int ok_takes_lock(struct __sk_buff *ctx)
{
	__u32 zero = 0;
	struct counter *c = bpf_map_lookup_elem(&counters, &zero);

	if (!c)
		return 1;
	bpf_spin_lock(&c->lock);
	c->count++;
	bpf_spin_unlock(&c->lock);
	return 0;
}

SEC("tc")
int err_keeps_record(struct __sk_buff *ctx)
{
	__u64 *r = bpf_ringbuf_reserve(&ring, 2048, 0);

	if (!r)
		return 1;
	*r = 1;
	return 0;
}

SEC("tc")
int ok_sends_record(struct __sk_buff *ctx)
{
	__u64 *r = bpf_ringbuf_reserve(&ring, 2048, 0);

	if (!r)
		return 1;
	*r = 2;
	bpf_ringbuf_submit(r, 0);
	return 0;
}

char _license[] SEC("license") = "GPL";
