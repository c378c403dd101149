// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// abs: addresses in data: 64 bits wide (R_BPF_64_ABS64), and 32 bits (R_BPF_64_ABS32), which no C initializer makes.
#include "types.h"
#include <bpf/bpf_helpers.h>

__u64 counter = 5;

static __attribute__((noinline)) __u64 callee(__u64 n)
{
	return n + counter;
}

struct {
	__u64 *to;
	__u64 (*call)(__u64);
} wide = {&counter, callee};

asm(".pushsection .data, \"aw\"\n"
    "narrow: .4byte counter\n"
    "        .4byte run\n"
    "        .4byte callee + 8\n"
    ".popsection");

SEC("syscall")
int run(__u64 *ctx)
{
	ctx[0] = callee(*ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
