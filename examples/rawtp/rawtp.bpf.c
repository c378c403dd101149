// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// rawtp: raw tracepoints: signals by number; the writable kind.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 65);
	__type(key, __u32);
	__type(value, __u64);
} by_signal SEC(".maps");

int last_pid;

SEC("raw_tp/signal_generate")
int BPF_PROG(on_signal, int sig, void *info, struct task_struct *task)
{
	__u32 nr = sig;
	__u64 *n = bpf_map_lookup_elem(&by_signal, &nr);

	if (n)
		__sync_fetch_and_add(n, 1);
	last_pid = BPF_CORE_READ(task, pid);
	return 0;
}

SEC("raw_tracepoint.w/sched_process_exit")
int BPF_PROG(on_exit_w, struct task_struct *task)
{
	last_pid = BPF_CORE_READ(task, pid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
