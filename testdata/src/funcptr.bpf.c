// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// funcptr: addresses in data: a function and a variable in a .data structure (R_BPF_64_ABS64). Programs do not use them, loaders must survive.
#include "types.h"
#include <bpf/bpf_helpers.h>

static __attribute__((noinline)) int one(void)
{
	return 1;
}

__attribute__((noinline)) int two(void)
{
	return 2;
}

__u32 counter = 3;

struct ops {
	int (*fn)(void);
	int (*fn2)(void);
	__u32 *counter;
	__u64 number;
} ops = {two, one, &counter, 0x55};

SEC("syscall")
int reads(__u64 *ctx)
{
	ctx[0] = ops.number + counter;
	ctx[1] = one() + two();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
