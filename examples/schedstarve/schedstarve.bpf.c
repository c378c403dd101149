// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// schedstarve: a sched_ext scheduler with a bug. Two queues by weight, of which the light one is only looked at when the
// other is empty: as long as heavy tasks want to run, light ones starve, and the kernel's watchdog ends the scheduler.
// With fair set, every eighth dispatch begins with the light queue.
#include "sched.h"
#include <bpf/bpf_tracing.h>

#define HEAVY 1
#define LIGHT 2

const volatile bool fair = false;
__u64 dispatches;
int exit_kind;

SEC("struct_ops/starve_enqueue")
void BPF_PROG(starve_enqueue, struct task_struct *p, __u64 enq_flags)
{
	scx_bpf_dsq_insert(p, p->scx.weight >= 100 ? HEAVY : LIGHT, SCX_SLICE_DFL, enq_flags);
}

SEC("struct_ops/starve_dispatch")
void BPF_PROG(starve_dispatch, __s32 cpu, struct task_struct *prev)
{
	if (fair && dispatches++ % 8 == 0 && scx_bpf_dsq_move_to_local(LIGHT))
		return;
	if (!scx_bpf_dsq_move_to_local(HEAVY))
		scx_bpf_dsq_move_to_local(LIGHT);
}

SEC("struct_ops.s/starve_init")
__s32 BPF_PROG(starve_init)
{
	__s32 err = scx_bpf_create_dsq(HEAVY, -1);

	return err ? err : scx_bpf_create_dsq(LIGHT, -1);
}

SEC("struct_ops/starve_exit")
void BPF_PROG(starve_exit, struct scx_exit_info *info)
{
	exit_kind = info->kind;
}

SEC(".struct_ops.link")
struct sched_ext_ops starve_ops = {
	.enqueue = (void *)starve_enqueue,
	.dispatch = (void *)starve_dispatch,
	.init = (void *)starve_init,
	.exit = (void *)starve_exit,
	.timeout_ms = 1000,
	.name = "starve",
};

char LICENSE[] SEC("license") = "GPL";
