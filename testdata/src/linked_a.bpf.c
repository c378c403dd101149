// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// linked_a, linked_b: two objects that `bpftool gen object` makes one of: a function, a variable and a map defined in one and
// declared in the other, a weak function in both (one is dropped, its CO-RE records stay behind), statics of the same name.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct shared_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
};

struct shared_map shared SEC(".maps");
__u64 shared_counter = 1;
static volatile __u32 local = 10;
extern __u64 from_b;

int in_b(int x);

__attribute__((weak, noinline)) int twice(void)
{
	struct task_struct *t = (void *)bpf_get_current_task();

	return BPF_CORE_READ(t, tgid) * 2 + 1;
}

SEC("syscall")
int prog_a(__u64 *ctx)
{
	ctx[0] = in_b(ctx[0]) + local + from_b + shared_counter;
	ctx[1] = twice();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
