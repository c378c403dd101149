// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// follow: what differs between kernels and what only follows. dirtied has no hook since Linux 5.16; buffer does something else
// where dirtied did not run before it. stamp asks for the time after more helper calls on newer kernels.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

struct task_struct___new {
	unsigned int __state;
} __attribute__((preserve_access_index));

__u64 seen, misses;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} stamped SEC(".maps");

SEC("fentry/account_page_dirtied")
int dirtied(void *ctx)
{
	seen++;
	return 0;
}

SEC("fentry/mark_buffer_dirty")
int buffer(void *ctx)
{
	if (!seen)
		misses++;
	return 0;
}

SEC("fentry/vfs_read")
int stamp(void *ctx)
{
	struct task_struct___new *t = (void *)bpf_get_current_task();

	if (bpf_core_field_exists(t->__state)) {
		bpf_get_current_pid_tgid();
		bpf_get_current_uid_gid();
	}
	__u64 now = bpf_ktime_get_ns();
	__u32 zero = 0;

	bpf_map_update_elem(&stamped, &zero, &now, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
