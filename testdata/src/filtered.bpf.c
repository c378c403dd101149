// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// filtered: programs that do nothing by default, each for another reason, as tools do whose filters user space sets.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

const volatile __u32 target_uid = 0;
__u64 hits;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} started SEC(".maps");

static __always_inline int wanted(void)
{
	__u32 uid = bpf_get_current_uid_gid();

	if (target_uid != uid)
		return 0;
	return 1;
}

static __attribute__((noinline)) int checked(__u32 tid)
{
	if (!wanted())
		return 1;
	return tid == 0;
}

SEC("tracepoint/syscalls/sys_enter_openat")
int enter_openat(void *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 now = bpf_ktime_get_ns();

	if (checked(tid))
		return 0;
	bpf_map_update_elem(&started, &tid, &now, BPF_ANY);
	return 0;
}

SEC("tracepoint/syscalls/sys_enter_openat2")
int enter_openat2(void *ctx)
{
	return enter_openat(ctx);
}

SEC("tracepoint/syscalls/sys_exit_openat")
int exit_openat(void *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 *at = bpf_map_lookup_elem(&started, &tid);

	if (!at)
		return 0;
	hits++;
	bpf_map_delete_elem(&started, &tid);
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_openat2")
int exit_openat2(void *ctx)
{
	return exit_openat(ctx);
}

SEC("fentry/vfs_read")
int BPF_PROG(small_reads, struct file *file, char *buf, unsigned long count)
{
	if (count > 4)
		return 0;
	hits++;
	return 0;
}

static long each(__u32 i, void *found)
{
	if (bpf_get_prandom_u32() != 7)
		return 0;
	hits += i;
	return 1;
}

SEC("fentry/vfs_write")
int BPF_PROG(in_callback)
{
	bpf_loop(3, each, 0, 0);
	return 0;
}

SEC("fentry/vfs_open")
int BPF_PROG(has_effect)
{
	hits++;
	return 0;
}

char _license[] SEC("license") = "GPL";
