// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// needs: programs that need a release for one reason each: a helper, a helper with a callback, a kfunc, a map type, a program type, a field, an
// instruction, a rule of the verifier; and some that check first.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

enum bpf_func_id___new {
	BPF_FUNC_ktime_get_tai_ns___new = 208,
};

struct task_struct___new {
	unsigned int __state;
} __attribute__((preserve_access_index));

struct bpf_iter_num {
	__u64 opaque[1];
} __attribute__((aligned(8)));

extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __weak __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __weak __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __weak __ksym;

__u64 sum;

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 100);
	__uint(key_size, 0);
	__uint(value_size, 4);
} bloom SEC(".maps");

SEC("xdp")
int plain(struct xdp_md *ctx)
{
	return ctx->data_end - ctx->data < 14 ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
int tai(struct xdp_md *ctx)
{
	sum = bpf_ktime_get_tai_ns();
	return XDP_PASS;
}

SEC("xdp")
int tai_guarded(struct xdp_md *ctx)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id___new, BPF_FUNC_ktime_get_tai_ns___new))
		sum = bpf_ktime_get_tai_ns();
	else
		sum = bpf_ktime_get_ns();
	return XDP_PASS;
}

static long add(__u32 i, void *ctx)
{
	sum += i;
	return 0;
}

SEC("xdp")
int callback(struct xdp_md *ctx)
{
	bpf_loop(10, add, 0, 0);
	return XDP_PASS;
}

SEC("xdp")
int in_bloom(struct xdp_md *ctx)
{
	__u32 v = ctx->data_end - ctx->data;

	return bpf_map_peek_elem(&bloom, &v) ? XDP_PASS : XDP_DROP;
}

SEC("raw_tp/sched_switch")
int state(void *ctx)
{
	struct task_struct___new *t = (void *)bpf_get_current_task();

	sum = BPF_CORE_READ(t, __state);
	return 0;
}

SEC("tc")
int iterates(void *ctx)
{
	struct bpf_iter_num it;
	int *i;

	bpf_iter_num_new(&it, 0, 10);
	while ((i = bpf_iter_num_next(&it)))
		sum += *i;
	bpf_iter_num_destroy(&it);
	return 0;
}

SEC("netfilter")
int filter(void *ctx)
{
	return 1;
}

SEC("socket")
int unwritten(void *ctx)
{
	__u64 v;

	asm volatile("%0 = *(u64 *)(r10 - 64)" : "=r"(v));
	sum = v;
	return 0;
}

SEC("socket")
int exchanges(void *ctx)
{
	return __sync_lock_test_and_set(&sum, 1) == 1;
}

char LICENSE[] SEC("license") = "GPL";
