// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// linked_b: see linked_a.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct shared_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
};

extern struct shared_map shared SEC(".maps");
extern __u64 shared_counter;
static volatile __u32 local = 20;
__u64 from_b = 300;

__attribute__((noinline)) int in_b(int x)
{
	__u64 v = x;
	__u32 k = local;

	bpf_map_update_elem(&shared, &k, &v, BPF_ANY);
	return x + 1;
}

__attribute__((weak, noinline)) int twice(void)
{
	struct task_struct *t = (void *)bpf_get_current_task();

	return BPF_CORE_READ(t, pid) * 2;
}

SEC("syscall")
int prog_b(__u64 *ctx)
{
	shared_counter++;
	ctx[0] = twice() + local;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
