// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// latency: how long it takes to write files to the disk. It has a bug that shows after hours: docs/find.md finds it.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} started SEC(".maps");

__u64 calls, nanoseconds;

SEC("fentry/vfs_fsync")
int BPF_PROG(begin)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 tid = bpf_get_current_pid_tgid();

	bpf_map_update_elem(&started, &tid, &now, BPF_ANY);
	return 0;
}

SEC("fexit/vfs_fsync")
int BPF_PROG(end, void *file, int datasync, int ret)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 *when;

	if (ret)
		return 0; /* failures are not counted */
	when = bpf_map_lookup_elem(&started, &tid);
	if (!when)
		return 0;
	__sync_fetch_and_add(&calls, 1);
	__sync_fetch_and_add(&nanoseconds, bpf_ktime_get_ns() - *when);
	bpf_map_delete_elem(&started, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
