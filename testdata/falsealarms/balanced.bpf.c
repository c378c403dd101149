// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// balanced: what reaches no limit of the kernel and fills no map, although it looks as if it might. ../src/limits.bpf.c has wrong twins.
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
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} turn SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} records SEC(".maps");

struct started {
	__u64 when, arg;
};

struct table {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct started);
};

struct table calls SEC(".maps"), open SEC(".maps"), threads SEC(".maps"), named SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct started);
} recent SEC(".maps");

// The program ends its chain itself, with as many tail calls as there may be.
SEC("xdp")
int around(struct xdp_md *ctx)
{
	__u32 zero = 0, *n = bpf_map_lookup_elem(&turn, &zero);

	if (!n)
		return XDP_PASS;
	if (++*n <= 33)
		bpf_tail_call(ctx, &steps, 0);
	*n = 0;
	return XDP_PASS;
}

// Seven records of 500 bytes fit.
SEC("kprobe/security_inode_create")
int bursts(void *ctx)
{
	char text[500] = {};

	for (int i = 0; i < 7; i++)
		bpf_ringbuf_output(&records, text, sizeof(text), 0);
	return 0;
}

static __always_inline void begin(void *map)
{
	struct started s = {.when = bpf_ktime_get_ns()};
	__u32 tid = bpf_get_current_pid_tgid();

	bpf_map_update_elem(map, &tid, &s, BPF_ANY);
}

SEC("kprobe/vfs_rmdir")
int rmdir_entry(void *ctx)
{
	begin(&calls);
	return 0;
}

// Whatever the call returned and whether there is room or not, the element goes.
SEC("kretprobe/vfs_rmdir")
int rmdir_return(struct pt_regs *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct started *s = bpf_map_lookup_elem(&calls, &tid), *out;

	if (!s)
		return 0;
	if ((int)ctx->ax < 0)
		goto gone;
	out = bpf_ringbuf_reserve(&records, sizeof(*out), 0);
	if (!out)
		goto gone;
	*out = *s;
	bpf_ringbuf_submit(out, 0);
gone:
	bpf_map_delete_elem(&calls, &tid);
	return 0;
}

// A file that was opened stays until it is closed.
SEC("kprobe/vfs_open")
int open_entry(void *ctx)
{
	begin(&open);
	return 0;
}

SEC("kretprobe/vfs_open")
int open_return(struct pt_regs *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();

	if ((int)ctx->ax < 0)
		bpf_map_delete_elem(&open, &tid);
	return 0;
}

SEC("kprobe/filp_close")
int closed(void *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();

	bpf_map_delete_elem(&open, &tid);
	return 0;
}

// What is kept of a thread goes when the thread does.
SEC("kprobe/vfs_mkdir")
int mkdir_entry(void *ctx)
{
	begin(&threads);
	return 0;
}

SEC("kretprobe/vfs_mkdir")
int mkdir_return(struct pt_regs *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();

	if (!(int)ctx->ax)
		bpf_map_delete_elem(&threads, &tid);
	return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int exited(void *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();

	bpf_map_delete_elem(&threads, &tid);
	return 0;
}

// The oldest elements go by themselves.
SEC("kprobe/vfs_unlink")
int unlink_entry(void *ctx)
{
	begin(&recent);
	return 0;
}

SEC("kretprobe/vfs_unlink")
int unlink_return(struct pt_regs *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();

	if (!(int)ctx->ax)
		bpf_map_delete_elem(&recent, &tid);
	return 0;
}

// The map has few keys, whatever happens.
SEC("kprobe/vfs_rename")
int rename_entry(struct pt_regs *ctx)
{
	struct started s = {.when = bpf_ktime_get_ns()};
	__u32 key = 1;

	bpf_map_update_elem(&named, &key, &s, BPF_ANY);
	return 0;
}

SEC("kretprobe/vfs_rename")
int rename_return(struct pt_regs *ctx)
{
	__u32 key = 1;

	if (!(int)ctx->ax)
		bpf_map_delete_elem(&named, &key);
	return 0;
}
