// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// openat: the entry and the exit of a system call as a pair. The entry remembers the name and the time under the thread's id, the exit adds result and latency.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct pending {
	const char *filename;
	__u64 start;
};

struct event {
	__u32 pid;
	int ret;
	__u64 latency;	/* ns */
	char filename[64];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct pending);
} pending SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} events SEC(".maps");

const struct event *unused_event __attribute__((unused));

struct trace_event_raw_sys_exit {
	struct trace_entry ent;
	long id;
	long ret;
} __attribute__((preserve_access_index));

SEC("tracepoint/syscalls/sys_enter_openat")
int enter(struct trace_event_raw_sys_enter *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct pending p = {.filename = (const char *)ctx->args[1], .start = bpf_ktime_get_ns()};

	bpf_map_update_elem(&pending, &tid, &p, BPF_ANY);
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_openat")
int leave(struct trace_event_raw_sys_exit *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = id;
	struct pending *p = bpf_map_lookup_elem(&pending, &tid);
	struct event *e;

	if (!p)
		return 0;	/* the call began before the programs were attached */
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (e) {
		__builtin_memset(e->filename, 0, sizeof(e->filename)); /* what follows the string leaves, too */
		e->pid = id >> 32;
		e->ret = ctx->ret;
		e->latency = bpf_ktime_get_ns() - p->start;
		bpf_probe_read_user_str(e->filename, sizeof(e->filename), p->filename);
		bpf_ringbuf_submit(e, 0);
	}
	bpf_map_delete_elem(&pending, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
