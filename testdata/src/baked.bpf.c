// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// baked: offsets compiled in instead of relocated: right on one kernel, silently wrong on the others.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

// The layout of Linux 6.12 on amd64; no preserve_access_index.
struct task_struct {
	char before_pid[2432];
	int pid;
	int tgid;
};

__u64 seen_pid, seen_tgid;

SEC("tracepoint/sched/sched_process_exit")
int by_probe_read(void *ctx)
{
	struct task_struct *t = (void *)bpf_get_current_task();
	int v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), &t->pid);
	seen_pid = v;
	bpf_probe_read_kernel(&v, sizeof(v), &t->tgid);
	seen_tgid = v;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(by_load, struct task_struct *t)
{
	seen_pid = t->pid;
	seen_tgid = t->tgid;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
