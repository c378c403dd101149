// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// nobtf: compiled without -g: no BTF at all, only code, a subprogram and data.
#include "types.h"
#include <bpf/bpf_helpers.h>

__u64 counter = 3;

static __attribute__((noinline)) __u64 add(__u64 x)
{
	counter += x;
	return counter;
}

SEC("socket")
int filter(struct __sk_buff *skb)
{
	return add(skb->len);
}

char LICENSE[] SEC("license") = "GPL";
