// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// leaks: programs from which bytes leave that they never wrote. Each has one such line, which ends in "wrong"; leakfree.bpf.c in ../falsealarms has
// their correct twins.
#include "types.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct event {
	__u32 pid;
	__u8 flags; /* three bytes of padding follow */
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

struct padded {
	__u8 a;
	__u32 b;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, struct padded);
	__type(value, __u32);
} by_padded SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event);
} heap SEC(".maps");

struct bpf_dynptr {
	__u64 words[2];
} __attribute__((aligned(8)));

struct event *unused_event;
const volatile char text[16] = "twelve bytes";
volatile __u32 calls;

/* A reserved record has bytes of earlier ones, and a string is shorter than its field. */
SEC("raw_tp/sched_switch")
int record(void *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e)
		return 0;
	e->pid = 1;
	e->flags = 2;
	e->ts = 3;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), (void *)text);
	bpf_ringbuf_submit(e, 0); /* wrong */
	return 0;
}

SEC("raw_tp/sched_switch")
int record_dynptr(void *ctx)
{
	struct bpf_dynptr d;
	struct event *e;

	bpf_ringbuf_reserve_dynptr(&events, sizeof(*e), 0, &d);
	e = bpf_dynptr_data(&d, 0, sizeof(*e));
	if (e) {
		e->pid = 1;
		e->flags = 2;
		bpf_get_current_comm(e->comm, sizeof(e->comm));
	}
	bpf_ringbuf_submit_dynptr(&d, 0); /* wrong */
	return 0;
}

/* One path leaves a field out. */
SEC("raw_tp/sched_switch")
int one_path(void *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e)
		return 0;
	__builtin_memset(e, 0, __builtin_offsetof(struct event, ts));
	if (calls == 12345)
		e->ts = bpf_ktime_get_ns();
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	bpf_ringbuf_submit(e, 0); /* wrong */
	return 0;
}

SEC("raw_tp/sched_switch")
int stack_tail(void *ctx)
{
	struct event e;

	__builtin_memset(&e, 0, __builtin_offsetof(struct event, comm));
	bpf_probe_read_kernel_str(e.comm, sizeof(e.comm), (void *)text);
	bpf_perf_event_output(ctx, &samples, BPF_F_CURRENT_CPU, &e, sizeof(e)); /* wrong */
	return 0;
}

/* The string cannot be read, which leaves zeros; what is after the smaller size was never stored. */
SEC("raw_tp/sched_switch")
int failed_read(void *ctx)
{
	struct event e;

	__builtin_memset(&e, 0, __builtin_offsetof(struct event, comm));
	bpf_probe_read_user_str(e.comm, 8, (void *)1);
	bpf_ringbuf_output(&events, &e, sizeof(e), 0); /* wrong */
	return 0;
}

/* The compiler copies the struct in words, with the padding. */
SEC("raw_tp/sched_switch")
int copied(void *ctx)
{
	struct event e, *r;

	e.pid = bpf_get_smp_processor_id();
	e.flags = 1;
	e.ts = bpf_ktime_get_ns();
	bpf_get_current_comm(e.comm, sizeof(e.comm));
	asm volatile("" : : "r"(&e) : "memory");
	r = bpf_ringbuf_reserve(&events, sizeof(*r), 0);
	if (!r)
		return 0;
	*r = e;
	bpf_ringbuf_submit(r, 0); /* wrong */
	return 0;
}

/* From the second call on the record is shorter. */
SEC("raw_tp/sched_switch")
int scratch(void *ctx)
{
	__u32 zero = 0, n = calls++;
	struct event *e = bpf_map_lookup_elem(&heap, &zero);

	if (!e)
		return 0;
	e->pid = n;
	e->flags = n;
	e->ts = n;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), (void *)(n ? text + 9 : text));
	bpf_perf_event_output(ctx, &samples, BPF_F_CURRENT_CPU, e, sizeof(*e)); /* wrong in later runs */
	return 0;
}

SEC("raw_tp/sched_switch")
int map_value(void *ctx)
{
	struct event e;
	__u32 key = 1;

	e.pid = 1;
	e.flags = 1;
	e.ts = 2;
	bpf_get_current_comm(e.comm, sizeof(e.comm));
	bpf_map_update_elem(&seen, &key, &e, BPF_ANY); /* wrong */
	return 0;
}

SEC("raw_tp/sched_switch")
int map_key(void *ctx)
{
	struct padded key;
	__u32 one = 1;

	key.a = 1;
	key.b = 2;
	bpf_map_update_elem(&by_padded, &key, &one, BPF_ANY); /* wrong */
	return 0;
}

/* The padding gets into the value by a store of the program. */
SEC("raw_tp/sched_switch")
int stored_value(void *ctx)
{
	struct event zero = {}, e, *v;
	__u32 key = 2;

	__builtin_memset(&zero, 0, sizeof(zero));
	bpf_map_update_elem(&seen, &key, &zero, BPF_ANY);
	v = bpf_map_lookup_elem(&seen, &key);
	if (!v)
		return 0;
	e.pid = bpf_get_smp_processor_id();
	e.flags = 1;
	e.ts = bpf_ktime_get_ns();
	bpf_get_current_comm(e.comm, sizeof(e.comm));
	asm volatile("" : : "r"(&e) : "memory");
	*v = e; /* wrong */
	return 0;
}

SEC("raw_tp/sched_switch")
int user_memory(void *ctx)
{
	struct padded p;

	p.a = 1;
	p.b = 2;
	asm volatile("" : : "r"(&p) : "memory");
	bpf_probe_write_user((void *)0x7f0000000000, &p, sizeof(p)); /* wrong */
	return 0;
}

SEC("raw_tp/sched_switch")
int in_loop(void *ctx)
{
	for (int i = 0; i < 4; i++) {
		struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

		if (!e)
			return 0;
		__builtin_memset(e, 0, i < 2 ? 8 : 8);
		e->ts = i;
		bpf_ringbuf_submit(e, 0); /* wrong */
	}
	return 0;
}

SEC("xdp")
int encapsulated(struct xdp_md *ctx)
{
	unsigned char *data;

	if (bpf_xdp_adjust_head(ctx, -16)) /* wrong */
		return XDP_PASS;
	data = (void *)(long)ctx->data;
	if (data + 16 > (unsigned char *)(long)ctx->data_end)
		return XDP_DROP;
	__builtin_memset(data, 0x12, 12);
	return XDP_TX;
}
