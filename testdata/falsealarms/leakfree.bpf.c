// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// leakfree: programs that send memory and wrote all of it, in the ways in which that is done. ../src/leaks.bpf.c has their wrong twins.
#include "types.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct event {
	__u32 pid;
	__u8 flags; /* three bytes of padding follow */
	__u64 ts;
	char comm[16];
};

struct spelled {
	__u32 pid;
	__u8 flags;
	__u8 pad[3];
	__u64 ts;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, struct event);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event);
} heap SEC(".maps");

struct totals {
	__u64 events, bytes, first;
	char name[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct totals);
} state SEC(".maps");

struct event *unused_event;
const volatile char text[16] = "twelve bytes";
volatile __u32 calls;
struct totals global;

SEC("raw_tp/sched_switch")
int cleared_first(void *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e)
		return 0;
	__builtin_memset(e, 0, sizeof(*e));
	e->pid = 1;
	e->flags = 2;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), (void *)text);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

/* A reservation that is not sent may contain anything. */
SEC("raw_tp/sched_switch")
int discarded(void *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e)
		return 0;
	e->pid = 1;
	bpf_ringbuf_discard(e, 0);
	return 0;
}

SEC("raw_tp/sched_switch")
int spelled_padding(void *ctx)
{
	struct spelled e = {.pid = 1, .flags = 2, .pad = {}, .ts = bpf_ktime_get_ns()};

	bpf_get_current_comm(e.comm, sizeof(e.comm));
	bpf_perf_event_output(ctx, &samples, BPF_F_CURRENT_CPU, &e, sizeof(e));
	return 0;
}

SEC("raw_tp/sched_switch")
int string_in_zeros(void *ctx)
{
	struct event e;

	__builtin_memset(&e, 0, sizeof(e));
	e.ts = bpf_ktime_get_ns();
	bpf_probe_read_kernel_str(e.comm, sizeof(e.comm), (void *)text);
	bpf_ringbuf_output(&events, &e, sizeof(e), 0);
	return 0;
}

/* A read that fails clears its buffer. */
SEC("raw_tp/sched_switch")
int failed_read(void *ctx)
{
	struct event e;

	__builtin_memset(&e, 0, __builtin_offsetof(struct event, comm));
	bpf_probe_read_user(e.comm, sizeof(e.comm), (void *)1);
	bpf_ringbuf_output(&events, &e, sizeof(e), 0);
	return 0;
}

/* As many bytes are sent as the string has. */
SEC("raw_tp/sched_switch")
int as_long_as_the_string(void *ctx)
{
	char buf[16];
	long n = bpf_probe_read_kernel_str(buf, sizeof(buf), (void *)text);

	if (n > 0 && n <= (long)sizeof(buf))
		bpf_perf_event_output(ctx, &samples, BPF_F_CURRENT_CPU, buf, n & 15);
	return 0;
}

SEC("raw_tp/sched_switch")
int whole_copy(void *ctx)
{
	struct event e, *r;

	__builtin_memset(&e, 0, sizeof(e));
	e.pid = bpf_get_smp_processor_id();
	e.ts = bpf_ktime_get_ns();
	bpf_get_current_comm(e.comm, sizeof(e.comm));
	asm volatile("" : : "r"(&e) : "memory");
	r = bpf_ringbuf_reserve(&events, sizeof(*r), 0);
	if (!r)
		return 0;
	*r = e;
	bpf_ringbuf_submit(r, 0);
	return 0;
}

/* Bytes in a loop, in any order. */
SEC("raw_tp/sched_switch")
int in_loop(void *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e)
		return 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < (int)sizeof(*e); i++)
		*(volatile char *)((char *)e + (i ^ 1)) = i;
	bpf_ringbuf_submit(e, 0);
	return 0;
}

/* All of a per-CPU buffer is written each time, the rest of the string too. */
SEC("raw_tp/sched_switch")
int scratch(void *ctx)
{
	__u32 zero = 0, n = calls++;
	struct event *e = bpf_map_lookup_elem(&heap, &zero);

	if (!e)
		return 0;
	__builtin_memset(e, 0, sizeof(*e));
	e->pid = n;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), (void *)(n ? text + 9 : text));
	bpf_perf_event_output(ctx, &samples, BPF_F_CURRENT_CPU, e, sizeof(*e));
	return 0;
}

/* Totals are state: what earlier runs left is what is sent. */
SEC("raw_tp/sched_switch")
int sent_state(void *ctx)
{
	__u32 zero = 0;
	struct totals *t = bpf_map_lookup_elem(&state, &zero);

	if (!t)
		return 0;
	if (!t->first) {
		t->first = bpf_ktime_get_ns();
		bpf_get_current_comm(t->name, sizeof(t->name));
	}
	t->events++;
	t->bytes += 100;
	bpf_ringbuf_output(&events, t, sizeof(*t), 0);
	return 0;
}

SEC("raw_tp/sched_switch")
int sent_global(void *ctx)
{
	if (!global.first)
		global.first = bpf_ktime_get_ns();
	global.events++;
	bpf_ringbuf_output(&events, &global, sizeof(global), 0);
	return 0;
}

/* A value that one program fills and another one sends. */
SEC("raw_tp/sched_switch")
int at_entry(void *ctx)
{
	struct event e = {};
	__u32 key = 1;

	__builtin_memset(&e, 0, sizeof(e));
	e.ts = bpf_ktime_get_ns();
	bpf_map_update_elem(&seen, &key, &e, BPF_ANY);
	return 0;
}

SEC("raw_tp/sched_switch")
int at_exit(void *ctx)
{
	__u32 key = 1;
	struct event *e = bpf_map_lookup_elem(&seen, &key);

	if (!e)
		return 0;
	e->pid = 2;
	bpf_ringbuf_output(&events, e, sizeof(*e), 0);
	bpf_map_delete_elem(&seen, &key);
	return 0;
}

SEC("xdp")
int encapsulated(struct xdp_md *ctx)
{
	unsigned char *data;

	if (bpf_xdp_adjust_head(ctx, -16))
		return XDP_PASS;
	data = (void *)(long)ctx->data;
	if (data + 16 > (unsigned char *)(long)ctx->data_end)
		return XDP_DROP;
	__builtin_memset(data, 0x12, 16);
	return XDP_TX;
}

/* Room that is taken back does not leave. */
SEC("xdp")
int taken_back(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_head(ctx, -8) || bpf_xdp_adjust_head(ctx, 8))
		return XDP_DROP;
	return XDP_PASS;
}
