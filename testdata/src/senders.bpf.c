// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// senders: records through several maps in turn; programs that never stop sending: records, elements of queues, signals, clones.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} first SEC(".maps"), third SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} second SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1 << 30);
	__type(value, __u64);
} queue SEC(".maps");

// The sequence 3, 1, 2, 3, 1, 2: maps in another order than that of their definition.
SEC("tc")
int in_turn(struct __sk_buff *ctx)
{
	for (__u64 i = 0; i < 6; i += 3) {
		__u64 n = i;

		bpf_ringbuf_output(&third, &n, sizeof(n), 0);
		n++;
		bpf_ringbuf_output(&first, &n, sizeof(n), 0);
		n++;
		bpf_perf_event_output(ctx, &second, BPF_F_CURRENT_CPU, &n, sizeof(n));
	}
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 26);
	__uint(map_flags, 1 /* BPF_F_NO_PREALLOC */);
	__type(key, __u64);
	__type(value, __u64);
} table SEC(".maps");

struct big {
	__u32 words[1024];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct big);
} scratch SEC(".maps");

#define FOREVER for (__u64 n = 0; n < 1ull << 40; n++)

// Records of two maps in turn.
SEC("tc")
int alternate(struct __sk_buff *ctx)
{
	FOREVER {
		bpf_perf_event_output(ctx, &second, BPF_F_CURRENT_CPU, &n, sizeof(n));
		n++;
		bpf_ringbuf_output(&first, &n, sizeof(n), 0);
	}
	return 0;
}

SEC("tc")
int flood_ring(struct __sk_buff *ctx)
{
	FOREVER
		bpf_ringbuf_output(&first, &n, sizeof(n), 0);
	return 0;
}

SEC("tc")
int flood_reserve(struct __sk_buff *ctx)
{
	FOREVER {
		__u64 *r = bpf_ringbuf_reserve(&first, sizeof(*r), 0);

		if (!r)
			return 1;
		*r = n;
		bpf_ringbuf_submit(r, 0);
	}
	return 0;
}

SEC("tc")
int flood_discard(struct __sk_buff *ctx)
{
	FOREVER {
		__u64 *r = bpf_ringbuf_reserve(&first, sizeof(*r), 0);

		if (!r)
			return 1;
		bpf_ringbuf_discard(r, 0);
	}
	return 0;
}

SEC("tc")
int flood_perf(struct __sk_buff *ctx)
{
	FOREVER
		bpf_perf_event_output(ctx, &second, BPF_F_CURRENT_CPU, &n, sizeof(n));
	return 0;
}

SEC("tc")
int flood_big(struct __sk_buff *ctx)
{
	__u32 zero = 0;
	struct big *b = bpf_map_lookup_elem(&scratch, &zero);

	if (!b)
		return 1;
	FOREVER
		bpf_perf_event_output(ctx, &second, BPF_F_CURRENT_CPU, b, sizeof(*b));
	return 0;
}

SEC("tc")
int flood_hash(struct __sk_buff *ctx)
{
	FOREVER
		bpf_map_update_elem(&table, &n, &n, 0);
	return 0;
}

SEC("tc")
int flood_queue(struct __sk_buff *ctx)
{
	FOREVER
		bpf_map_push_elem(&queue, &n, 0);
	return 0;
}

SEC("tc")
int flood_clone(struct __sk_buff *ctx)
{
	FOREVER
		bpf_clone_redirect(ctx, 2, 0);
	return 0;
}

SEC("tc")
int flood_trace(struct __sk_buff *ctx)
{
	FOREVER
		bpf_printk("x");
	return 0;
}

SEC("raw_tp/sched_switch")
int flood_signal(void *ctx)
{
	FOREVER
		bpf_send_signal(9);
	return 0;
}

// Helpers that move megabytes are few instructions.
SEC("tc")
int flood_copies(struct __sk_buff *ctx)
{
	__u32 zero = 0;
	struct big *b = bpf_map_lookup_elem(&scratch, &zero);

	if (!b)
		return 1;
	FOREVER
		bpf_csum_diff(0, 0, b->words, sizeof(b->words), 0);
	return 0;
}

__u64 word;

// Stores the value that is there, then another one.
SEC("tc")
int rewrite(struct __sk_buff *ctx)
{
	*(volatile __u64 *)&word = 0;
	*(volatile __u64 *)&word = 0;
	*(volatile __u64 *)&word = 7;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
