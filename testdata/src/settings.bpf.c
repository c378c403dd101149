// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// settings: programs whose verdict depends on constants that user space sets before it loads them, or on the kernel's configuration.
#include "types.h"
#include <bpf/bpf_helpers.h>

const volatile bool sample = false;
const volatile __u32 limit = 16;
const volatile __u32 flags = 0;
const volatile struct {
	__u16 port;
	bool check;
} conf = { .port = 80, .check = true };
extern bool CONFIG_PREEMPT __kconfig __weak;

#define FLAG_COUNT 0x4
#define FLAG_SUM 0x10

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64[64]);
} values SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

__u64 seen, sum;

/* Right, whatever the constants are: what sample switches on is checked by the same constant again. */
SEC("tc")
int sampled(struct __sk_buff *skb)
{
	__u64 *r = NULL;

	if (sample) {
		r = bpf_ringbuf_reserve(&ring, 8, 0);
		if (!r)
			return 0;
		*r = skb->len;
	}
	if (conf.port == skb->queue_mapping)
		seen++;
	if (sample)
		bpf_ringbuf_submit(r, 0);
	return 0;
}

/* The loop is right up to a limit of 64. */
SEC("tc")
int limited(struct __sk_buff *skb)
{
	__u32 zero = 0;
	__u64 *v = bpf_map_lookup_elem(&values, &zero);

	if (!v)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < limit; i++)
		sum += v[i];
	return 0;
}

/* Two constants together: a lookup without a check. */
SEC("tc")
int paired(struct __sk_buff *skb)
{
	__u32 key = skb->mark;
	__u64 *v = bpf_map_lookup_elem(&values, &key);

	if (conf.check && !v)
		return 0;
	if (flags & FLAG_COUNT)
		seen++;
	if (flags & FLAG_SUM)
		sum += *v;
	if (CONFIG_PREEMPT)
		seen += 2;
	return 0;
}

/* No configuration gets to the last branch. */
SEC("tc")
int unreached(struct __sk_buff *skb)
{
	if (limit < 100)
		seen = 1;
	else if (limit >= 100)
		seen = 2;
	else
		seen = bpf_ktime_get_ns();
	return 0;
}

/* Wrong in every configuration. */
SEC("tc")
int wrong(struct __sk_buff *skb)
{
	__u32 key = limit;
	__u64 *v = bpf_map_lookup_elem(&values, &key);

	sum += *v;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
