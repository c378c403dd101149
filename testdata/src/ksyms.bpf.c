// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// ksyms: kernel symbols: addresses without type, per-CPU variables by BTF, weak ones that no kernel has, kfuncs (plain, with
// a flavor in the name, weak and absent).
#include "kernel.h"
#include <bpf/bpf_helpers.h>

struct rq {
	unsigned int nr_running;
} __attribute__((preserve_access_index));

extern const void init_task __ksym;
extern const void no_such_symbol __ksym __weak;
extern const struct rq runqueues __ksym;
extern const int no_such_variable __ksym __weak;

extern struct task_struct *bpf_task_from_pid(int pid) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;
extern struct task_struct *bpf_task_acquire___since_6_2(struct task_struct *p) __ksym __weak;
extern int bpf_no_such_kfunc(int x) __ksym __weak;

SEC("syscall")
int symbols(__u64 *ctx)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, 0);

	ctx[0] = (__u64)&init_task;
	ctx[1] = &no_such_symbol != NULL;
	ctx[2] = &no_such_variable != NULL;
	ctx[3] = rq ? rq->nr_running : -1;
	return 0;
}

SEC("syscall")
int kfuncs(__u64 *ctx)
{
	struct task_struct *t;

	ctx[1] = bpf_task_acquire___since_6_2 != NULL;
	ctx[2] = 0;
	if (bpf_no_such_kfunc)
		ctx[2] = bpf_no_such_kfunc(1);
	t = bpf_task_from_pid(ctx[0]);
	if (!t)
		return 1;
	ctx[3] = t->pid;
	bpf_task_release(t);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
