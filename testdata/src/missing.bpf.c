// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// missing: reads that some kernel cannot serve. on_exit_new: task_struct.__state, not before 5.14. on_exit_old: state, not since.
// on_exit_maybe: reached only for some inputs. on_exit_dead: behind a question answered by the same BTF. on_exit_user: a struct
// of our own relocated by mistake, so on no kernel.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct task_struct___new {
	unsigned int __state;
} __attribute__((preserve_access_index));

struct task_struct___old {
	volatile long state;
} __attribute__((preserve_access_index));

struct ours {
	__u32 unrelated;
	struct task_struct *task;
};

__u64 state;
const volatile bool want_state = false;

SEC("tracepoint/sched/sched_process_exit")
int on_exit_new(void *ctx)
{
	struct task_struct___new *t = (void *)bpf_get_current_task();

	state = BPF_CORE_READ(t, __state);
	return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int on_exit_old(void *ctx)
{
	struct task_struct___old *t = (void *)bpf_get_current_task();

	state = BPF_CORE_READ(t, state);
	return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int on_exit_maybe(void *ctx)
{
	struct task_struct___old *t = (void *)bpf_get_current_task();

	if (bpf_get_current_pid_tgid() >> 32 == 1234567)
		state = BPF_CORE_READ(t, state);
	return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int on_exit_dead(void *ctx)
{
	struct task_struct___old *t = (void *)bpf_get_current_task();

	if (bpf_core_field_exists(t->state))
		state = BPF_CORE_READ(t, state);
	return 0;
}

// Dead too: .rodata is frozen when the verifier looks.
SEC("tracepoint/sched/sched_process_exit")
int on_exit_rodata(void *ctx)
{
	struct task_struct___old *t = (void *)bpf_get_current_task();

	if (want_state)
		state = BPF_CORE_READ(t, state);
	return 0;
}

static __attribute__((noinline)) int read_ours(struct ours *o)
{
	return BPF_CORE_READ(o->task, tgid);
}

SEC("tracepoint/sched/sched_process_exit")
int on_exit_user(void *ctx)
{
	struct ours o = {.task = (void *)bpf_get_current_task()};

	return read_ours(&o);
}

char LICENSE[] SEC("license") = "GPL";
