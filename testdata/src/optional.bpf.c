// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// optional: one program that always loads, and two of which a tool chooses one: the state of a task before and since Linux 5.14.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct task_struct___new {
	unsigned int __state;
} __attribute__((preserve_access_index));

struct task_struct___old {
	volatile long state;
} __attribute__((preserve_access_index));

__u64 exits, state;

SEC("?tracepoint/sched/sched_process_exit")
int state_old(void *ctx)
{
	struct task_struct___old *t = (void *)bpf_get_current_task();

	state = BPF_CORE_READ(t, state);
	return 0;
}

SEC("?tracepoint/sched/sched_process_exit")
int state_new(void *ctx)
{
	struct task_struct___new *t = (void *)bpf_get_current_task();

	state = BPF_CORE_READ(t, __state);
	return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int on_exit(void *ctx)
{
	exits++;
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
