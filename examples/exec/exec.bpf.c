// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// exec: reports every successful execve (who, whose child, what) through a ring buffer and counts them per user.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define FILENAME_LEN 64

struct event {
	__u32 pid;
	__u32 ppid;
	__u32 uid;
	__u32 old_pid;
	__u64 when;
	char comm[16];
	char filename[FILENAME_LEN];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} execs_by_uid SEC(".maps");

// Keeps the type in BTF, so that whoever reads the records can decode them.
const struct event *unused_event __attribute__((unused));

static void count(__u32 uid)
{
	__u64 one = 1, *n;

	n = bpf_map_lookup_elem(&execs_by_uid, &uid);
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&execs_by_uid, &uid, &one, BPF_NOEXIST);
}

SEC("tracepoint/sched/sched_process_exec")
int on_exec(struct trace_event_raw_sched_process_exec *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct event *e;
	__u32 uid;

	uid = BPF_CORE_READ(task, cred, uid.val);
	count(uid);
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e)
		return 0;
	__builtin_memset(e->filename, 0, sizeof(e->filename)); /* what follows the string leaves, too */
	e->pid = BPF_CORE_READ(task, tgid);
	e->ppid = BPF_CORE_READ(task, real_parent, tgid);
	e->uid = uid;
	e->old_pid = ctx->old_pid;
	e->when = bpf_ktime_get_ns();
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	// The low 16 bits say where in the record the string lies.
	bpf_probe_read_kernel_str(e->filename, sizeof(e->filename),
				  (void *)ctx + (ctx->__data_loc_filename & 0xffff));
	bpf_ringbuf_submit(e, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
