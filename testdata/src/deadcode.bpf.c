// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// deadcode: what kernels refuse, in code that only their verifier knows to be dead, and the same where it is reached (err_*).
#include "types.h"
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} table SEC(".maps");

struct task_struct {
	int pid;
};
void bpf_task_release(struct task_struct *p) __ksym;

__u32 sink;

// small returns a number below 8, which the range shows and no constant does.
static __always_inline __u32 small(void)
{
	__u32 n = bpf_get_prandom_u32() & 7;

	asm volatile("" : "+r"(n));
	return n;
}

// Another program type's helper.
SEC("xdp")
int by_type(void *ctx)
{
	if (small() > 7)
		bpf_skb_load_bytes(ctx, 0, &sink, 4);
	return 2;
}

SEC("xdp")
int err_by_type(void *ctx)
{
	bpf_skb_load_bytes(ctx, 0, &sink, 4);
	return 2;
}

// A helper that may sleep: the argument decides, as it does in code that several programs share.
static __noinline int copies(__u32 may)
{
	__u32 word = 0;

	if (may)
		bpf_copy_from_user(&word, 4, (void *)8);
	return word;
}

SEC("kprobe/vfs_read")
int sleeps(void *ctx)
{
	return copies(0);
}

SEC("kprobe/vfs_read")
int err_sleeps(void *ctx)
{
	return copies(1);
}

// Another program type's kfunc.
SEC("socket")
int kfunc(void *ctx)
{
	if (small() > 7)
		bpf_task_release((void *)1);
	return 0;
}

SEC("socket")
int err_kfunc(void *ctx)
{
	bpf_task_release((void *)1);
	return 0;
}

// Another map type's helper.
SEC("xdp")
int map_type(void *ctx)
{
	if (small() > 7)
		return bpf_redirect_map(&table, 0, 0);
	return 2;
}

SEC("xdp")
int err_map_type(void *ctx)
{
	return bpf_redirect_map(&table, 0, 0);
}

// A helper that no kernel has.
static int (*no_helper)(void) = (void *)9999;

SEC("xdp")
int unknown(void *ctx)
{
	if (small() > 7)
		no_helper();
	return 2;
}

SEC("xdp")
int err_unknown(void *ctx)
{
	no_helper();
	return 2;
}

char LICENSE[] SEC("license") = "GPL";
