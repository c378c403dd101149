// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// execs: every execve with its file name, the chain of parents, and counts per user.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define ANCESTORS 4

struct exec {
	__u64 when;
	__u32 pid, uid;
	__u32 ancestors[ANCESTORS];
	char comm[16];
	char filename[96];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} by_uid SEC(".maps");

SEC("tracepoint/sched/sched_process_exec")
int execs(struct trace_event_raw_sched_process_exec *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 uid = (__u32)bpf_get_current_uid_gid();
	__u64 one = 1, *n = bpf_map_lookup_elem(&by_uid, &uid);
	struct exec *e;

	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&by_uid, &uid, &one, BPF_NOEXIST);
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e)
		return 0;
	e->when = bpf_ktime_get_ns();
	e->pid = bpf_get_current_pid_tgid() >> 32;
	e->uid = uid;
	__builtin_memset(e->filename, 0, sizeof(e->filename));
#pragma unroll
	for (int i = 0; i < ANCESTORS; i++) {
		task = BPF_CORE_READ(task, real_parent);
		e->ancestors[i] = BPF_CORE_READ(task, tgid);
	}
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	if (bpf_probe_read_kernel_str(e->filename, sizeof(e->filename), (void *)ctx + (ctx->__data_loc_filename & 0xffff)) < 0)
		e->filename[0] = 0;
	bpf_ringbuf_submit(e, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
