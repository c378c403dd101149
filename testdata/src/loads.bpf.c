// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// loads: direct loads of kernel memory. Tracing and LSM programs may load through their arguments, and a load that finds nothing yields 0
// there; programs of the older kinds get numbers for arguments: they need a typed pointer (ok_...) or must not (err_...).
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

__u64 seen, at;

// Hides a value from the compiler.
#define opaque(x) asm volatile("" : "+r"(x))

SEC("kprobe/do_exit")
int err_kprobe(void *ctx)
{
	struct task_struct *t = (void *)bpf_get_current_task();

	seen = t->tgid;
	return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int err_tracepoint(void *ctx)
{
	struct task_struct *t = (void *)bpf_get_current_task();

	seen = t->tgid;
	return 0;
}

SEC("raw_tp/sched_process_exit")
int err_raw_tp(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];

	seen = t->tgid;
	return 0;
}

SEC("perf_event")
int err_perf_event(void *ctx)
{
	struct task_struct *t = (void *)bpf_get_current_task();

	seen = t->tgid;
	return 0;
}

SEC("kprobe/do_exit")
int ok_kprobe(void *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();

	seen = t->tgid;
	return 0;
}

SEC("kprobe/do_exit")
int ok_kprobe_copies(void *ctx)
{
	struct task_struct *t = (void *)bpf_get_current_task();
	int tgid = 0;

	bpf_probe_read_kernel(&tgid, sizeof(tgid), &t->tgid);
	seen = tgid;
	return 0;
}

SEC("kprobe/do_exit")
int err_kprobe_null(void *ctx)
{
	struct task_struct *t = 0;

	opaque(t);
	seen = t->tgid;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int ok_tp_btf(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];

	seen = t->tgid;
	return 0;
}

// Nothing is there: the kernel's exception table makes these loads yield 0.
SEC("tp_btf/sched_process_exit")
int ok_tp_btf_null(__u64 *ctx)
{
	struct task_struct *t = 0;

	opaque(t);
	seen = t->tgid + 7;
	return 0;
}

SEC("lsm/file_open")
int ok_lsm_freed(__u64 *ctx)
{
	struct file *f = (void *)0xffffc90000123400;

	opaque(f);
	seen = f->f_flags + 9;
	return 0;
}

SEC("lsm/file_open")
int err_lsm_store(__u64 *ctx)
{
	struct file *f = (void *)ctx[0];

	f->f_flags = 0;
	return 0;
}

// Beside a live object it stays a fault: the verifier proves bounds there.
SEC("tp_btf/sched_process_exit")
int err_tp_btf_stack(__u64 *ctx)
{
	__u64 buf[2] = {1, 2}, i = 4;

	opaque(i);
	seen = *(volatile __u64 *)((void *)buf + i * 8);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
