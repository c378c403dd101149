// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// schedfifo: a sched_ext scheduler with one queue for all CPUs, first come, first served.
#include "sched.h"
#include <bpf/bpf_tracing.h>

#define SHARED 1

const volatile __u64 slice_ns = 4000000;
__u64 direct, queued;

// A task that wakes while a CPU is idle runs there at once.
SEC("struct_ops/fifo_select_cpu")
__s32 BPF_PROG(fifo_select_cpu, struct task_struct *p, __s32 prev_cpu, __u64 wake_flags)
{
	bool idle = false;
	__s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &idle);

	if (idle) {
		direct++;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, 0);
	}
	return cpu;
}

SEC("struct_ops/fifo_enqueue")
void BPF_PROG(fifo_enqueue, struct task_struct *p, __u64 enq_flags)
{
	queued++;
	scx_bpf_dsq_insert(p, SHARED, slice_ns, enq_flags);
}

SEC("struct_ops/fifo_dispatch")
void BPF_PROG(fifo_dispatch, __s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

SEC("struct_ops.s/fifo_init")
__s32 BPF_PROG(fifo_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops fifo_ops = {
	.select_cpu = (void *)fifo_select_cpu,
	.enqueue = (void *)fifo_enqueue,
	.dispatch = (void *)fifo_dispatch,
	.init = (void *)fifo_init,
	.timeout_ms = 5000,
	.name = "fifo",
};

char LICENSE[] SEC("license") = "GPL";
