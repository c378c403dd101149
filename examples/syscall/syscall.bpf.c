// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// syscall: a program that is called from user space with a buffer: a small calculator that remembers its results.
#include "types.h"
#include <bpf/bpf_helpers.h>

enum op {
	OP_ADD,
	OP_MUL,
	OP_DIV,
	OP_GCD,
	OP_FIB,
};

struct request {
	__u64 a;
	__u64 b;
	enum op op;
	__u32 calls;	/* out */
	__u64 result;	/* out */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} history SEC(".maps");

__u32 calls;

static __u64 gcd(__u64 a, __u64 b)
{
	for (int i = 0; i < 128 && b; i++) {
		__u64 r = a % b;

		a = b;
		b = r;
	}
	return a;
}

static __u64 fib(__u64 n)
{
	__u64 a = 0, b = 1;

	for (__u32 i = 0; i < 94 && i < n; i++) {
		__u64 c = a + b;

		a = b;
		b = c;
	}
	return a;
}

SEC("syscall")
int calculate(struct request *r)
{
	__u64 res;
	__u32 i;

	switch (r->op) {
	case OP_ADD:
		res = r->a + r->b;
		break;
	case OP_MUL:
		res = r->a * r->b;
		break;
	case OP_DIV:
		res = r->a / r->b;	/* 0 when b is 0: that is how BPF divides */
		break;
	case OP_GCD:
		res = gcd(r->a, r->b);
		break;
	case OP_FIB:
		res = fib(r->a);
		break;
	default:
		return -EINVAL;
	}
	i = calls++ % 16;
	bpf_map_update_elem(&history, &i, &res, BPF_ANY);
	r->result = res;
	r->calls = calls;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
