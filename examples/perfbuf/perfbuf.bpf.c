// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// perfbuf: the older way to report: a perf event array, a hash between entry and exit, a user-space string: failed opens.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct trace_event_raw_sys_exit {
	struct trace_entry ent;
	long id;
	long ret;
} __attribute__((preserve_access_index));

struct args {
	const char *path;
	int flags;
};

struct event {
	__u32 tgid;
	__s32 ret;
	__s32 flags;
	char comm[16];
	char path[48];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u64);
	__type(value, struct args);
} started SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} events SEC(".maps");

// Keeps the type in BTF, so that whoever reads the records can decode them.
const struct event *unused_event __attribute__((unused));

const volatile bool failed_only = true;

SEC("tracepoint/syscalls/sys_enter_openat")
int on_enter(struct trace_event_raw_sys_enter *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct args a;

	__builtin_memset(&a, 0, sizeof(a)); // its padding too, which the map copies
	a.path = (const char *)ctx->args[1];
	a.flags = (int)ctx->args[2];
	bpf_map_update_elem(&started, &id, &a, BPF_ANY);
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_openat")
int on_exit(struct trace_event_raw_sys_exit *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct event e = {};
	struct args *a;

	a = bpf_map_lookup_elem(&started, &id);
	if (!a)
		return 0;
	e.ret = ctx->ret;
	if (failed_only && e.ret >= 0)
		goto out;
	e.tgid = id >> 32;
	e.flags = a->flags;
	bpf_get_current_comm(e.comm, sizeof(e.comm));
	bpf_probe_read_user_str(e.path, sizeof(e.path), a->path);
	bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &e, sizeof(e));
out:
	bpf_map_delete_elem(&started, &id);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
