// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// opens: files that processes open, with the result: an entry program keeps the arguments for its exit program.
#include "kernel.h"
#include <bpf/bpf_helpers.h>

struct trace_event_raw_sys_exit {
	struct trace_entry ent;
	long id;
	long ret;
} __attribute__((preserve_access_index));

struct args {
	const char *name;
	int flags;
	int pad;
};

struct opened {
	__u64 took;
	__u32 pid;
	int flags, ret;
	char comm[16];
	char name[64];
};

struct pending {
	struct args args;
	__u64 since;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct pending);
} started SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} events SEC(".maps");

SEC("tracepoint/syscalls/sys_enter_openat")
int enter(struct trace_event_raw_sys_enter *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct pending p = {};

	p.args.name = (const char *)ctx->args[1];
	p.args.flags = (int)ctx->args[2];
	p.since = bpf_ktime_get_ns();
	bpf_map_update_elem(&started, &id, &p, BPF_ANY);
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_openat")
int leave(struct trace_event_raw_sys_exit *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct pending *p = bpf_map_lookup_elem(&started, &id);
	struct opened o = {};

	if (!p)
		return 0;
	o.took = bpf_ktime_get_ns() - p->since;
	o.pid = id >> 32;
	o.flags = p->args.flags;
	o.ret = (int)ctx->ret;
	bpf_get_current_comm(o.comm, sizeof(o.comm));
	bpf_probe_read_user_str(o.name, sizeof(o.name), p->args.name);
	bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &o, sizeof(o));
	bpf_map_delete_elem(&started, &id);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
