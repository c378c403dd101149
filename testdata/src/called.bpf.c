// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// called: what a search has to see of functions that are called several times: each call takes its own way through them. The tests of package fuzz search
// it.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct note {
	__u32 what; // and a hole
	__u64 when;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} notes SEC(".maps");

struct call {
	__u64 common;
	__u64 nr;
	__u64 args[6];
};

static __noinline int differs(__u32 have, __u32 want)
{
	if (have != want)
		return 1;
	return 0;
}

static __noinline int unmarked(__u32 have, __u32 mark, __u32 want)
{
	if (differs(mark, 0x5a5a1234))
		return 1;
	return have != want;
}

// The bug is behind four calls of one function, two of them by another one.
SEC("tracepoint/syscalls/sys_enter_mmap")
int gated(struct call *ctx)
{
	struct note *n;

	if (differs(ctx->args[0], 0x9e3779b9))
		return 0;
	if (differs(ctx->args[1], 0x85ebca6b))
		return 0;
	if (unmarked(ctx->args[2], ctx->args[3], 0xc2b2ae35))
		return 0;
	if (unmarked(ctx->args[4], ctx->args[5], 0x27d4eb2f))
		return 0;
	n = bpf_ringbuf_reserve(&notes, sizeof(*n), 0);
	if (!n)
		return 0;
	n->what = 1;
	n->when = 2;
	bpf_ringbuf_submit(n, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
