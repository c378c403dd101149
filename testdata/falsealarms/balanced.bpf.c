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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct started);
} requests SEC(".maps"), works SEC(".maps"), merged SEC(".maps");

// Whatever became of a request, the element goes. What is of a device that is filtered out was never stored.
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
	struct started *s = bpf_map_lookup_elem(&requests, &rq);

	if (!s)
		return 0;
	if (!(__u8)ctx[1])
		bpf_ringbuf_output(&records, s, sizeof(*s), 0);
	bpf_map_delete_elem(&requests, &rq);
	return 0;
}

struct work {
	__u64 common;
	__u64 work, function;
};

// Works of one function are watched, from their beginning to their end.
const volatile __u64 watched;

SEC("tracepoint/workqueue/workqueue_execute_start")
int work_begins(struct work *ctx)
{
	struct started s = {.when = bpf_ktime_get_ns()};
	__u64 key = ctx->work;

	if (watched && ctx->function != watched)
		return 0;
	bpf_map_update_elem(&works, &key, &s, BPF_ANY);
	return 0;
}

SEC("tracepoint/workqueue/workqueue_execute_end")
int work_ends(struct work *ctx)
{
	__u64 key = ctx->work;

	if (watched && ctx->function != watched)
		return 0;
	bpf_map_delete_elem(&works, &key);
	return 0;
}

// dropped reports whether one less makes a count 0. Atomic additions return nothing before -mcpu=v3; clang 19 and earlier compile them all the same.
static __always_inline int dropped(__u64 *count)
{
#if __clang_major__ > 19 && __BPF_CPU_VERSION__ < 3
	__sync_fetch_and_add(count, -1);
	return *count == 0;
#else
	return __sync_fetch_and_add(count, -1) <= 1;
#endif
}

// A lock that is taken twice is given back twice: the names say that they belong together, the programs that only the last one counts.
SEC("tp_btf/contention_begin")
int waits(__u64 *ctx)
{
	struct started s = {.when = bpf_ktime_get_ns(), .arg = 1}, *had;
	__u64 lock = ctx[0];

	had = bpf_map_lookup_elem(&merged, &lock);
	if (had) {
		__sync_fetch_and_add(&had->arg, 1);
		return 0;
	}
	bpf_map_update_elem(&merged, &lock, &s, BPF_ANY);
	return 0;
}

SEC("tp_btf/contention_end")
int goes_on(__u64 *ctx)
{
	__u64 lock = ctx[0];
	struct started *s = bpf_map_lookup_elem(&merged, &lock);

	if (s && dropped(&s->arg))
		bpf_map_delete_elem(&merged, &lock);
	return 0;
}
