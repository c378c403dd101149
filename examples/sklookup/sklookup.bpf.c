// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// sk_lookup: one listening socket answers on a whole range of ports.
#include "sock.h"
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_SOCKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} server SEC(".maps");

const volatile __u32 first = 7000, last = 7999;

SEC("sk_lookup")
int dispatch(struct bpf_sk_lookup *ctx)
{
	__u32 slot = 0;
	void *sk;
	long err;

	if (ctx->protocol != IPPROTO_TCP || ctx->local_port < first || ctx->local_port > last)
		return 1; /* SK_PASS: the kernel's own tables decide */
	sk = bpf_map_lookup_elem(&server, &slot);
	if (!sk)
		return 0; /* SK_DROP */
	err = bpf_sk_assign(ctx, sk, 0);
	bpf_sk_release(sk);
	return err ? 0 : 1;
}

char LICENSE[] SEC("license") = "GPL";
