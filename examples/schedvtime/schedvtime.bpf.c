// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// schedvtime: a fair sched_ext scheduler with a queue for each CPU, in the order of the tasks' weighted runtimes.
#include "sched.h"
#include <bpf/bpf_tracing.h>

#define MAX_CPUS 64
#define SLICE 4000000ULL

__u64 now[MAX_CPUS]; // the vtime that each CPU has reached
__u64 stolen, extended;

static __u64 *clock_of(__s32 cpu)
{
	return (__u32)cpu < MAX_CPUS ? &now[cpu] : 0;
}

SEC("struct_ops/vtime_select_cpu")
__s32 BPF_PROG(vtime_select_cpu, struct task_struct *p, __s32 prev_cpu, __u64 wake_flags)
{
	bool idle = false;
	__s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &idle);

	if (idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SLICE, 0);
	return cpu;
}

// A task that has slept may not save up its share: it is at most one slice behind the others.
SEC("struct_ops/vtime_enqueue")
void BPF_PROG(vtime_enqueue, struct task_struct *p, __u64 enq_flags)
{
	__s32 cpu = scx_bpf_task_cpu(p);
	__u64 *clock = clock_of(cpu);
	__u64 vtime = p->scx.dsq_vtime;

	if (clock && (__s64)(vtime - (*clock - SLICE)) < 0)
		vtime = *clock - SLICE;
	scx_bpf_dsq_insert_vtime(p, (__u32)cpu, SLICE, vtime, enq_flags);
}

static __u64 charge(struct task_struct *p)
{
	__u32 weight = p->scx.weight;

	return (SLICE - p->scx.slice) * 100 / (weight ? weight : 1);
}

// The task that is running is in no queue: it goes on if it is still behind the first one that waits.
static bool goes_on(__s32 cpu, struct task_struct *prev)
{
	struct task_struct *first = scx_bpf_dsq_peek((__u32)cpu);
	__u64 vtime = prev->scx.dsq_vtime + charge(prev);

	if (!(prev->scx.flags & SCX_TASK_QUEUED) || !first || (__s64)(vtime - first->scx.dsq_vtime) >= 0)
		return false;
	prev->scx.dsq_vtime = vtime;
	prev->scx.slice = SLICE;
	return true;
}

// A CPU without tasks of its own takes one of another's.
SEC("struct_ops/vtime_dispatch")
void BPF_PROG(vtime_dispatch, __s32 cpu, struct task_struct *prev)
{
	__u32 cpus = scx_bpf_nr_cpu_ids();

	if (prev && goes_on(cpu, prev)) {
		extended++;
		return;
	}
	if (scx_bpf_dsq_move_to_local((__u32)cpu))
		return;
	for (__u32 i = 0; i < MAX_CPUS && i < cpus; i++)
		if (scx_bpf_dsq_move_to_local(i)) {
			stolen++;
			return;
		}
}

SEC("struct_ops/vtime_running")
void BPF_PROG(vtime_running, struct task_struct *p)
{
	__u64 *clock = clock_of(scx_bpf_task_cpu(p));

	if (clock && (__s64)(*clock - p->scx.dsq_vtime) < 0)
		*clock = p->scx.dsq_vtime;
}

SEC("struct_ops/vtime_stopping")
void BPF_PROG(vtime_stopping, struct task_struct *p, bool runnable)
{
	p->scx.dsq_vtime += charge(p);
}

SEC("struct_ops/vtime_enable")
void BPF_PROG(vtime_enable, struct task_struct *p)
{
	__u64 *clock = clock_of(scx_bpf_task_cpu(p));

	if (clock)
		p->scx.dsq_vtime = *clock;
}

SEC("struct_ops.s/vtime_init")
__s32 BPF_PROG(vtime_init)
{
	__u32 cpus = scx_bpf_nr_cpu_ids();
	__s32 err = 0;

	for (__u32 i = 0; i < MAX_CPUS && i < cpus && !err; i++)
		err = scx_bpf_create_dsq(i, -1);
	return err;
}

SEC(".struct_ops.link")
struct sched_ext_ops vtime_ops = {
	.select_cpu = (void *)vtime_select_cpu,
	.enqueue = (void *)vtime_enqueue,
	.dispatch = (void *)vtime_dispatch,
	.running = (void *)vtime_running,
	.stopping = (void *)vtime_stopping,
	.enable = (void *)vtime_enable,
	.init = (void *)vtime_init,
	.timeout_ms = 5000,
	.name = "vtime",
};

char LICENSE[] SEC("license") = "GPL";
