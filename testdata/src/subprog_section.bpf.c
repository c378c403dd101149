// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// subprog_section: a program that calls another program: a function outside of .text. libbpf refuses it ("bad call relo").
#include "types.h"
#include <bpf/bpf_helpers.h>

SEC("syscall")
__attribute__((noinline)) int shared(__u64 *ctx)
{
	asm volatile("");
	return 6;
}

SEC("syscall")
int calls_program(__u64 *ctx)
{
	return shared(ctx) + 1;
}

char LICENSE[] SEC("license") = "GPL";
