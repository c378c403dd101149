// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// limits: programs that reach limits of the kernel, and maps that fill up because a return does not delete what its entry stored, or the end of a request
// what its beginning did. Correct twins are in
// ../falsealarms/balanced.bpf.c.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

struct pt_regs {
	unsigned long di, si, ax;
} __attribute__((preserve_access_index));

int around(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, int(void *));
} steps SEC(".maps") = {.values = {[0] = (void *)&around}};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} records SEC(".maps");

struct started {
	__u64 when, arg;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct started);
} calls SEC(".maps"), sent SEC(".maps");

__u64 counted;

// Nothing ends the chain but the kernel.
SEC("xdp")
int around(struct xdp_md *ctx)
{
	counted++;
	bpf_tail_call(ctx, &steps, 0);
	return XDP_PASS;
}

// A run sends more than the buffer holds.
SEC("kprobe/security_inode_create")
int flood(void *ctx)
{
	char text[500] = {};

	for (int i = 0; i < 9; i++)
		bpf_ringbuf_output(&records, text, sizeof(text), 0);
	return 0;
}

// The return forgets calls that failed.
SEC("kprobe/vfs_rmdir")
int rmdir_entry(struct pt_regs *ctx)
{
	struct started s = {.when = bpf_ktime_get_ns(), .arg = ctx->si};
	__u32 tid = bpf_get_current_pid_tgid();

	bpf_map_update_elem(&calls, &tid, &s, BPF_ANY);
	return 0;
}

SEC("kretprobe/vfs_rmdir")
int rmdir_return(struct pt_regs *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct started *s;

	if ((int)ctx->ax < 0)
		return 0;
	s = bpf_map_lookup_elem(&calls, &tid);
	if (!s)
		return 0;
	bpf_ringbuf_output(&records, s, sizeof(*s), 0);
	bpf_map_delete_elem(&calls, &tid);
	return 0;
}

// The return forgets what it had no room to send.
SEC("kprobe/vfs_mkdir")
int mkdir_entry(struct pt_regs *ctx)
{
	struct started s = {.when = bpf_ktime_get_ns(), .arg = ctx->si};
	__u32 tid = bpf_get_current_pid_tgid();

	bpf_map_update_elem(&sent, &tid, &s, BPF_ANY);
	return 0;
}

SEC("kretprobe/vfs_mkdir")
int mkdir_return(void *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct started *s = bpf_map_lookup_elem(&sent, &tid), *out;

	if (!s)
		return 0;
	out = bpf_ringbuf_reserve(&records, sizeof(*out), 0);
	if (!out)
		return 0;
	*out = *s;
	bpf_ringbuf_submit(out, 0);
	bpf_map_delete_elem(&sent, &tid);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct started);
} requests SEC(".maps"), works SEC(".maps");

// The end of a request forgets those that failed: rq is its address.
SEC("tp_btf/block_rq_issue")
int issued(__u64 *ctx)
{
	struct started s = {.when = bpf_ktime_get_ns()};
	__u64 rq = ctx[0];

	bpf_map_update_elem(&requests, &rq, &s, BPF_ANY);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int completed(__u64 *ctx)
{
	__u64 rq = ctx[0];

	if ((__u8)ctx[1])
		return 0;
	bpf_map_delete_elem(&requests, &rq);
	return 0;
}

struct work {
	__u64 common;
	__u64 work, function;
};

// The end of a work forgets what it had no room to send.
SEC("tracepoint/workqueue/workqueue_execute_start")
int work_begins(struct work *ctx)
{
	struct started s = {.when = bpf_ktime_get_ns(), .arg = ctx->function};
	__u64 key = ctx->work;

	bpf_map_update_elem(&works, &key, &s, BPF_ANY);
	return 0;
}

SEC("tracepoint/workqueue/workqueue_execute_end")
int work_ends(struct work *ctx)
{
	__u64 key = ctx->work;
	struct started *s = bpf_map_lookup_elem(&works, &key), *out;

	if (!s)
		return 0;
	out = bpf_ringbuf_reserve(&records, sizeof(*out), 0);
	if (!out)
		return 0;
	*out = *s;
	bpf_ringbuf_submit(out, 0);
	bpf_map_delete_elem(&works, &key);
	return 0;
}
