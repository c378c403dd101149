// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// extends: an XDP program, extensions (freplace) of its functions, and programs that trace them (fentry, fexit).
#include "sock.h"
#include <bpf/bpf_helpers.h>

struct xdp_buff;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} calls SEC(".maps");

struct call {
	__u32 who;
	__u32 args;
	__u64 a, b, ret;
};

const struct call *unused __attribute__((unused)); /* keeps the struct in BTF */

static __always_inline int tell(__u32 who, __u64 a, __u64 b, __u64 ret)
{
	struct call *c = bpf_ringbuf_reserve(&calls, sizeof(*c), 0);

	if (!c)
		return 0;
	c->who = who;
	c->args = 0;
	c->a = a;
	c->b = b;
	c->ret = ret;
	bpf_ringbuf_submit(c, 0);
	return 0;
}

__noinline int add(int a, int b)
{
	volatile int sum = a + b;

	return sum;
}

__noinline int length(struct xdp_md *ctx)
{
	volatile int n = ctx->data_end - ctx->data;

	return n;
}

static __noinline long hidden(long a, long b)
{
	volatile long n = a * b;

	return n;
}

SEC("xdp")
int target(struct xdp_md *ctx)
{
	int n = length(ctx);

	return add(n, 100) + hidden(n, 1000);
}

/* Has no context parameter: it cannot run without the function it replaces. */
SEC("freplace/add")
int new_add(int a, int b)
{
	return a - b;
}

SEC("freplace/length")
int new_length(struct xdp_md *ctx)
{
	return ctx->ingress_ifindex ? 7 : 8;
}

SEC("freplace/target")
int new_target(struct xdp_md *ctx)
{
	return add(40, 2);
}

SEC("freplace/add")
int err_arguments(int a)
{
	return a;
}

SEC("freplace/hidden")
long err_static(long a, long b)
{
	return a + b;
}

SEC("fentry/target")
int on_target(unsigned long long *ctx)
{
	struct xdp_buff *xdp = (void *)ctx[0];

	return tell(1, 0, 0, 0);
}

SEC("fexit/target")
int after_target(unsigned long long *ctx)
{
	return tell(2, 0, 0, ctx[1]);
}

SEC("fentry/add")
int on_add(unsigned long long *ctx)
{
	return tell(3, (int)ctx[0], (int)ctx[1], 0);
}

SEC("fexit/add")
int after_add(unsigned long long *ctx)
{
	return tell(4, (int)ctx[0], (int)ctx[1], (int)ctx[2]);
}

SEC("fexit/hidden")
int after_hidden(unsigned long long *ctx)
{
	return tell(5, ctx[0], ctx[1], ctx[5]);
}

SEC("fexit/new_add")
int after_new_add(unsigned long long *ctx)
{
	return tell(6, (int)ctx[0], (int)ctx[1], (int)ctx[2]);
}

char LICENSE[] SEC("license") = "GPL";
