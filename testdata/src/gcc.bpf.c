// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// gcc: what GCC's BPF compiler makes: its relocations, its .BTF.ext, its CO-RE records (-mco-re).
#include "types.h"

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name

struct task_struct {
	int pid;
	int tgid;
	struct task_struct *real_parent;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} table SEC(".maps");

static void *(*map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*map_update_elem)(void *map, const void *key, const void *value, __u64 flags) = (void *)2;

__u64 counter = 4;
const volatile __u32 limit = 100;

static __attribute__((noinline)) __u64 bump(__u64 by)
{
	counter += by;
	return counter;
}

SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	__u32 pid = task->pid, parent = task->real_parent->tgid;
	__u64 v = parent, *old;

	old = map_lookup_elem(&table, &pid);
	if (old)
		v += *old;
	if (v < limit)
		map_update_elem(&table, &pid, &v, BPF_ANY);
	return bump(v);
}

char LICENSE[] SEC("license") = "GPL";
