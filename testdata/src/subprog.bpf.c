// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// subprog: calls: static and global functions in .text, shared by programs in an order that tells depth first from breadth
// first, a weak function, five arguments, registers kept across a call, a stack per frame.
#include "types.h"
#include <bpf/bpf_helpers.h>

#define noinline __attribute__((noinline))

__u64 trail;

static noinline __u64 note(__u64 n)
{
	trail = trail * 10 + n;
	return trail;
}

static noinline __u64 leaf_a(__u64 x)
{
	return note(1) + x;
}

static noinline __u64 leaf_b(__u64 x)
{
	return note(2) ^ x;
}

// Calls leaf_b before leaf_a, though leaf_a comes first in the section.
static noinline __u64 branch(__u64 x)
{
	return leaf_b(x) + leaf_a(x) + note(3);
}

noinline int global(int x)
{
	return x * 2 + (int)note(4);
}

__attribute__((weak)) noinline int weak_default(int x)
{
	return x + (int)note(5);
}

SEC("syscall")
int calls(__u64 *ctx)
{
	trail = 0;
	ctx[0] = branch(ctx[0]);
	ctx[1] = global((int)ctx[1]);
	ctx[2] = weak_default((int)ctx[2]);
	ctx[3] = leaf_a(ctx[3]);
	ctx[4] = trail;
	return 0;
}

// Five arguments, and values kept in callee-saved registers across a call.
static noinline __u64 five(__u64 a, __u64 b, __u64 c, __u64 d, __u64 e)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + note(7);
}

SEC("syscall")
int keeps_registers(__u64 *ctx)
{
	__u64 a = ctx[0], b = ctx[1], c = ctx[2], d = ctx[3];

	trail = 0;
	ctx[4] = five(a, b, c, d, ctx[4]);
	ctx[0] = a + b;
	ctx[1] = c + d;
	return 0;
}

// Each frame has a stack of its own.
static noinline __u64 depth3(__u64 *in)
{
	volatile __u64 local[4] = {in[0], in[0] + 1, in[0] + 2, in[0] + 3};

	return local[0] + local[3];
}

static noinline __u64 depth2(__u64 *in)
{
	volatile __u64 local[4] = {in[0] * 2, 1, 2, 3};

	return depth3((__u64 *)local) + local[3];
}

SEC("syscall")
int frames(__u64 *ctx)
{
	__u64 local[4] = {ctx[0], 0, 0, 0};

	ctx[1] = depth2(local) + local[0];
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
