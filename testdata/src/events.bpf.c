// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// events: all ways out: ring buffer (reserve and submit, discard, output, full), perf event array, trace_printk with every
// conversion, snprintf, strncmp, a stack id.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct event {
	__u64 seq;
	char text[24];
};

const struct event *unused_event __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} perf SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16);
	__uint(key_size, 4);
	__uint(value_size, 127 * 8);
} stacks SEC(".maps");

__u64 seq, lost;

SEC("tracepoint/sched/sched_wakeup")
int report(void *ctx)
{
	static const char fmt[] = "seq=%llu hex=%x";
	struct event *e, on_stack = {.text = "from the stack"};
	__u64 args[2];

	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e) {
		lost++;
		return 0;
	}
	e->seq = seq++;
	args[0] = e->seq;
	args[1] = 0xabc;
	bpf_snprintf(e->text, sizeof(e->text), fmt, args, sizeof(args));
	if (e->seq % 4 == 3)
		bpf_ringbuf_discard(e, 0);
	else
		bpf_ringbuf_submit(e, 0);

	on_stack.seq = seq;
	bpf_ringbuf_output(&ring, &on_stack, sizeof(on_stack), 0);
	bpf_perf_event_output(ctx, &perf, BPF_F_CURRENT_CPU, &on_stack, sizeof(on_stack));
	bpf_printk("seq %llu of %s", on_stack.seq, on_stack.text);
	bpf_printk("%d %u %x %c %p", -1, 2, 3, 'z', ctx);
	return bpf_get_stackid(ctx, &stacks, 0) < 0;
}

SEC("tracepoint/sched/sched_waking")
int fill(void *ctx)
{
	struct event e = {.text = "fill"};

	for (int i = 0; i < 200; i++) {
		e.seq = i;
		if (bpf_ringbuf_output(&ring, &e, sizeof(e), 0))
			lost++;
	}
	return bpf_strncmp(e.text, sizeof(e.text), "fill");
}

char LICENSE[] SEC("license") = "GPL";
